// Random linear terms and starts, and the many ways their rows may lie in memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "dice.hpp"
#include "random_forms.hpp"
#include "simplex_row_solver.hpp"

namespace random_problems {

enum class LinearKind { random, tiny, huge, constant, zero, one_vertex, few_levels, degenerate, count };

// f = -H z for a feasible z, plus slack off the support of z; where the slack is zero strict complementarity fails.
inline void fill_degenerate(Dice& dice, const Form& form, double* row) {
    const std::size_t width = form.width;
    std::vector<double> weights(width, 0.0);
    const double share = dice.unit();
    double total = 0.0;
    for (double& weight : weights) {
        if (dice.chance(share)) weight = static_cast<double>(dice.between(1, 8));
        total += weight;
    }
    if (total == 0.0) weights[dice.below(width)] = total = 1.0;
    for (std::size_t j = 0; j < width; ++j) {
        row[j] = weights[j] == 0.0 && dice.chance(0.5) ? form.largest * dice.unit() : 0.0;
        for (std::size_t i = 0; i < width; ++i) row[j] -= form.hessian[i * width + j] * (weights[i] / total);
    }
}

inline void fill_linear(Dice& dice, const Form& form, LinearKind kind, double* row) {
    if (kind == LinearKind::degenerate) return fill_degenerate(dice, form, row);
    const double scale = form.largest * dice.decade(-3.0, 1.0);
    const double constant = dice.normal() * form.largest * dice.decade(-3.0, 6.0);
    const std::size_t vertex = dice.below(form.width);
    for (std::size_t j = 0; j < form.width; ++j) {
        switch (kind) {
            case LinearKind::tiny:
                row[j] = 1e-12 * form.largest * dice.normal();
                break;
            case LinearKind::huge:
                row[j] = 1e6 * form.largest * dice.normal();
                break;
            case LinearKind::constant:
                row[j] = constant;
                break;
            case LinearKind::zero:
                row[j] = 0.0;
                break;
            case LinearKind::one_vertex:
                row[j] = form.largest * (0.1 * dice.normal() - (j == vertex ? 3.0 : 0.0));
                break;
            case LinearKind::few_levels:
                row[j] = 0.25 * form.largest * static_cast<double>(dice.between(0, 2));
                break;
            default:
                row[j] = scale * dice.normal();
        }
    }
}

template <class T>
std::vector<T> random_linear(Dice& dice, const Form& form, std::size_t rows) {
    constexpr auto kinds = static_cast<std::size_t>(LinearKind::count);
    const bool one_kind = dice.chance(0.8);
    auto kind = static_cast<LinearKind>(dice.below(kinds));
    std::vector<double> row(form.width);
    std::vector<T> values;
    values.reserve(rows * form.width);
    for (std::size_t i = 0; i < rows; ++i) {
        if (!one_kind) kind = static_cast<LinearKind>(dice.below(kinds));
        fill_linear(dice, form, kind, row.data());
        for (const double entry : row) values.push_back(static_cast<T>(entry));
    }
    return values;
}

enum class StartKind { none, feasible, some_negative, zero, wrong_support, exact, full, count };

// Row-major start values; empty for StartKind::none. `exact` holds the solution, row-major.
template <class T>
std::vector<T> random_start(Dice& dice, StartKind kind, std::size_t width, const std::vector<T>& exact) {
    if (kind == StartKind::none) return {};
    if (kind == StartKind::exact) return exact;
    std::vector<T> values(exact.size(), T{0});
    const double share = dice.unit();
    for (std::size_t k = 0; k < values.size(); ++k) {
        if (kind == StartKind::wrong_support) values[k] = exact[k] > T{0} ? T{0} : T{1};
        if (kind == StartKind::full) values[k] = T{1} / static_cast<T>(width);
        if (kind == StartKind::some_negative) values[k] = static_cast<T>(dice.normal());
        if (kind == StartKind::feasible && dice.chance(share)) values[k] = static_cast<T>(0.01 + dice.unit());
    }
    if (kind != StartKind::feasible) return values;
    for (std::size_t begin = 0; begin < values.size(); begin += width) {
        T total{0};
        for (std::size_t j = 0; j < width; ++j) total += values[begin + j];
        if (total == T{0}) values[begin + dice.below(width)] = total = T{1};
        for (std::size_t j = 0; j < width; ++j) values[begin + j] /= total;
    }
    return values;
}

template <class T>
bool all_rows_equal(const std::vector<T>& values, std::size_t width) {
    for (std::size_t k = width; k < values.size(); ++k) {
        if (!(values[k] == values[k - width])) return false;
    }
    return true;
}

template <class T>
bool all_columns_equal(const std::vector<T>& values, std::size_t width) {
    for (std::size_t k = 0; k < values.size(); ++k) {
        if (!(values[k] == values[k - k % width])) return false;
    }
    return true;
}

// Rows in a buffer that ends exactly where they end; every gap between them holds NaN, so a stray read shows.
template <class T>
class StridedRows {
   public:
    StridedRows() = default;

    StridedRows(Dice& dice, const std::vector<T>& values, std::size_t width) {
        const std::size_t rows = values.size() / width;
        choose_strides(dice, values, rows, width);
        const auto last_row = rows == 0 ? 0 : static_cast<std::ptrdiff_t>(rows - 1) * row_stride_;
        const auto last_column = static_cast<std::ptrdiff_t>(width - 1) * column_stride_;
        buffer_.assign(static_cast<std::size_t>(last_row + last_column + 1), std::numeric_limits<T>::quiet_NaN());
        if (dice.chance(0.3)) {
            origin_ += last_row;
            row_stride_ = -row_stride_;
        }
        if (dice.chance(0.3)) {
            origin_ += last_column;
            column_stride_ = -column_stride_;
        }
        for (std::size_t k = 0; k < values.size(); ++k) {
            const auto row = static_cast<std::ptrdiff_t>(k / width), column = static_cast<std::ptrdiff_t>(k % width);
            buffer_[static_cast<std::size_t>(origin_ + row * row_stride_ + column * column_stride_)] = values[k];
        }
    }

    kedge::RowMatrix<T> view() const {
        if (buffer_.empty()) return {};
        return {buffer_.data() + origin_, row_stride_, column_stride_};
    }

   private:
    void choose_strides(Dice& dice, const std::vector<T>& values, std::size_t rows, std::size_t width) {
        column_stride_ = dice.chance(0.3) ? static_cast<std::ptrdiff_t>(dice.between(2, 3)) : 1;
        row_stride_ = static_cast<std::ptrdiff_t>(width) * column_stride_;
        if (dice.chance(0.3)) row_stride_ += static_cast<std::ptrdiff_t>(dice.between(1, 5));
        if (rows > 0 && dice.chance(0.2)) {  // column-major
            row_stride_ = 1;
            column_stride_ = static_cast<std::ptrdiff_t>(rows + dice.between(0, 2));
        }
        if (dice.chance(0.3) && all_rows_equal(values, width)) row_stride_ = 0;
        if (dice.chance(0.3) && all_columns_equal(values, width)) column_stride_ = 0;
    }

    std::vector<T> buffer_;
    std::ptrdiff_t origin_ = 0, row_stride_ = 0, column_stride_ = 0;
};

// Keeps what a start points to; dense or CSR by chance, no start if there are no values.
template <class T>
class StartStorage {
   public:
    StartStorage(Dice& dice, const std::vector<T>& values, std::size_t width) {
        if (values.empty()) return;
        if (dice.chance(0.6)) {
            dense_ = StridedRows<T>(dice, values, width);
            return;
        }
        const double explicit_zeros = dice.chance(0.5) ? 0.2 : 0.0;
        sparse_.row_starts.push_back(0);
        for (std::size_t k = 0; k < values.size(); ++k) {
            if (values[k] != T{0} || dice.chance(explicit_zeros)) {
                sparse_.columns.push_back(static_cast<std::int32_t>(k % width));
                sparse_.values.push_back(values[k]);
            }
            if (k % width == width - 1) sparse_.row_starts.push_back(static_cast<std::int64_t>(sparse_.values.size()));
        }
    }

    kedge::StartRows<T> view() const {
        kedge::StartRows<T> start;
        start.dense = dense_.view();
        if (!sparse_.row_starts.empty()) {
            start.row_starts = sparse_.row_starts.data();
            start.columns = sparse_.columns.data();
            start.values = sparse_.values.data();
        }
        return start;
    }

   private:
    StridedRows<T> dense_;
    kedge::SparseRows<T> sparse_;
};

}  // namespace random_problems
