// Problems that are the same on every machine: rows and anchors of a mixture, and centres with lower bounds of
// distances.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dice.hpp"
#include "random_forms.hpp"

namespace drawn_problems {

using random_problems::Dice;
using Matrix = std::vector<double>;  // row-major

inline constexpr std::uint64_t kSeed = 0;

// Rows, and the anchors or centres they are compared with.
struct Points {
    std::size_t features;
    Matrix rows, anchors;
};

// Nearly normal, of variance one. Sums have the same bits everywhere, logarithms and cosines have not.
inline double nearly_normal(Dice& dice) {
    const double sum = dice.unit() + dice.unit() + dice.unit() + dice.unit();
    return (sum - 2.0) * 1.7320508075688772;
}

// Each point is near one of ten group centres. A later feature spreads less: its scale falls off at the given rate.
inline Points draw_points(Dice& dice, std::size_t n_rows, std::size_t n_anchors, std::size_t features,
                          double fall_off) {
    constexpr std::size_t kGroups = 10;
    Matrix scales(features), groups(kGroups * features);
    for (std::size_t j = 0; j < features; ++j) scales[j] = 1.0 / (1.0 + fall_off * static_cast<double>(j));
    for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = scales[i % features] * nearly_normal(dice);
    const auto draw = [&](std::size_t count, double spread) {
        Matrix points(count * features);
        for (std::size_t i = 0; i < count; ++i) {
            const double* group = groups.data() + dice.below(kGroups) * features;
            for (std::size_t j = 0; j < features; ++j) {
                points[i * features + j] = group[j] + spread * scales[j] * nearly_normal(dice);
            }
        }
        return points;
    };
    // Anchors are closer to the group centres than rows, as centres of k-means are.
    Matrix rows = draw(n_rows, 0.5);
    return {features, std::move(rows), draw(n_anchors, 0.35)};
}

inline double inner(const double* left, const double* right, std::size_t count) {
    double sum = 0.0;
    for (std::size_t k = 0; k < count; ++k) sum += left[k] * right[k];
    return sum;
}

// factor * rows anchors' + offset * |anchor|^2, a column per anchor.
template <class T>
std::vector<T> products(const Points& points, double factor, double offset) {
    const std::size_t width = points.features, n_rows = points.rows.size() / width;
    const std::size_t n_anchors = points.anchors.size() / width;
    std::vector<double> squares(n_anchors);
    for (std::size_t j = 0; j < n_anchors; ++j) {
        const double* anchor = points.anchors.data() + j * width;
        squares[j] = offset * inner(anchor, anchor, width);
    }
    std::vector<T> values(n_rows * n_anchors);
    for (std::size_t i = 0; i < n_rows; ++i) {
        for (std::size_t j = 0; j < n_anchors; ++j) {
            const double product = inner(points.rows.data() + i * width, points.anchors.data() + j * width, width);
            values[i * n_anchors + j] = static_cast<T>(factor * product + squares[j]);
        }
    }
    return values;
}

// 2 A A' + 2 alpha I, with alpha in units of the mean squared norm of the anchors.
inline random_problems::Form ridge_form(const Points& points, double alpha) {
    Matrix gram = products<double>({points.features, points.anchors, points.anchors}, 2.0, 0.0);
    const std::size_t width = points.anchors.size() / points.features;
    double trace = 0.0;
    for (std::size_t j = 0; j < width; ++j) trace += gram[j * width + j];
    for (std::size_t j = 0; j < width; ++j) gram[j * width + j] += alpha * trace / static_cast<double>(width);
    random_problems::Form form;
    form.width = width;
    form.hessian = std::move(gram);
    return form;
}

// Linear terms after a small change of the rows: one part in a thousand of the mean.
template <class T>
std::vector<T> changed(Dice& dice, const std::vector<T>& linear) {
    double mean = 0.0;
    for (const T value : linear) mean += std::abs(static_cast<double>(value)) / static_cast<double>(linear.size());
    std::vector<T> values;
    values.reserve(linear.size());
    for (const T value : linear) values.push_back(static_cast<T>(value + 1e-3 * mean * nearly_normal(dice)));
    return values;
}

inline std::vector<float> in_single_precision(const Matrix& values) { return {values.begin(), values.end()}; }

// Lower bounds of the squared distances, from the leading features and the length of the rest.
inline std::vector<float> lower_bounds(const Points& points, std::size_t leading) {
    const std::size_t width = points.features, n_centers = points.anchors.size() / width;
    // Rounding may raise a bound by a small share, so a larger one is taken off.
    constexpr double kKept = 1.0 - 1e-4;
    const auto rest = [&](const double* point) {
        return std::sqrt(inner(point + leading, point + leading, width - leading));
    };
    std::vector<double> rests;
    for (std::size_t j = 0; j < n_centers; ++j) rests.push_back(rest(points.anchors.data() + j * width));
    std::vector<float> bounds;
    bounds.reserve(points.rows.size() / width * n_centers);
    for (const double* row = points.rows.data(); row != points.rows.data() + points.rows.size(); row += width) {
        const double own = rest(row);
        for (std::size_t j = 0; j < n_centers; ++j) {
            double square = (own - rests[j]) * (own - rests[j]);
            for (std::size_t k = 0; k < leading; ++k) {
                const double difference = row[k] - points.anchors[j * width + k];
                square += difference * difference;
            }
            bounds.push_back(static_cast<float>(kKept * square));
        }
    }
    return bounds;
}

}  // namespace drawn_problems
