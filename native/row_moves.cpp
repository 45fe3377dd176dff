#include "row_moves.hpp"

#include <algorithm>
#include <vector>

namespace kedge {

namespace {

// What changes while rows move. Sums are added in the order of the NumPy twin, so that both make the same moves.
struct Clustering {
    std::vector<double> totals, inside;
    std::vector<std::size_t> sizes;
};

Clustering begin(const NeighborGraph& graph, std::size_t clusters, const std::int64_t* labels) {
    Clustering state{std::vector<double>(clusters), std::vector<double>(clusters), std::vector<std::size_t>(clusters)};
    for (std::size_t row = 0; row < graph.rows; ++row) {
        const auto own = static_cast<std::size_t>(labels[row]);
        state.totals[own] += graph.degrees[row];
        ++state.sizes[own];
    }
    return state;
}

// Returns whether the row moved.
bool move_row(const NeighborGraph& graph, double least_gain, std::size_t row, Clustering& state, std::int64_t* labels) {
    const auto own = static_cast<std::size_t>(labels[row]);
    if (state.sizes[own] == 1) return false;
    state.totals[own] -= graph.degrees[row];
    std::fill(state.inside.begin(), state.inside.end(), 0.0);
    for (auto edge = graph.row_starts[row]; edge < graph.row_starts[row + 1]; ++edge) {
        state.inside[static_cast<std::size_t>(labels[graph.neighbors[edge]])] += graph.weights[edge];
    }
    const auto gain = [&](std::size_t cluster) {
        return state.inside[cluster] - graph.expected[row] * state.totals[cluster];
    };
    std::size_t best = 0;
    double most = gain(0);
    for (std::size_t cluster = 1; cluster < state.totals.size(); ++cluster) {
        const double here = gain(cluster);
        if (here > most) {
            most = here;
            best = cluster;
        }
    }
    const bool moves = most > gain(own) + least_gain;
    const std::size_t home = moves ? best : own;
    if (moves) {
        --state.sizes[own];
        ++state.sizes[home];
        labels[row] = static_cast<std::int64_t>(home);
    }
    state.totals[home] += graph.degrees[row];
    return moves;
}

}  // namespace

void raise_modularity(const NeighborGraph& graph, const MoveLimits& limits, std::int64_t* labels) {
    Clustering state = begin(graph, limits.clusters, labels);
    for (std::size_t sweep = 0; sweep < limits.most_sweeps; ++sweep) {
        std::size_t moved = 0;
        for (std::size_t row = 0; row < graph.rows; ++row) {
            moved += move_row(graph, limits.least_gain, row, state, labels);
        }
        if (moved <= limits.settled_rows) break;
    }
}

}  // namespace kedge
