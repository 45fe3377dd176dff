// Random positive definite H with known condition, and what the solver takes for large supports.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "dice.hpp"
#include "simplex_row_solver.hpp"

namespace random_problems {

inline constexpr double kWorstConditionForInverse = 1e6;

struct Form {
    std::string kind;
    std::size_t width = 0;
    std::vector<double> hessian;
    double condition = 1.0;
    double largest = 0.0;                           // max |H_ij|
    std::vector<double> projected_inverse, centre;  // empty when not handed over

    kedge::QuadraticForm view() const {
        const bool has_inverse = !projected_inverse.empty();
        return {hessian.data(), width, has_inverse ? projected_inverse.data() : nullptr,
                has_inverse ? centre.data() : nullptr};
    }
};

inline Form diagonal_form(const std::vector<double>& diagonal, std::string kind) {
    Form form;
    form.kind = std::move(kind);
    form.width = diagonal.size();
    form.hessian.assign(form.width * form.width, 0.0);
    for (std::size_t j = 0; j < form.width; ++j) form.hessian[j * form.width + j] = diagonal[j];
    const auto [lowest, highest] = std::minmax_element(diagonal.begin(), diagonal.end());
    form.condition = *highest / *lowest;
    return form;
}

// Eigenvalues from 1 down to 10^-exponent, both ends taken when there is room for them.
inline std::vector<double> spread_eigenvalues(Dice& dice, std::size_t width, double exponent) {
    std::vector<double> values(width);
    for (double& value : values) value = std::pow(10.0, -exponent * dice.unit());
    values.front() = 1.0;
    if (width > 1) values.back() = std::pow(10.0, -exponent);
    return values;
}

// H <- R H R for the reflection R = I - 2 v v' along a random unit vector v; eigenvalues stay.
inline void reflect(Dice& dice, std::size_t width, std::vector<double>& matrix) {
    std::vector<double> direction(width), product(width, 0.0);
    double squares = 0.0;
    for (double& entry : direction) {
        entry = dice.normal();
        squares += entry * entry;
    }
    for (double& entry : direction) entry /= std::sqrt(squares);
    double along = 0.0;
    for (std::size_t i = 0; i < width; ++i) {
        for (std::size_t j = 0; j < width; ++j) product[i] += matrix[i * width + j] * direction[j];
        along += product[i] * direction[i];
    }
    for (std::size_t i = 0; i < width; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            const double change = 4.0 * along * direction[i] * direction[j] -
                                  2.0 * (direction[i] * product[j] + product[i] * direction[j]);
            matrix[i * width + j] += change;
            matrix[j * width + i] = matrix[i * width + j];
        }
    }
}

inline Form mixed_form(Dice& dice, std::size_t width) {
    Form form = diagonal_form(spread_eigenvalues(dice, width, 8.0 * dice.unit()), "mixed");
    const std::size_t reflections = dice.between(1, 5);
    for (std::size_t k = 0; k < reflections; ++k) reflect(dice, width, form.hessian);
    return form;
}

inline double largest_eigenvalue(const std::vector<double>& matrix, std::size_t width) {
    std::vector<double> vector(width), next(width);
    for (std::size_t j = 0; j < width; ++j) vector[j] = 1.0 + static_cast<double>(j % 7) / 7.0;
    double length = 0.0;
    for (int step = 0; step < 20; ++step) {
        double squares = 0.0;
        for (std::size_t i = 0; i < width; ++i) {
            next[i] = 0.0;
            for (std::size_t j = 0; j < width; ++j) next[i] += matrix[i * width + j] * vector[j];
            squares += next[i] * next[i];
        }
        length = std::sqrt(squares);
        for (std::size_t i = 0; i < width; ++i) vector[i] = next[i] / length;
    }
    return length;
}

inline std::vector<double> random_anchors(Dice& dice, std::size_t width, std::size_t rank, bool duplicates) {
    const bool whole_numbers = dice.chance(0.3);  // many exact ties
    std::vector<double> anchors(width * rank);
    for (double& entry : anchors) entry = whole_numbers ? static_cast<double>(dice.between(0, 2)) - 1.0 : dice.normal();
    if (!duplicates) return anchors;
    for (std::size_t j = 1; j < width; ++j) {
        if (!dice.chance(0.5)) continue;
        const std::size_t original = dice.below(j);
        std::copy_n(anchors.begin() + static_cast<std::ptrdiff_t>(original * rank), rank,
                    anchors.begin() + static_cast<std::ptrdiff_t>(j * rank));
    }
    return anchors;
}

// 2 alpha I + 2 A A' with fewer dimensions than anchors, so the smallest eigenvalue is 2 alpha.
inline Form anchor_form(Dice& dice, std::size_t width, bool duplicates) {
    const std::size_t rank = dice.between(1, std::max<std::size_t>(1, width / 2));
    const std::vector<double> anchors = random_anchors(dice, width, rank, duplicates);
    const double alpha = dice.chance(0.1) ? dice.decade(-13.0, -7.0) : dice.decade(-7.0, 1.0);
    Form form = diagonal_form(std::vector<double>(width, 2.0 * alpha), duplicates ? "duplicate anchors" : "anchors");
    for (std::size_t i = 0; i < width; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            double product = 0.0;
            for (std::size_t k = 0; k < rank; ++k) product += anchors[i * rank + k] * anchors[j * rank + k];
            form.hessian[i * width + j] += 2.0 * product;
            form.hessian[j * width + i] = form.hessian[i * width + j];
        }
    }
    form.condition = width == 1 ? 1.0 : largest_eigenvalue(form.hessian, width) / (2.0 * alpha);
    return form;
}

// Inverse by Cholesky; long double, so that what is handed to the solver is right to the last bits of a double.
inline std::vector<long double> inverse_of(const std::vector<double>& matrix, std::size_t width) {
    std::vector<long double> factor(width * width, 0.0L), inverse(width * width, 0.0L);
    for (std::size_t i = 0; i < width; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            long double value = matrix[i * width + j];
            for (std::size_t k = 0; k < j; ++k) value -= factor[i * width + k] * factor[j * width + k];
            factor[i * width + j] = i == j ? std::sqrt(value) : value / factor[j * width + j];
        }
    }
    std::vector<long double> column(width);
    for (std::size_t unit = 0; unit < width; ++unit) {
        for (std::size_t i = 0; i < width; ++i) {
            column[i] = i == unit ? 1.0L : 0.0L;
            for (std::size_t k = unit; k < i; ++k) column[i] -= factor[i * width + k] * column[k];
            column[i] /= factor[i * width + i];
        }
        for (std::size_t i = width; i-- > 0;) {
            for (std::size_t k = i + 1; k < width; ++k) column[i] -= factor[k * width + i] * column[k];
            column[i] /= factor[i * width + i];
            inverse[i * width + unit] = column[i];
        }
    }
    return inverse;
}

inline void add_projected_inverse(Form& form) {
    const std::size_t width = form.width;
    const std::vector<long double> inverse = inverse_of(form.hessian, width);
    std::vector<long double> row_sums(width, 0.0L);
    long double total = 0.0L;
    for (std::size_t i = 0; i < width; ++i) {
        for (std::size_t j = 0; j < width; ++j) row_sums[i] += inverse[i * width + j];
        total += row_sums[i];
    }
    form.projected_inverse.resize(width * width);
    form.centre.resize(width);
    for (std::size_t i = 0; i < width; ++i) {
        form.centre[i] = static_cast<double>(row_sums[i] / total);
        for (std::size_t j = 0; j <= i; ++j) {
            const long double entry = inverse[i * width + j] - row_sums[i] * row_sums[j] / total;
            form.projected_inverse[i * width + j] = form.projected_inverse[j * width + i] = static_cast<double>(entry);
        }
    }
}

inline Form random_form(Dice& dice, std::size_t width) {
    Form form;
    switch (dice.below(7)) {
        case 0:
            form = diagonal_form(std::vector<double>(width, 1.0), "scaled identity");
            break;
        case 1:
            form = diagonal_form(spread_eigenvalues(dice, width, 8.0 * dice.unit()), "diagonal");
            break;
        case 2:
        case 3:
            form = anchor_form(dice, width, false);
            break;
        case 4:
            form = anchor_form(dice, width, true);
            break;
        default:
            form = mixed_form(dice, width);
    }
    const double scale = dice.chance(0.5) ? dice.decade(-4.0, 4.0) : 1.0;
    for (double& entry : form.hessian) {
        entry *= scale;
        form.largest = std::max(form.largest, std::abs(entry));
    }
    if (form.condition <= kWorstConditionForInverse && dice.chance(0.5)) add_projected_inverse(form);
    return form;
}

}  // namespace random_problems
