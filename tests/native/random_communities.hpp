// Communities of random graphs, their merges and moves, checked independently of the code that makes them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "communities.hpp"
#include "dice.hpp"
#include "random_graph.hpp"
#include "row_checks.hpp"

namespace random_problems {

// Modularity at resolution one; the graph has no self loops, so alone in its community a node adds nothing inside.
inline double modularity_of(const RandomGraph& graph, const std::vector<std::int32_t>& labels) {
    return modularity(graph, {labels.begin(), labels.end()});
}

inline bool are_numbered(const std::vector<std::int32_t>& labels, std::vector<std::size_t>& sizes) {
    sizes.assign(labels.size(), 0);
    for (const std::int32_t label : labels) {
        if (label < 0 || static_cast<std::size_t>(label) >= labels.size()) return false;
        ++sizes[static_cast<std::size_t>(label)];
    }
    while (!sizes.empty() && sizes.back() == 0) sizes.pop_back();
    return std::find(sizes.begin(), sizes.end(), 0u) == sizes.end();
}

inline void check_merges(const RandomGraph& graph, const kedge::WeightedGraph& view, Failures& failures) {
    const std::vector<kedge::Merge> merges = kedge::merge_communities(view);
    if (merges.size() + 1 != graph.rows) return fail(failures, "there are ", merges.size(), " merges");
    std::vector<bool> is_merged(2 * graph.rows);
    double lost = 0.0;
    for (std::size_t step = 0; step < merges.size(); ++step) {
        for (const std::int64_t end : {merges[step].left, merges[step].right}) {
            const auto number = static_cast<std::size_t>(end);
            if (end < 0 || number >= graph.rows + step || is_merged[number]) return fail(failures, "a wrong merge");
            is_merged[number] = true;
        }
        lost += merges[step].loss;
    }
    std::vector<std::int32_t> alone(graph.rows), together(graph.rows);
    std::iota(alone.begin(), alone.end(), 0);
    const double loss = modularity_of(graph, alone) - modularity_of(graph, together);
    if (std::abs(lost - loss) > 1e-9) fail(failures, "merges lose ", lost, " and not ", loss);
}

inline void check_communities(Dice& dice, Failures& failures) {
    const RandomGraph graph = random_graph(dice);
    const double all = std::accumulate(graph.degrees.begin(), graph.degrees.end(), 0.0);
    std::vector<double> shares(graph.weights);
    for (double& share : shares) share /= all;
    const kedge::WeightedGraph view{graph.rows,    graph.row_starts.data(), graph.neighbors.data(),
                                    shares.data(), graph.expected.data(),   1.0};
    std::vector<std::int32_t> labels = kedge::find_communities(view, dice.below(1000));
    std::vector<std::size_t> sizes, sizes_after;
    if (labels.size() != graph.rows || !are_numbered(labels, sizes)) return fail(failures, "labels have gaps");
    const double found = modularity_of(graph, labels);
    std::vector<std::int32_t> order(graph.rows);
    std::iota(order.begin(), order.end(), 0);
    if (found < modularity_of(graph, order) - 1e-9) fail(failures, "communities are worse than single nodes");
    kedge::move_nodes(view, order, kedge::CommunityCount::fixed, labels);
    if (!are_numbered(labels, sizes_after) || sizes.size() != sizes_after.size()) fail(failures, "a community is gone");
    if (modularity_of(graph, labels) < found - 1e-9) fail(failures, "moves of nodes lowered modularity");
    check_merges(graph, view, failures);
}

}  // namespace random_problems
