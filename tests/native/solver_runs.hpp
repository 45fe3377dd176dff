// Calls of the solver with fresh output, and the checks on how that output is laid out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "dice.hpp"
#include "random_forms.hpp"
#include "random_rows.hpp"
#include "row_checks.hpp"
#include "simplex_row_solver.hpp"

namespace random_problems {

inline constexpr std::int8_t kStatusNotWritten = 77;

struct RunOptions {
    std::size_t threads = 1;
    bool sparse = false, sums = false, ask = false;
};

template <class T>
struct Outcome {
    std::vector<T> weights;  // (rows, width), whatever form the output had
    std::vector<std::int8_t> status;
    kedge::RowSums sums;
};

// CSR to dense; reports a broken structure and returns nothing then.
template <class T>
std::vector<T> unpack(const kedge::SparseRows<T>& sparse, std::size_t rows, std::size_t width, Failures& failures) {
    if (sparse.row_starts.size() != rows + 1 || sparse.row_starts.front() != 0 ||
        sparse.row_starts.back() != static_cast<std::int64_t>(sparse.values.size()) ||
        sparse.columns.size() != sparse.values.size()) {
        fail(failures, "CSR arrays do not fit together");
        return {};
    }
    std::vector<T> weights(rows * width, T{0});
    for (std::size_t row = 0; row < rows; ++row) {
        const auto begin = sparse.row_starts[row], end = sparse.row_starts[row + 1];
        for (auto k = begin; k < end; ++k) {
            const auto index = static_cast<std::size_t>(k);
            const std::int32_t column = sparse.columns[index];
            const bool ascending = k == begin || column > sparse.columns[index - 1];
            if (column < 0 || static_cast<std::size_t>(column) >= width || !ascending) {
                fail(failures, "CSR columns of row ", row, " are out of range or order");
                return {};
            }
            weights[row * width + static_cast<std::size_t>(column)] = sparse.values[index];
        }
        if (begin > end) fail(failures, "CSR row starts descend at row ", row);
    }
    return weights;
}

template <class T>
Outcome<T> run(const Form& form, const kedge::RowMatrix<T>& linear, std::size_t rows, const kedge::StartRows<T>& start,
               const RunOptions& options, Failures& failures) {
    Outcome<T> outcome;
    kedge::Solution<T> solution;
    outcome.status.assign(rows, kStatusNotWritten);
    solution.status = outcome.status.data();
    if (!options.sparse) {
        // A null pointer would ask for CSR, so even no rows at all need a little memory.
        outcome.weights.assign(rows * form.width, std::numeric_limits<T>::quiet_NaN());
        outcome.weights.reserve(1);
        solution.dense = outcome.weights.data();
    }
    const std::thread::id caller = std::this_thread::get_id();
    bool asked_elsewhere = false;
    kedge::Request request{kTolerance, options.threads, options.sums, {}};
    if (options.ask) {
        request.interrupted = [&] {
            if (std::this_thread::get_id() != caller) asked_elsewhere = true;
            return false;
        };
    }
    kedge::solve_rows<T>(form.view(), linear, rows, start, request, solution);
    if (solution.was_interrupted) fail(failures, "interrupted without being told so");
    if (asked_elsewhere) fail(failures, "the interrupt question was not asked by the calling thread");
    if (options.sparse) outcome.weights = unpack(solution.sparse, rows, form.width, failures);
    outcome.sums = std::move(solution.sums);
    return outcome;
}

template <class T>
void compare_bits(const Outcome<T>& left, const Outcome<T>& right, bool sums, const char* what, Failures& failures) {
    if (!same_bits(left.weights, right.weights)) fail(failures, what, ": Z differs");
    if (!same_bits(left.status, right.status)) fail(failures, what, ": status differs");
    if (sums && !same_bits(left.sums, right.sums)) fail(failures, what, ": sums differ");
}

// Work enough for the question to be asked, all of it the same row; the answer is yes at once.
inline void check_interruption(Dice& dice, Failures& failures) {
    const Form form = random_form(dice, dice.between(10, 20));
    const std::vector<double> row = random_linear<double>(dice, form, 1);
    const std::thread::id caller = std::this_thread::get_id();
    const std::size_t threads = dice.chance(0.3) ? 1 : (dice.chance(0.5) ? 2 : 7);
    const bool sums = dice.chance(0.5);
    for (std::size_t rows = 20000; rows <= 20'000'000; rows *= 4) {
        std::size_t questions = 0;
        bool asked_elsewhere = false;
        std::vector<std::int8_t> status(rows, kStatusNotWritten);
        kedge::Solution<double> solution;
        solution.status = status.data();
        const kedge::Request request{kTolerance, threads, sums, [&] {
                                         if (std::this_thread::get_id() != caller) asked_elsewhere = true;
                                         ++questions;
                                         return true;
                                     }};
        kedge::solve_rows<double>(form.view(), {row.data(), 0, 1}, rows, {}, request, solution);
        if (asked_elsewhere) fail(failures, "the interrupt question was not asked by the calling thread");
        if (solution.was_interrupted != (questions > 0)) fail(failures, "was_interrupted does not match the answer");
        if (questions > 0) return;
    }
    fail(failures, "the interrupt question was never asked");
}

}  // namespace random_problems
