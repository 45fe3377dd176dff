#include <utility>

#include "communities.hpp"

namespace kedge {

namespace {

// Gains below this share of all weight are rounding.
constexpr double least_gain = 1e-14;
// Visits per node, at most. With a free number of communities what is left in the queue moves faster between coarser
// nodes; with a fixed one the limit only ends exchanges that rounding could repeat for ever.
constexpr std::size_t most_visits_free = 5, most_visits_fixed = 100;

class NodeMover {
   public:
    NodeMover(const WeightedGraph& graph, CommunityCount count, std::vector<std::int32_t>& labels)
        : graph_(graph),
          count_(count),
          labels_(labels),
          totals_(graph.nodes),
          inside_(graph.nodes),
          sizes_(graph.nodes),
          touched_(graph.nodes + 1) {
        for (std::size_t node = 0; node < graph.nodes; ++node) {
            totals_[labels[node]] += graph.masses[node];
            ++sizes_[labels[node]];
        }
        for (std::size_t label = graph.nodes; label-- > 0;) {
            if (sizes_[label] == 0) empty_.push_back(static_cast<std::int32_t>(label));
        }
    }

    // Moves the node to its best community; returns what modularity gained, zero if the node stays.
    double move(std::int32_t node) {
        const std::int32_t own = labels_[node];
        if (count_ == CommunityCount::fixed && sizes_[own] == 1) return 0.0;
        const std::size_t n_touched = weigh_neighbors(node);
        const double mass = graph_.masses[node], cost = graph_.penalty * mass;
        const double staying = inside_[own] - cost * (totals_[own] - mass);
        std::int32_t best = own;
        double most = staying + least_gain;
        for (std::size_t i = 0; i < n_touched; ++i) {
            const std::int32_t label = touched_[i];
            const double gain = inside_[label] - cost * totals_[label];
            inside_[label] = 0.0;
            if (gain > most && label != own) {
                most = gain;
                best = label;
            }
        }
        if (count_ == CommunityCount::free && sizes_[own] > 1 && 0.0 > most) {
            most = 0.0;
            best = empty_.back();
        }
        if (best == own) return 0.0;
        relabel(node, own, best);
        return 2.0 * (most - staying);
    }

   private:
    // Sums the node's weights by community, in the order of its neighbours; returns how many communities there are.
    std::size_t weigh_neighbors(std::int32_t node) {
        std::size_t n_touched = 0;
        for (auto edge = graph_.row_starts[node]; edge < graph_.row_starts[node + 1]; ++edge) {
            const std::int32_t label = labels_[graph_.neighbors[edge]];
            touched_[n_touched] = label;
            n_touched += inside_[label] == 0.0;
            inside_[label] += graph_.weights[edge];
        }
        return n_touched;
    }

    void relabel(std::int32_t node, std::int32_t own, std::int32_t best) {
        if (sizes_[best] == 0) empty_.pop_back();
        totals_[best] += graph_.masses[node];
        ++sizes_[best];
        totals_[own] -= graph_.masses[node];
        if (--sizes_[own] == 0) {
            totals_[own] = 0.0;  // not the rounding that is left of it
            empty_.push_back(own);
        }
        labels_[node] = best;
    }

    const WeightedGraph& graph_;
    CommunityCount count_;
    std::vector<std::int32_t>& labels_;
    std::vector<double> totals_, inside_;
    std::vector<std::int32_t> sizes_, touched_, empty_;
};

}  // namespace

double move_nodes(const WeightedGraph& graph, const std::vector<std::int32_t>& order, CommunityCount count,
                  std::vector<std::int32_t>& labels) {
    NodeMover mover(graph, count, labels);
    std::vector<std::int32_t> queue(order);  // a ring: every node waits in it at most once
    std::vector<char> waits(graph.nodes, 1);
    std::size_t head = 0, waiting = graph.nodes,
                visits = graph.nodes * (count == CommunityCount::free ? most_visits_free : most_visits_fixed);
    double gained = 0.0;
    for (; waiting > 0 && visits > 0; --visits) {
        const std::int32_t node = queue[head];
        head = head + 1 == graph.nodes ? 0 : head + 1;
        --waiting;
        waits[node] = 0;
        const double gain = mover.move(node);
        if (gain == 0.0) continue;
        gained += gain;
        for (auto edge = graph.row_starts[node]; edge < graph.row_starts[node + 1]; ++edge) {
            const std::int32_t other = graph.neighbors[edge];
            if (waits[other] || labels[other] == labels[node]) continue;
            waits[other] = 1;
            const std::size_t end = head + waiting;
            queue[end < graph.nodes ? end : end - graph.nodes] = other;
            ++waiting;
        }
    }
    return gained;
}

}  // namespace kedge
