#include "row_worker.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "careful_row.hpp"

namespace kedge {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// Entry tolerance in units of the largest entry of H. A missed violation of size d moves z by up to d / lambda_min,
// so it sits just above the rounding of one gradient rather than at the caller's tolerance.
constexpr double kEntryTolerance = 16 * kEpsilon;

// Weights that miss their sum by more are not a solution, whatever their gradient.
constexpr double kSumError = 1e-13;

// The fast paths lose digits where H is ill-conditioned. Past this residual the active set goes on from their support,
// and refines its solution.
constexpr double kAccuracy = 1e-12;

double largest_diagonal(const QuadraticForm& form) {
    double largest = 0.0;
    for (std::size_t j = 0; j < form.width; ++j) largest = std::max(largest, form.hessian[j * form.width + j]);
    return largest;
}

}  // namespace

RowWorker::RowWorker(const QuadraticForm& form, double tolerance, std::function<bool()> should_stop)
    : form_(form),
      width_(form.width),
      tolerance_(tolerance),
      largest_(largest_diagonal(form)),
      should_stop_(std::move(should_stop)),
      active_set_(form.hessian, form.width, true, Entering::few),
      small_(form),
      large_(form),
      linear_(kBlockRows * form.width),
      gradient_(form.projected_inverse ? kBlockRows * form.width : 0) {}

void RowWorker::begin_block() {
    // The dual path multiplies whole tiles, also where rows are missing.
    if (form_.projected_inverse != nullptr) std::fill(linear_.begin(), linear_.end(), 0.0);
    for (std::size_t slot = 0; slot < kBlockRows; ++slot) {
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
    if (any_large) solve_large(filled);
    for (std::size_t first = 0; first < filled && !should_stop_(); first += kTileRows) {
        solve_small(first, std::min(kTileRows, filled - first));
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
    // Never looser than max|f| of the row as it was given, nor than what is left after the shift.
    magnitudes_[slot] = std::min(highest - lowest, std::max(std::abs(lowest), std::abs(highest)));
}

bool RowWorker::prefers_large_support(std::size_t slot) const {
    if (form_.projected_inverse == nullptr) return false;
    return starts_[slot].empty() || 2 * starts_[slot].size() > width_;
}

namespace {

// Insertion: supports are short and nearly in order, since newcomers come in ascending order.
void sort_by_index(std::vector<std::int32_t>& support, std::vector<double>& values) {
    for (std::size_t i = 1; i < support.size(); ++i) {
        const std::int32_t index = support[i];
        const double value = values[i];
        std::size_t place = i;
        for (; place > 0 && support[place - 1] > index; --place) {
            support[place] = support[place - 1];
            values[place] = values[place - 1];
        }
        support[place] = index;
        values[place] = value;
    }
}

}  // namespace

void RowWorker::keep(std::size_t slot, std::span<const std::int32_t> support, const double* values,
                     const double* gradient, double& level) {
    SolvedRow& result = results_[slot];
    result.support.assign(support.begin(), support.end());
    result.values.assign(values, values + support.size());
    sort_by_index(result.support, result.values);
    const double* row = linear(slot);
    double linear_part = 0.0;
    level = 0.0;
    for (std::size_t i = 0; i < result.support.size(); ++i) {
        level += result.values[i] * gradient[result.support[i]];
        linear_part += result.values[i] * row[result.support[i]];
    }
    result.quadratic = level - linear_part;
}

void RowWorker::solve_small(std::size_t first, std::size_t count) {
    for (std::size_t lane = 0; lane < count; ++lane) {
        if (!is_large_[first + lane]) small_.add(lane, linear(first + lane), starts_[first + lane]);
    }
    small_.solve(kEntryTolerance * largest_);
    for (std::size_t lane = 0; lane < count; ++lane) {
        const std::size_t slot = first + lane;
        if (is_large_[slot]) continue;
        if (small_.is_finished(lane)) {
            double level = 0.0;
            keep(slot, small_.support(lane), small_.values(lane), small_.gradient(lane), level);
            if (residual(slot, small_.gradient(lane), level) <= accepted(slot)) continue;
        }
        search(slot, small_.support(lane));
    }
}

void RowWorker::search(std::size_t slot, std::span<const std::int32_t> start) {
    const bool finished = active_set_.minimise(linear(slot), start, kEntryTolerance * largest_);
    double level = 0.0;
    keep(slot, active_set_.support(), active_set_.values(), active_set_.gradient(), level);
    if (!finished || !is_optimal(slot, active_set_.gradient(), level)) solve_slowly(slot);
}

void RowWorker::solve_large(std::size_t filled) {
    large_.begin(linear_.data());
    for (std::size_t slot = 0; slot < filled; ++slot) {
        if (is_large_[slot]) is_large_[slot] = large_.add(slot, starts_[slot]);
    }
    large_.solve();
    for (std::size_t slot = 0; slot < filled; slot += kTileRows) {
        const std::size_t at = slot * width_;
        loops.multiply_tile(large_.weights(slot), form_.hessian, width_, 1.0, linear_.data() + at, width_,
                            gradient_.data() + at);
    }
    for (std::size_t slot = 0; slot < filled; ++slot) {
        if (is_large_[slot]) is_large_[slot] = large_.is_finished(slot) && check_large(slot);
    }
}

// Takes over the row if it is accurate and its support is large. Otherwise the other path starts from its support: the
// smaller side decides how the final values are computed.
bool RowWorker::check_large(std::size_t slot) {
    const double* weights = large_.weights(slot);
    const double* gradient = gradient_.data() + slot * width_;
    const double* row = linear(slot);
    SolvedRow& result = results_[slot];
    result.support.resize(width_ + 1);
    result.values.resize(width_ + 1);
    std::size_t taken = 0;
    double level = 0.0, linear_part = 0.0;
    for (std::size_t j = 0; j < width_; ++j) {
        result.support[taken] = static_cast<std::int32_t>(j);
        result.values[taken] = weights[j];
        taken += weights[j] > 0.0;
        level += weights[j] * gradient[j];
        linear_part += weights[j] * row[j];
    }
    result.support.resize(taken);
    result.values.resize(taken);
    result.quadratic = level - linear_part;
    if (2 * result.support.size() >= width_ && residual(slot, gradient, level) <= accepted(slot)) return true;
    starts_[slot] = result.support;
    return false;
}

// Largest residual at which a fast path is believed.
double RowWorker::accepted(std::size_t slot) const {
    return std::min(tolerance_, kAccuracy) * (largest_ + magnitudes_[slot]);
}

void RowWorker::solve_slowly(std::size_t slot) {
    SolvedRow& result = results_[slot];
    const double* row = linear(slot);
    CarefulRow careful = solve_carefully(form_.hessian, width_, row, should_stop_);
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
    const bool reached = is_optimal(slot, gradient.data(), level);
    result.status = reached ? RowStatus::solved_carefully : RowStatus::tolerance_missed;
}

bool RowWorker::is_optimal(std::size_t slot, const double* gradient, double level) const {
    const double allowance = tolerance_ * (largest_ + magnitudes_[slot]);
    return std::isfinite(allowance) && residual(slot, gradient, level) <= allowance;
}

// Largest violation of: gradient = level on the support, gradient >= level off it, weights sum to one.
double RowWorker::residual(std::size_t slot, const double* gradient, double level) const {
    double worst = 0.0;
    for (std::size_t j = 0; j < width_; ++j) worst = std::max(worst, level - gradient[j]);
    const double total = std::accumulate(results_[slot].values.begin(), results_[slot].values.end(), 0.0);
    if (!(std::abs(total - 1.0) <= kSumError)) return std::numeric_limits<double>::infinity();
    for (const std::int32_t index : results_[slot].support) {
        worst = std::max(worst, std::abs(gradient[static_cast<std::size_t>(index)] - level));
    }
    return worst;
}

}  // namespace kedge
