#include "support_factor.hpp"

#include <algorithm>
#include <cmath>

#include "dense_loops.hpp"

namespace kedge {

namespace {

// A pivot below this share of its diagonal entry carries no correct digit.
constexpr double kDependent = 1e-15;

std::size_t packed_offset(std::size_t row) { return row * (row + 1) / 2; }

}  // namespace

SupportFactor::SupportFactor(const double* matrix, std::size_t width, bool sum_to_one)
    : matrix_(matrix),
      width_(width),
      sum_to_one_(sum_to_one),
      member_(width, 0),
      inverse_diagonal_(width),
      solved_linear_(width),
      solved_ones_(width),
      cosines_(width),
      sines_(width),
      correction_(width) {
    support_.reserve(width);
    displaced_.reserve(width);
}

void SupportFactor::begin_row(const double* linear) {
    truncate(0);
    linear_ = linear;
}

void SupportFactor::truncate(std::size_t count) {
    for (std::size_t i = count; i < support_.size(); ++i) member_[static_cast<std::size_t>(support_[i])] = 0;
    support_.resize(count);
}

void SupportFactor::reserve_rows(std::size_t count) {
    const std::size_t needed = packed_offset(count);
    if (packed_.size() < needed) packed_.resize(std::min(2 * needed, packed_offset(width_)));
}

bool SupportFactor::append_row(std::int32_t index, bool forced) {
    const std::size_t count = support_.size();
    reserve_rows(count + 1);
    const auto column = static_cast<std::size_t>(index);
    const double* source = matrix_ + column * width_;
    double* row = packed_.data() + packed_offset(count);
    for (std::size_t j = 0; j < count; ++j) row[j] = source[support_[j]];
    loops.forward_substitute(packed_.data(), inverse_diagonal_.data(), count, row);
    double pivot = source[column] - loops.dot(row, row, count);
    const double smallest = kDependent * source[column];
    if (!(pivot > smallest)) {
        if (!forced) return false;
        pivot = smallest;
    }
    row[count] = std::sqrt(pivot);
    const double inverse = 1.0 / row[count];
    inverse_diagonal_[count] = inverse;
    solved_linear_[count] = (linear_[column] - loops.dot(row, solved_linear_.data(), count)) * inverse;
    if (sum_to_one_) solved_ones_[count] = (1.0 - loops.dot(row, solved_ones_.data(), count)) * inverse;
    support_.push_back(index);
    member_[column] = 1;
    return true;
}

void SupportFactor::retain(std::span<const std::uint8_t> keep) {
    const std::size_t count = support_.size();
    std::size_t first = 0;
    while (first < count && keep[first]) ++first;
    if (first == count) return;
    const auto removed = static_cast<std::size_t>(std::count(keep.begin() + static_cast<std::ptrdiff_t>(first),
                                                             keep.begin() + static_cast<std::ptrdiff_t>(count), 0));
    if (removed == 1 && count - first > 4) {
        remove_one(first);
        return;
    }
    // Rows above the first removed one stay valid; the others are appended again.
    displaced_.clear();
    for (std::size_t i = first; i < count; ++i) {
        if (keep[i]) displaced_.push_back(support_[i]);
    }
    truncate(first);
    for (const std::int32_t index : displaced_) append_row(index, true);
}

// Drops one row of L; the rows below turn lower Hessenberg and plane rotations make them triangular again.
void SupportFactor::remove_one(std::size_t position) {
    const std::size_t count = support_.size();
    for (std::size_t r = position + 1; r < count; ++r) {
        const double* source = packed_.data() + packed_offset(r);
        double* target = packed_.data() + packed_offset(r - 1);
        for (std::size_t k = 0; k < position; ++k) target[k] = source[k];
        double carry = source[position];
        for (std::size_t k = position; k + 1 < r; ++k) {
            const double next = source[k + 1];
            target[k] = cosines_[k] * carry + sines_[k] * next;
            carry = cosines_[k] * next - sines_[k] * carry;
        }
        const double last = source[r];
        const double length = std::sqrt(carry * carry + last * last);
        cosines_[r - 1] = carry / length;
        sines_[r - 1] = last / length;
        target[r - 1] = length;
        inverse_diagonal_[r - 1] = 1.0 / length;
    }
    for (double* side : {solved_linear_.data(), solved_ones_.data()}) {
        double carry = side[position];
        for (std::size_t k = position; k + 1 < count; ++k) {
            const double next = side[k + 1];
            side[k] = cosines_[k] * carry + sines_[k] * next;
            carry = cosines_[k] * next - sines_[k] * carry;
        }
    }
    member_[static_cast<std::size_t>(support_[position])] = 0;
    support_.erase(support_.begin() + static_cast<std::ptrdiff_t>(position));
}

double SupportFactor::solve(double* values) const {
    const std::size_t count = support_.size();
    double multiplier = 0.0;
    if (sum_to_one_) {
        const double* ones = solved_ones_.data();
        multiplier = (1.0 + loops.dot(ones, solved_linear_.data(), count)) / loops.dot(ones, ones, count);
        for (std::size_t i = 0; i < count; ++i) values[i] = multiplier * ones[i] - solved_linear_[i];
    } else {
        for (std::size_t i = 0; i < count; ++i) values[i] = -solved_linear_[i];
    }
    loops.back_substitute(packed_.data(), inverse_diagonal_.data(), count, values);
    return multiplier;
}

void SupportFactor::refine(const double* gradient, double missing, double* values) {
    const std::size_t count = support_.size();
    const double* ones = solved_ones_.data();
    double* step = correction_.data();
    double mean = 0.0;
    for (std::size_t i = 0; i < count; ++i) mean += gradient[i] / static_cast<double>(count);
    for (std::size_t i = 0; i < count; ++i) step[i] = gradient[i] - mean;
    loops.forward_substitute(packed_.data(), inverse_diagonal_.data(), count, step);
    const double multiplier = (missing + loops.dot(ones, step, count)) / loops.dot(ones, ones, count);
    for (std::size_t i = 0; i < count; ++i) step[i] = multiplier * ones[i] - step[i];
    loops.back_substitute(packed_.data(), inverse_diagonal_.data(), count, step);
    for (std::size_t i = 0; i < count; ++i) values[i] += step[i];
}

}  // namespace kedge
