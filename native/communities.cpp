#include "communities.hpp"

#include <numeric>
#include <utility>

namespace kedge {

namespace {

// Whole rounds of moving, refining and aggregating, at most; and the gain of a round below which it is the last.
constexpr int most_rounds = 10;
constexpr double settled_gain = 5e-5;

// splitmix64: the NumPy twin draws the same numbers from the same seed.
class Dice {
   public:
    explicit Dice(std::uint64_t seed) : state_(seed) {}

    std::uint64_t below(std::uint64_t bound) {
        state_ += 0x9E3779B97F4A7C15u;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
        mixed ^= mixed >> 31;
        return ((mixed >> 32) * bound) >> 32;
    }

    std::vector<std::int32_t> permutation(std::size_t size) {
        std::vector<std::int32_t> order(size);
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t left = size; left > 1; --left) std::swap(order[left - 1], order[below(left)]);
        return order;
    }

   private:
    std::uint64_t state_;
};

// A graph whose nodes are communities of a finer one.
struct CoarseGraph {
    std::vector<std::int64_t> row_starts{0};
    std::vector<std::int32_t> neighbors;
    std::vector<double> weights, masses;

    WeightedGraph view(double penalty) const {
        return {masses.size(), row_starts.data(), neighbors.data(), weights.data(), masses.data(), penalty};
    }
};

// Numbers labels from zero by their first nodes; returns how many there are.
std::size_t number_by_first_nodes(std::vector<std::int32_t>& labels) {
    std::vector<std::int32_t> numbers(labels.size(), -1);
    std::int32_t next = 0;
    for (std::int32_t& label : labels) {
        if (numbers[label] < 0) numbers[label] = next++;
        label = numbers[label];
    }
    return static_cast<std::size_t>(next);
}

// Splits communities into parts that hold together: single nodes join the part of their community where modularity
// gains most, if node and part are both well connected to the rest of the community (Traag, Waltman and van Eck 2019).
class Refinement {
   public:
    Refinement(const WeightedGraph& graph, const std::vector<std::int32_t>& communities)
        : graph_(graph),
          communities_(communities),
          parts_(graph.nodes),
          totals_(graph.nodes),
          part_totals_(graph.masses, graph.masses + graph.nodes),
          outward_(graph.nodes),
          inside_(graph.nodes),
          is_single_(graph.nodes, 1),
          touched_(graph.nodes + 1) {
        std::iota(parts_.begin(), parts_.end(), 0);
        for (std::size_t node = 0; node < graph.nodes; ++node) {
            totals_[communities[node]] += graph.masses[node];
            for (auto edge = graph.row_starts[node]; edge < graph.row_starts[node + 1]; ++edge) {
                if (communities[graph.neighbors[edge]] == communities[node]) outward_[node] += graph.weights[edge];
            }
        }
    }

    std::vector<std::int32_t> run(const std::vector<std::int32_t>& order) {
        for (const std::int32_t node : order) {
            if (is_single_[node] && is_well_connected(node)) join(node);
        }
        return std::move(parts_);
    }

   private:
    bool is_well_connected(std::int32_t part) const {
        const double rest = totals_[communities_[part]] - part_totals_[part];
        return outward_[part] >= graph_.penalty * part_totals_[part] * rest;
    }

    void join(std::int32_t node) {
        std::size_t n_touched = 0;
        for (auto edge = graph_.row_starts[node]; edge < graph_.row_starts[node + 1]; ++edge) {
            const std::int32_t other = graph_.neighbors[edge];
            if (communities_[other] != communities_[node]) continue;
            const std::int32_t part = parts_[other];
            touched_[n_touched] = part;
            n_touched += inside_[part] == 0.0;
            inside_[part] += graph_.weights[edge];
        }
        const double cost = graph_.penalty * graph_.masses[node];
        std::int32_t best = node;
        double most = 0.0, toward = 0.0;
        for (std::size_t i = 0; i < n_touched; ++i) {
            const std::int32_t part = touched_[i];
            const double gain = inside_[part] - cost * part_totals_[part];
            if (gain > most && is_well_connected(part)) {
                most = gain;
                best = part;
                toward = inside_[part];
            }
            inside_[part] = 0.0;
        }
        if (best == node) return;
        parts_[node] = best;
        is_single_[best] = 0;
        part_totals_[best] += graph_.masses[node];
        outward_[best] += outward_[node] - 2.0 * toward;
    }

    const WeightedGraph& graph_;
    const std::vector<std::int32_t>& communities_;
    std::vector<std::int32_t> parts_;  // named after the node that each began with
    std::vector<double> totals_, part_totals_, outward_, inside_;
    std::vector<char> is_single_;  // by part: nobody joined it
    std::vector<std::int32_t> touched_;
};

// Nodes listed part by part.
std::pair<std::vector<std::size_t>, std::vector<std::int32_t>> list_members(const std::vector<std::int32_t>& parts,
                                                                            std::size_t n_parts) {
    std::vector<std::size_t> starts(n_parts + 1);
    for (const std::int32_t part : parts) ++starts[part + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<std::size_t> next(starts.begin(), starts.end() - 1);
    std::vector<std::int32_t> members(parts.size());
    for (std::size_t node = 0; node < parts.size(); ++node) members[next[parts[node]]++] = static_cast<int>(node);
    return {std::move(starts), std::move(members)};
}

CoarseGraph aggregate(const WeightedGraph& graph, const std::vector<std::int32_t>& parts, std::size_t n_parts) {
    const auto [starts, members] = list_members(parts, n_parts);
    CoarseGraph coarse;
    coarse.masses.resize(n_parts);
    coarse.row_starts.reserve(n_parts + 1);
    std::vector<double> toward(n_parts);
    std::vector<std::int32_t> touched(n_parts + 1);
    for (std::size_t part = 0; part < n_parts; ++part) {
        std::size_t n_touched = 0;
        for (std::size_t i = starts[part]; i < starts[part + 1]; ++i) {
            const std::int32_t node = members[i];
            coarse.masses[part] += graph.masses[node];
            for (auto edge = graph.row_starts[node]; edge < graph.row_starts[node + 1]; ++edge) {
                const std::int32_t other = parts[graph.neighbors[edge]];
                touched[n_touched] = other;
                n_touched += toward[other] == 0.0;
                toward[other] += graph.weights[edge];
            }
        }
        for (std::size_t i = 0; i < n_touched; ++i) {
            const std::int32_t other = touched[i];
            if (static_cast<std::size_t>(other) != part) {
                coarse.neighbors.push_back(other);
                coarse.weights.push_back(toward[other]);
            }
            toward[other] = 0.0;
        }
        coarse.row_starts.push_back(static_cast<std::int64_t>(coarse.neighbors.size()));
    }
    return coarse;
}

// One round: nodes move, communities are refined, and the parts are the nodes of the next, coarser graph, which begins
// with the communities of its parts. Returns what modularity gained.
double improve(const WeightedGraph& graph, Dice& dice, std::vector<std::int32_t>& labels) {
    double gained = move_nodes(graph, dice.permutation(graph.nodes), CommunityCount::free, labels);
    const std::size_t n_communities = number_by_first_nodes(labels);
    if (n_communities == graph.nodes) return gained;
    std::vector<std::int32_t> parts = Refinement(graph, labels).run(dice.permutation(graph.nodes));
    std::size_t n_parts = number_by_first_nodes(parts);
    if (n_parts == graph.nodes) {  // nothing to refine with: whole communities may still move
        parts = labels;
        n_parts = n_communities;
    }
    const CoarseGraph coarse = aggregate(graph, parts, n_parts);
    std::vector<std::int32_t> coarse_labels(n_parts);
    for (std::size_t node = 0; node < graph.nodes; ++node) coarse_labels[parts[node]] = labels[node];
    gained += improve(coarse.view(graph.penalty), dice, coarse_labels);
    for (std::size_t node = 0; node < graph.nodes; ++node) labels[node] = coarse_labels[parts[node]];
    return gained;
}

}  // namespace

std::vector<std::int32_t> find_communities(const WeightedGraph& graph, std::uint64_t seed) {
    Dice dice(seed);
    std::vector<std::int32_t> labels(graph.nodes);
    std::iota(labels.begin(), labels.end(), 0);
    for (int round = 0; round < most_rounds; ++round) {
        if (improve(graph, dice, labels) <= settled_gain) break;
    }
    number_by_first_nodes(labels);
    return labels;
}

}  // namespace kedge
