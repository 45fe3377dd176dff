#include "row_worker.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "careful_row.hpp"

namespace kedge {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// Entry tolerance in units of the largest entry of H. A missed violation of size d moves z by up to d / lambda_min,
// so it sits just above the rounding of one gradient rather than at the caller's tolerance.
constexpr double kEntryTolerance = 16 * kEpsilon;

// The dual path loses digits to the inverse of an ill-conditioned H. Past this residual its support is taken over and
// solved again on the support itself, which does not.
constexpr double kLargeAccuracy = 1e-12;

// Few entries join at first, then as many as are there: supports double until they fit.
constexpr EntryRule kSmallSupportRule{4, false};
constexpr EntryRule kLargeSupportRule{0, true};

double largest_diagonal(const QuadraticForm& form) {
    double largest = 0.0;
    for (std::size_t j = 0; j < form.width; ++j) largest = std::max(largest, form.hessian[j * form.width + j]);
    return largest;
}

}  // namespace

RowWorker::RowWorker(const QuadraticForm& form, double tolerance)
    : form_(form),
      width_(form.width),
      tolerance_(tolerance),
      largest_(largest_diagonal(form)),
      small_(form.hessian, form.width, true, kSmallSupportRule),
      large_(form.projected_inverse, form.projected_inverse ? form.width : 0, false, kLargeSupportRule),
      linear_(kTileRows * form.width),
      unconstrained_(form.projected_inverse ? kTileRows * form.width : 0),
      weights_(form.projected_inverse ? kTileRows * form.width : 0),
      gradient_(form.projected_inverse ? kTileRows * form.width : 0) {}

void RowWorker::begin_tile() {
    std::fill(linear_.begin(), linear_.end(), 0.0);
    for (std::size_t slot = 0; slot < kTileRows; ++slot) {
        starts_[slot].clear();
        results_[slot].status = RowStatus::solved;
    }
}

void RowWorker::solve(std::size_t filled) {
    bool any_large = false;
    for (std::size_t slot = 0; slot < filled; ++slot) {
        shift_to_zero(slot);
        is_large_[slot] = prefers_large_support(slot);
        any_large = any_large || is_large_[slot];
    }
    if (any_large) {
        loops.multiply_tile(linear_.data(), form_.projected_inverse, width_, -1.0, form_.centre, 0,
                            unconstrained_.data());
        std::fill(weights_.begin(), weights_.end(), 0.0);
    }
    for (std::size_t slot = 0; slot < filled; ++slot) {
        if (is_large_[slot]) {
            solve_large(slot);
        } else {
            solve_small(slot, starts_[slot]);
        }
    }
    if (!any_large) return;
    loops.multiply_tile(weights_.data(), form_.hessian, width_, 1.0, linear_.data(), width_, gradient_.data());
    for (std::size_t slot = 0; slot < filled; ++slot) {
        if (is_large_[slot]) check_large(slot);
    }
}

// Adding a constant to f does not move the solution. With min f = 0 the multiplier is at most max H_jj, so rounding
// errors of the gradient are measured against H alone however large f is.
void RowWorker::shift_to_zero(std::size_t slot) {
    double* row = linear(slot);
    double lowest = row[0], highest = row[0];
    for (std::size_t j = 1; j < width_; ++j) {
        lowest = std::min(lowest, row[j]);
        highest = std::max(highest, row[j]);
    }
    for (std::size_t j = 0; j < width_; ++j) row[j] -= lowest;
    ranges_[slot] = highest - lowest;
}

bool RowWorker::prefers_large_support(std::size_t slot) const {
    if (form_.projected_inverse == nullptr) return false;
    return starts_[slot].empty() || 2 * starts_[slot].size() > width_;
}

void RowWorker::solve_small(std::size_t slot, std::span<const std::int32_t> start) {
    const double* row = linear(slot);
    SolvedRow& result = results_[slot];
    const bool finished = small_.minimise(row, start, kEntryTolerance * largest_);
    const auto support = small_.support();
    const double* values = small_.values();
    result.support.assign(support.begin(), support.end());
    result.values.assign(values, values + support.size());
    const double* gradient = small_.gradient();
    double level = 0.0, linear_part = 0.0;
    for (std::size_t i = 0; i < support.size(); ++i) {
        level += values[i] * gradient[support[i]];
        linear_part += values[i] * row[support[i]];
    }
    result.quadratic = level - linear_part;
    if (!finished || !(residual(slot, gradient, level) <= allowance(slot))) solve_slowly(slot);
}

// The dual problem: with N the zeroed entries, z = c + Q mu where c solves the problem without z >= 0 and Q is the
// projected inverse; mu >= 0 lives on N, z >= 0 is its gradient. N is small when the support is large.
void RowWorker::solve_large(std::size_t slot) {
    const double* unconstrained = unconstrained_.data() + slot * width_;
    zeroed_.clear();
    double largest = 1.0;
    const auto& start = starts_[slot];
    std::size_t next = 0;
    for (std::size_t j = 0; j < width_; ++j) {
        largest = std::max(largest, std::abs(unconstrained[j]));
        const bool started = next < start.size() && start[next] == static_cast<std::int32_t>(j);
        next += started;
        if (start.empty() ? unconstrained[j] < 0.0 : !started) zeroed_.push_back(static_cast<std::int32_t>(j));
    }
    // Most entries would be zeroed: the support is the smaller side after all.
    const bool support_is_smaller = start.empty() && 2 * zeroed_.size() > width_;
    if (support_is_smaller || !large_.minimise(unconstrained, zeroed_, 4 * kEpsilon * largest)) {
        is_large_[slot] = false;
        solve_small(slot, {});
        return;
    }
    // The smaller side decides how the final values are computed, so that they depend on the support alone.
    if (2 * large_.support().size() > width_) {
        is_large_[slot] = false;
        solve_small(slot, positive_entries());
        return;
    }
    const double* primal = large_.gradient();
    double* weights = weights_.data() + slot * width_;
    double total = 0.0;
    for (std::size_t j = 0; j < width_; ++j) weights[j] = std::max(primal[j], 0.0);
    for (const std::int32_t index : large_.support()) weights[index] = 0.0;
    for (std::size_t j = 0; j < width_; ++j) total += weights[j];
    for (std::size_t j = 0; j < width_; ++j) weights[j] /= total;
}

// The support that the dual path ended with: all but the zeroed entries and those at zero by rounding.
std::span<const std::int32_t> RowWorker::positive_entries() {
    const double* primal = large_.gradient();
    support_.clear();
    const auto zeroed = large_.support();
    std::size_t next = 0;
    for (std::size_t j = 0; j < width_; ++j) {
        const bool is_zeroed = next < zeroed.size() && zeroed[next] == static_cast<std::int32_t>(j);
        next += is_zeroed;
        if (!is_zeroed && primal[j] > 0.0) support_.push_back(static_cast<std::int32_t>(j));
    }
    return support_;
}

void RowWorker::check_large(std::size_t slot) {
    const double* weights = weights_.data() + slot * width_;
    const double* gradient = gradient_.data() + slot * width_;
    const double* row = linear(slot);
    SolvedRow& result = results_[slot];
    result.support.clear();
    result.values.clear();
    double level = 0.0, linear_part = 0.0;
    for (std::size_t j = 0; j < width_; ++j) {
        if (weights[j] == 0.0) continue;
        result.support.push_back(static_cast<std::int32_t>(j));
        result.values.push_back(weights[j]);
        level += weights[j] * gradient[j];
        linear_part += weights[j] * row[j];
    }
    result.quadratic = level - linear_part;
    const double accepted = std::min(tolerance_, kLargeAccuracy) * (largest_ + ranges_[slot]);
    if (!(residual(slot, gradient, level) <= accepted)) {
        const std::vector<std::int32_t> support = result.support;
        solve_small(slot, support);
    }
}

void RowWorker::solve_slowly(std::size_t slot) {
    SolvedRow& result = results_[slot];
    const double* row = linear(slot);
    CarefulRow careful = solve_carefully(form_.hessian, width_, row);
    std::vector<double> gradient(width_);
    loops.combine_rows(form_.hessian, width_, careful.support.data(), careful.support.size(), careful.values.data(),
                       row, gradient.data());
    double level = 0.0, linear_part = 0.0;
    for (std::size_t i = 0; i < careful.support.size(); ++i) {
        level += careful.values[i] * gradient[static_cast<std::size_t>(careful.support[i])];
        linear_part += careful.values[i] * row[careful.support[i]];
    }
    result.support = std::move(careful.support);
    result.values = std::move(careful.values);
    result.quadratic = level - linear_part;
    const bool reached = residual(slot, gradient.data(), level) <= allowance(slot);
    result.status = reached ? RowStatus::solved_carefully : RowStatus::tolerance_missed;
}

// Largest violation of: gradient = level on the support, gradient >= level off it, weights sum to one.
double RowWorker::residual(std::size_t slot, const double* gradient, double level) const {
    double worst = 0.0;
    for (std::size_t j = 0; j < width_; ++j) worst = std::max(worst, level - gradient[j]);
    const double total = std::accumulate(results_[slot].values.begin(), results_[slot].values.end(), 0.0);
    worst = std::max(worst, std::abs(total - 1.0) * largest_);
    for (const std::int32_t index : results_[slot].support) {
        worst = std::max(worst, std::abs(gradient[static_cast<std::size_t>(index)] - level));
    }
    // A NaN compares false with everything above; make it fail the caller's test instead of vanishing.
    return std::isnan(level) ? std::numeric_limits<double>::infinity() : worst;
}

}  // namespace kedge
