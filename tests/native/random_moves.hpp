// Random graphs between rows and the moves of rows along them, checked independently of the code that makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dice.hpp"
#include "row_checks.hpp"
#include "row_moves.hpp"

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

inline double modularity(const RandomGraph& graph, const std::vector<std::int64_t>& labels) {
    double inside = 0.0, chance = 0.0, all = 0.0;
    for (std::size_t i = 0; i < graph.rows; ++i) {
        all += graph.degrees[i];
        for (std::size_t j = 0; j < graph.rows; ++j) {
            if (labels[i] != labels[j]) continue;
            inside += graph.table[i * graph.rows + j];
            chance += graph.expected[i] * graph.expected[j];
        }
    }
    return (all > 0.0 ? inside / all : 0.0) - chance;
}

inline void check_moves(Dice& dice, Failures& failures) {
    const RandomGraph graph = random_graph(dice);
    const std::size_t clusters = dice.between(1, graph.rows);
    std::vector<std::int64_t> labels(graph.rows);
    for (std::size_t i = 0; i < graph.rows; ++i) {
        labels[i] = static_cast<std::int64_t>(i < clusters ? i : dice.below(clusters));
    }
    const double before = modularity(graph, labels);
    const kedge::NeighborGraph view{graph.rows,           graph.row_starts.data(), graph.neighbors.data(),
                                    graph.weights.data(), graph.degrees.data(),    graph.expected.data()};
    kedge::raise_modularity(view, {clusters, dice.between(1, 12), dice.below(3), 1e-12}, labels.data());
    std::vector<std::size_t> sizes(clusters);
    for (const std::int64_t label : labels) {
        if (label < 0 || static_cast<std::size_t>(label) >= clusters) return fail(failures, "a label out of range");
        ++sizes[static_cast<std::size_t>(label)];
    }
    for (const std::size_t size : sizes) {
        if (size == 0) fail(failures, "a cluster lost its last row");
    }
    if (modularity(graph, labels) < before - 1e-9) fail(failures, "moves lowered modularity from ", before);
}

}  // namespace random_problems
