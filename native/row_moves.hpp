// Single rows of a clustering moved to the cluster where their neighbours are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kedge {

// A symmetric graph between rows in CSR form; all input.
struct NeighborGraph {
    std::size_t rows;
    const std::int64_t* row_starts;
    const std::int32_t* neighbors;
    const double* weights;
    const double* degrees;   // sum of the weights of each row
    const double* expected;  // degrees as shares of their sum
};

struct MoveLimits {
    std::size_t clusters, most_sweeps, settled_rows;
    double least_gain;
};

// Moves rows one after the other to the cluster that raises modularity most, sweep by sweep, until at most
// `settled_rows` moved in one; the last row of a cluster stays. `labels` is both input and output.
void raise_modularity(const NeighborGraph& graph, const MoveLimits& limits, std::int64_t* labels);

}  // namespace kedge
