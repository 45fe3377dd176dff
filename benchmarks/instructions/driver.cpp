// Calls one routine of the library on a drawn problem. callgrind counts the instructions between entry and end of
// `counted`, so drawing and products cost nothing.
//
//     driver cold|warm float32|float64 ROWS ANCHORS RIDGE SHARE
//     driver smallest float32|float64 ROWS COLUMNS COUNT
//     driver first|later float32 ROWS CENTERS
//
// SHARE is the share of the anchors in the support above which the start for large supports is used.
// Prints the instruction set, and how many weights, columns or distances a row has on average.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dense_loops.hpp"
#include "drawn_problems.hpp"
#include "nearest_centers.hpp"
#include "simplex_row_solver.hpp"
#include "smallest_columns.hpp"

extern "C" [[gnu::noinline]] void counted(const std::function<void()>& work) { work(); }

namespace {

using namespace drawn_problems;

constexpr double kTolerance = 1e-10;

struct Arguments {
    std::string routine, dtype;
    std::size_t rows, columns;
    std::vector<double> rest;
};

template <class T>
kedge::SparseRows<T> solve(const random_problems::Form& form, const std::vector<T>& linear,
                           const kedge::SparseRows<T>& start, bool is_counted) {
    const std::size_t rows = linear.size() / form.width;
    std::vector<std::int8_t> status(rows);
    kedge::StartRows<T> begin;
    if (!start.row_starts.empty()) {
        begin.row_starts = start.row_starts.data();
        begin.columns = start.columns.data();
        begin.values = start.values.data();
    }
    kedge::Solution<T> solution;
    solution.status = status.data();
    const auto stride = static_cast<std::ptrdiff_t>(form.width);
    const auto work = [&] {
        kedge::solve_rows<T>(form.view(), {linear.data(), stride, 1}, rows, begin, {kTolerance, 1, true, {}}, solution);
    };
    is_counted ? counted(work) : work();
    if (std::any_of(status.begin(), status.end(), [](std::int8_t one) { return one != 0; })) {
        throw std::runtime_error("rows took the slow path, which is not what should be counted");
    }
    return std::move(solution.sparse);
}

template <class T>
double weights_per_row(const kedge::SparseRows<T>& solved) {
    return static_cast<double>(solved.values.size()) / static_cast<double>(solved.row_starts.size() - 1);
}

// The library's rule for a block of rows: whether most of a few rows use more than a share of the anchors.
template <class T>
bool expects_large_supports(const random_problems::Form& form, const std::vector<T>& linear, double share) {
    constexpr std::size_t kProbedRows = 8;
    const std::size_t width = form.width, rows = linear.size() / width;
    const auto limit = static_cast<std::size_t>(share * static_cast<double>(width));
    const auto stride = static_cast<std::ptrdiff_t>((rows - 1) / (kProbedRows - 1) * width);
    std::int64_t sizes[kProbedRows];
    kedge::count_supports<T>(form.hessian.data(), width, {linear.data(), stride, 1}, kProbedRows, limit + 1, sizes);
    std::sort(sizes, sizes + kProbedRows);
    return sizes[kProbedRows / 2 - 1] + sizes[kProbedRows / 2] > 2 * static_cast<std::int64_t>(limit);
}

template <class T>
double row_solver(const Arguments& given) {
    constexpr std::size_t kFeatures = 30;
    const double ridge = given.rest.at(0), share = given.rest.at(1);
    Dice dice(kSeed, given.columns);
    const Points points = draw_points(dice, given.rows, given.columns, kFeatures, 0.0);
    random_problems::Form form = ridge_form(points, ridge);
    const std::vector<T> linear = products<T>(points, -2.0, 0.0);
    if (expects_large_supports(form, linear, share)) random_problems::add_projected_inverse(form);
    if (given.routine == "cold") return weights_per_row(solve<T>(form, linear, {}, true));
    const kedge::SparseRows<T> solved = solve<T>(form, linear, {}, false);
    return weights_per_row(solve<T>(form, changed(dice, linear), solved, true));
}

template <class T>
double smallest_columns(const Arguments& given) {
    constexpr std::size_t kFeatures = 30;
    const auto count = static_cast<std::size_t>(given.rest.at(0));
    Dice dice(kSeed, given.columns);
    const std::vector<T> distances =
        products<T>(draw_points(dice, given.rows, given.columns, kFeatures, 0.0), -2.0, 1.0);
    std::vector<std::int32_t> columns(given.rows * count);
    std::vector<T> smallest(given.rows * count);
    counted([&] {
        kedge::smallest_columns<T>(distances.data(), given.rows, given.columns, count, columns.data(), smallest.data());
    });
    return static_cast<double>(count);
}

struct NearestSearch {
    std::vector<std::int32_t> labels;
    double looked_at;  // bounds per row that do not exceed the distance found
};

NearestSearch search(const Points& points, std::vector<std::int32_t> labels, bool is_counted) {
    constexpr std::size_t kLeading = 24;
    const std::size_t width = points.features, n_rows = labels.size(), n_centers = points.anchors.size() / width;
    const std::vector<float> rows = in_single_precision(points.rows), centers = in_single_precision(points.anchors);
    const std::vector<float> bounds = lower_bounds(points, kLeading);
    std::vector<float> squares(n_rows);
    const auto work = [&] {
        kedge::nearest_centers(rows.data(), n_rows, centers.data(), n_centers, width, bounds.data(), labels.data(),
                               squares.data());
    };
    is_counted ? counted(work) : work();
    std::size_t looked_at = 0;
    for (std::size_t i = 0; i < bounds.size(); ++i) looked_at += bounds[i] <= squares[i / n_centers];
    return {std::move(labels), static_cast<double>(looked_at) / static_cast<double>(n_rows)};
}

// In the first round nothing is known; in a later one the centres have moved a little since rows were labelled.
double nearest_centers(const Arguments& given) {
    constexpr std::size_t kFeatures = 100;
    Dice dice(kSeed, given.columns);
    Points points = draw_points(dice, given.rows, given.columns, kFeatures, 0.3);
    const std::vector<std::int32_t> unknown(given.rows, -1);
    if (given.routine == "first") return search(points, unknown, true).looked_at;
    NearestSearch before = search(points, unknown, false);
    for (double& entry : points.anchors) entry *= 1.0 + 0.05 * nearly_normal(dice);
    return search(points, std::move(before.labels), true).looked_at;
}

double run(const Arguments& given) {
    const bool is_single = given.dtype == "float32";
    if (given.routine == "cold" || given.routine == "warm") {
        return is_single ? row_solver<float>(given) : row_solver<double>(given);
    }
    if (given.routine == "smallest") {
        return is_single ? smallest_columns<float>(given) : smallest_columns<double>(given);
    }
    return nearest_centers(given);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::vector<std::string> words(argv + 1, argv + argc);
        Arguments given{words.at(0), words.at(1), std::stoul(words.at(2)), std::stoul(words.at(3)), {}};
        for (std::size_t i = 4; i < words.size(); ++i) given.rest.push_back(std::stod(words[i]));
        const double per_row = run(given);
        std::printf("%s %.1f\n", kedge::instruction_set(), per_row);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "driver: %s\n", error.what());
        return 1;
    }
    return 0;
}
