// What must hold for every result, computed here in long double without help from the solver.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "random_forms.hpp"
#include "simplex_row_solver.hpp"

namespace random_problems {

inline constexpr double kTolerance = 1e-9;
inline constexpr double kSumTolerance = 1e-12;
inline constexpr double kWorstConditionToSolve = 1e10;

using Failures = std::vector<std::string>;

template <class... Parts>
void fail(Failures& failures, const Parts&... parts) {
    std::ostringstream text;
    text.precision(3);
    (text << ... << parts);
    failures.push_back(text.str());
}

inline std::string feasibility_failure(const double* weights, std::size_t width) {
    long double total = 0.0L;
    for (std::size_t j = 0; j < width; ++j) {
        if (!(weights[j] >= 0.0)) return "entry " + std::to_string(j) + " is " + std::to_string(weights[j]);
        total += weights[j];
    }
    if (std::abs(total - 1.0L) <= kSumTolerance) return {};
    std::ostringstream text;
    text << "sum is off by " << static_cast<double>(total - 1.0L);
    return text.str();
}

// max(level - g_j over all j, |g_j - level| over z_j > 0) with g = Hz + f and level = z'g, over max|H| + max|f|.
inline long double relative_residual(const Form& form, const double* linear, const double* weights) {
    const std::size_t width = form.width;
    std::vector<long double> gradient(linear, linear + width);
    for (std::size_t i = 0; i < width; ++i) {
        if (weights[i] == 0.0) continue;
        const long double weight = weights[i];
        for (std::size_t j = 0; j < width; ++j) gradient[j] += weight * form.hessian[i * width + j];
    }
    long double level = 0.0L, worst = 0.0L, largest_linear = 0.0L;
    for (std::size_t j = 0; j < width; ++j) {
        level += weights[j] * gradient[j];
        largest_linear = std::max<long double>(largest_linear, std::abs(linear[j]));
    }
    for (std::size_t j = 0; j < width; ++j) {
        worst = std::max(worst, level - gradient[j]);
        if (weights[j] > 0.0) worst = std::max(worst, std::abs(gradient[j] - level));
    }
    return worst / (form.largest + largest_linear);
}

// Empty when the row is feasible and satisfies the KKT conditions.
inline std::string row_failure(const Form& form, const double* linear, const double* weights) {
    std::string infeasible = feasibility_failure(weights, form.width);
    if (!infeasible.empty()) return infeasible;
    const long double residual = relative_residual(form, linear, weights);
    if (residual <= kTolerance) return {};
    std::ostringstream text;
    text << "KKT residual is " << static_cast<double>(residual);
    return text.str();
}

template <class T>
bool same_bits(const std::vector<T>& left, const std::vector<T>& right) {
    return left.size() == right.size() &&
           (left.empty() || std::memcmp(left.data(), right.data(), left.size() * sizeof(T)) == 0);
}

inline bool same_bits(double left, double right) { return std::memcmp(&left, &right, sizeof(double)) == 0; }

inline bool same_bits(const kedge::RowSums& left, const kedge::RowSums& right) {
    return same_bits(left.gram, right.gram) && same_bits(left.column_sums, right.column_sums) &&
           same_bits(left.linear, right.linear) && same_bits(left.quadratic, right.quadratic);
}

// Sums over all rows together with the sums of absolute values, which say how much rounding to expect.
struct ExpectedSums {
    std::vector<long double> gram, column_sums;
    long double linear = 0.0L, linear_size = 0.0L, quadratic = 0.0L, quadratic_size = 0.0L;
};

template <class T>
void add_row(const Form& form, const T* linear, const T* weights, ExpectedSums& sums) {
    const std::size_t width = form.width;
    for (std::size_t i = 0; i < width; ++i) {
        const long double weight = weights[i];
        if (weight == 0.0L) continue;
        sums.column_sums[i] += weight;
        sums.linear += weight * linear[i];
        sums.linear_size += std::abs(weight * linear[i]);
        for (std::size_t j = 0; j < width; ++j) {
            const long double product = weight * weights[j], term = product * form.hessian[i * width + j];
            sums.gram[i * width + j] += product;
            sums.quadratic += term;
            sums.quadratic_size += std::abs(term);
        }
    }
}

template <class T>
ExpectedSums expected_sums(const Form& form, const std::vector<T>& linear, const std::vector<T>& weights) {
    ExpectedSums sums;
    sums.gram.assign(form.width * form.width, 0.0L);
    sums.column_sums.assign(form.width, 0.0L);
    for (std::size_t begin = 0; begin < weights.size(); begin += form.width) {
        add_row(form, linear.data() + begin, weights.data() + begin, sums);
    }
    return sums;
}

inline bool all_close(const std::vector<double>& values, const std::vector<long double>& expected, double tolerance,
                      std::size_t rows) {
    if (values.size() != expected.size()) return false;
    // An entry of a float row may be rounded away altogether, hence the bound in terms of the number of rows.
    for (std::size_t k = 0; k < values.size(); ++k) {
        if (!(std::abs(values[k] - expected[k]) <= tolerance * (expected[k] + 1e-3L * rows))) return false;
    }
    return true;
}

template <class T>
void check_sums(const Form& form, const std::vector<T>& linear, const std::vector<T>& weights,
                const kedge::RowSums& sums, Failures& failures) {
    const double tolerance = sizeof(T) == sizeof(double) ? 1e-9 : 1e-4;
    const std::size_t rows = weights.size() / form.width;
    const ExpectedSums expected = expected_sums(form, linear, weights);
    if (!all_close(sums.gram, expected.gram, tolerance, rows)) fail(failures, "gram is wrong");
    if (!all_close(sums.column_sums, expected.column_sums, tolerance, rows)) fail(failures, "column sums are wrong");
    const long double linear_error = std::abs(sums.linear - expected.linear);
    if (!(linear_error <= tolerance * expected.linear_size)) {
        fail(failures, "linear sum is off by ", linear_error, " of ", expected.linear_size);
    }
    const long double quadratic_error = std::abs(sums.quadratic - expected.quadratic);
    if (!(quadratic_error <= tolerance * expected.quadratic_size)) {
        fail(failures, "quadratic sum is off by ", quadratic_error, " of ", expected.quadratic_size);
    }
}

}  // namespace random_problems
