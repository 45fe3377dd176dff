// Random graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dice.hpp"

namespace random_problems {

struct RandomGraph {
    std::size_t rows;
    std::vector<double> table;  // (rows, rows), symmetric, nothing on the diagonal
    std::vector<std::int64_t> row_starts{0};
    std::vector<std::int32_t> neighbors;
    std::vector<double> weights, degrees, expected;
};

inline RandomGraph random_graph(Dice& dice) {
    RandomGraph graph;
    graph.rows = dice.between(1, 40);
    graph.table.assign(graph.rows * graph.rows, 0.0);
    const double density = dice.unit();
    for (std::size_t i = 0; i < graph.rows; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (!dice.chance(density)) continue;
            graph.table[i * graph.rows + j] = graph.table[j * graph.rows + i] = dice.chance(0.5) ? 1.0 : dice.unit();
        }
    }
    double all = 0.0;
    for (std::size_t i = 0; i < graph.rows; ++i) {
        double degree = 0.0;
        for (std::size_t j = 0; j < graph.rows; ++j) {
            const double weight = graph.table[i * graph.rows + j];
            if (weight == 0.0) continue;
            graph.neighbors.push_back(static_cast<std::int32_t>(j));
            graph.weights.push_back(weight);
            degree += weight;
        }
        graph.row_starts.push_back(static_cast<std::int64_t>(graph.weights.size()));
        graph.degrees.push_back(degree);
        all += degree;
    }
    for (const double degree : graph.degrees) graph.expected.push_back(all > 0.0 ? degree / all : 0.0);
    return graph;
}

}  // namespace random_problems
