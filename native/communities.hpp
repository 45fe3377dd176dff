// Communities of a weighted graph: found by modularity, merged one pair at a time, improved node by node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kedge {

// A symmetric graph in CSR form; all input. Weights and masses are shares of their sums, weights are positive and no
// node is its own neighbour: self loops count in modularity but never change which move is best. Modularity is then
// the sum over communities of (weight inside - penalty * mass^2), up to the constant of the self loops.
struct WeightedGraph {
    std::size_t nodes;
    const std::int64_t* row_starts;
    const std::int32_t* neighbors;
    const double* weights;
    const double* masses;
    double penalty;  // resolution, times the sum of masses over the sum of weights
};

// Two communities merged into the next one; loss is what modularity loses by it.
struct Merge {
    std::int64_t left, right;
    double loss;
};

// Whether nodes may found communities of their own, or no community may lose its last node.
enum class CommunityCount { free, fixed };

// Moves nodes, taken from a queue that begins with `order`, to the neighbouring community where modularity gains most;
// the neighbours of a node that moved are looked at again. `labels` (below graph.nodes) is both input and output.
// Returns what modularity gained.
double move_nodes(const WeightedGraph& graph, const std::vector<std::int32_t>& order, CommunityCount count,
                  std::vector<std::int32_t>& labels);

// Leiden: local moves, refinement within communities, aggregation, until nothing gains. The same seed gives the same
// communities; they are numbered by their first nodes.
std::vector<std::int32_t> find_communities(const WeightedGraph& graph, std::uint64_t seed);

// Merges the pair of nodes (communities, that is) that loses least modularity until one is left; nodes are numbered
// from 0 and merge t makes number graph.nodes + t. Of pairs that lose the same, the one with the lowest numbers merges;
// of pairs without an edge only the two lightest are looked at.
std::vector<Merge> merge_communities(const WeightedGraph& graph);

}  // namespace kedge
