#include "active_set.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "dense_loops.hpp"

namespace kedge {

namespace {

// Entries of the support per newcomer: one at a time prices too often, doubling lets in too many that must leave again.
constexpr std::size_t kPerNewcomer = 2;

// Entries that a support without a start begins with.
constexpr std::size_t kFirstEntries = 3;

// More newcomers than this make the short list long and are mostly sent away again.
constexpr std::size_t kMostAtOnce = 32;

// Largest deviation of the sum from one that is left as it is.
constexpr double kSumDeviation = 1e-14;

}  // namespace

ActiveSet::ActiveSet(const double* matrix, std::size_t width, bool sum_to_one, Entering entering)
    : matrix_(matrix),
      width_(width),
      sum_to_one_(sum_to_one),
      entering_(entering),
      factor_(matrix, width, sum_to_one),
      values_(width),
      candidate_(width),
      gradient_(width),
      keep_(width),
      refused_(width, 0),
      largest_support_(width) {
    violated_.reserve(width);
}

bool ActiveSet::minimise(const double* linear, std::span<const std::int32_t> start, double tolerance) {
    linear_ = linear;
    factor_.begin_row(linear);
    seed(start);
    settle();
    price();
    // Refining the values can shift them by rounding and so uncover a violation or push an entry below zero; a few
    // looks suffice, and the caller judges what is returned.
    for (int attempt = 0; attempt < 6; ++attempt) {
        if (!grow(tolerance)) return false;
        if (!sum_to_one_) return true;  // the caller computes the values anew
        if (polish(tolerance)) return true;
    }
    return true;
}

void ActiveSet::seed(std::span<const std::int32_t> start) {
    if (any_refused_) {
        std::fill(refused_.begin(), refused_.end(), std::uint8_t{0});
        any_refused_ = false;
    }
    for (const std::int32_t index : start) factor_.append(index);
    if (!sum_to_one_ || factor_.size() > 0) return;
    // The vertices of lowest objective: they are nearly always in the support, and each saves a round of growing.
    std::array<std::size_t, kFirstEntries> best{};
    std::array<double, kFirstEntries> lowest{};
    std::size_t found = 0;
    for (std::size_t j = 0; j < width_; ++j) {
        const double value = 0.5 * matrix_[j * width_ + j] + linear_[j];
        if (found == kFirstEntries && !(value < lowest[found - 1])) continue;
        std::size_t place = found < kFirstEntries ? found++ : found - 1;
        for (; place > 0 && value < lowest[place - 1]; --place) {
            lowest[place] = lowest[place - 1];
            best[place] = best[place - 1];
        }
        lowest[place] = value;
        best[place] = j;
    }
    for (std::size_t i = 0; i < found; ++i) factor_.append(static_cast<std::int32_t>(best[i]));
}

// Shrinks the support until the minimiser on it is positive throughout. Ends, because each round removes entries
// and a single entry has value 1 (or the support is empty, where no sum is asked for).
void ActiveSet::settle() {
    const double floor = sum_to_one_ ? kNoise : 0.0;
    for (;;) {
        const std::size_t count = factor_.size();
        multiplier_ = factor_.solve(values_.data());
        bool positive = true;
        for (std::size_t i = 0; i < count; ++i) {
            keep_[i] = values_[i] > floor;
            positive = positive && keep_[i];
        }
        if (positive) return;
        factor_.retain({keep_.data(), count});
    }
}

void ActiveSet::price() {
    loops.combine_rows(matrix_, width_, factor_.support().data(), factor_.size(), values_.data(), linear_,
                       gradient_.data());
}

// Whether the gradient is level on the support and the values sum to one, as far as rounding lets one see.
// Leaves the gradient on the support in candidate_.
bool ActiveSet::is_accurate(double tolerance) {
    const auto support = factor_.support();
    if (support.empty()) return true;
    double lowest = gradient_[static_cast<std::size_t>(support[0])], highest = lowest, total = 0.0;
    for (std::size_t i = 0; i < support.size(); ++i) {
        candidate_[i] = gradient_[static_cast<std::size_t>(support[i])];
        lowest = std::min(lowest, candidate_[i]);
        highest = std::max(highest, candidate_[i]);
        total += values_[i];
    }
    return highest - lowest <= tolerance && std::abs(total - 1.0) <= kSumDeviation;
}

// Two large vectors cancel in the solve when the matrix is ill-conditioned; a refinement step or two repair it.
// False: that took an entry to zero or below, and the support had to change.
bool ActiveSet::polish(double tolerance) {
    for (int step = 0; step < 2 && !is_accurate(tolerance); ++step) {
        double missing = 1.0;
        for (std::size_t i = 0; i < factor_.size(); ++i) missing -= values_[i];
        factor_.refine(candidate_.data(), missing, values_.data());
        price();
    }
    const std::size_t count = factor_.size();
    bool positive = true;
    for (std::size_t i = 0; i < count; ++i) {
        keep_[i] = values_[i] > 0.0;
        positive = positive && keep_[i];
    }
    if (positive) return true;
    factor_.retain({keep_.data(), count});
    settle();
    price();
    return false;
}

// Lawson-Hanson rounds with several entries at a time. Every accepted step lowers the objective, so no support
// returns; entries that a step refuses are set aside until the next accepted step.
bool ActiveSet::grow(double tolerance) {
    const std::size_t max_rounds = 100 + 10 * width_;
    bool one_at_a_time = false;
    for (std::size_t round = 0; round < max_rounds; ++round) {
        const std::size_t before = factor_.size();
        if (enter_violated(tolerance, one_at_a_time) == 0) return true;
        if (factor_.size() > largest_support_) return false;
        if (factor_.size() == before) continue;
        if (absorb(before)) {
            one_at_a_time = false;
            if (any_refused_) std::fill(refused_.begin(), refused_.end(), std::uint8_t{0});
            any_refused_ = false;
            price();
        } else {
            if (one_at_a_time) {
                refused_[static_cast<std::size_t>(violated_.front())] = 1;
                any_refused_ = true;
            }
            one_at_a_time = true;
        }
    }
    return false;
}

// Appends the most violated entries and returns how many were picked.
std::size_t ActiveSet::enter_violated(double tolerance, bool one_at_a_time) {
    std::size_t wanted =
        entering_ == Entering::all ? width_ : std::clamp(factor_.size() / kPerNewcomer, std::size_t{1}, kMostAtOnce);
    if (one_at_a_time) wanted = 1;
    pick_violated(multiplier_ - tolerance, wanted);
    std::sort(violated_.begin(), violated_.end());
    for (const std::int32_t index : violated_) {
        if (!factor_.append(index)) {
            refused_[static_cast<std::size_t>(index)] = 1;
            any_refused_ = true;
        }
    }
    return violated_.size();
}

// The `wanted` entries of lowest gradient below `bound`, by insertion into a short sorted list: once it is full, nearly
// every entry fails the first comparison. Ties go to the lower index.
void ActiveSet::pick_violated(double bound, std::size_t wanted) {
    violated_.clear();
    for (std::size_t j = 0; j < width_; ++j) {
        const double value = gradient_[j];
        if (!(value < bound) || refused_[j] || factor_.contains(static_cast<std::int32_t>(j))) continue;
        std::size_t place = violated_.size();
        if (place == wanted) --place;
        if (place == violated_.size()) violated_.push_back(0);
        if (wanted < width_) {
            for (; place > 0 && value < gradient_[static_cast<std::size_t>(violated_[place - 1])]; --place) {
                violated_[place] = violated_[place - 1];
            }
        }
        violated_[place] = static_cast<std::int32_t>(j);
        if (violated_.size() == wanted) bound = gradient_[static_cast<std::size_t>(violated_.back())];
    }
}

// Moves to the minimiser on the enlarged support. False: every newcomer was refused and nothing has changed.
bool ActiveSet::absorb(std::size_t first_new) {
    if (!drop_unwanted_newcomers(first_new)) return false;
    std::fill(values_.begin() + static_cast<std::ptrdiff_t>(first_new),
              values_.begin() + static_cast<std::ptrdiff_t>(factor_.size()), 0.0);
    for (;;) {
        const std::size_t count = factor_.size();
        const bool positive = std::all_of(candidate_.begin(), candidate_.begin() + static_cast<std::ptrdiff_t>(count),
                                          [](double value) { return value > 0.0; });
        if (positive) break;
        step_to_boundary();
        multiplier_ = factor_.solve(candidate_.data());
    }
    std::swap(values_, candidate_);
    return true;
}

// A newcomer starts at zero, so one that the solution wants negative would block the step at length zero.
bool ActiveSet::drop_unwanted_newcomers(std::size_t first_new) {
    const double multiplier_before = multiplier_;
    for (;;) {
        const std::size_t count = factor_.size();
        if (count == first_new) {
            multiplier_ = multiplier_before;
            return false;
        }
        multiplier_ = factor_.solve(candidate_.data());
        bool all_wanted = true;
        for (std::size_t i = 0; i < count; ++i) {
            keep_[i] = i < first_new || candidate_[i] > 0.0;
            all_wanted = all_wanted && keep_[i];
        }
        if (all_wanted) return true;
        factor_.retain({keep_.data(), count});
    }
}

// Goes from values_ towards candidate_ as far as all entries stay nonnegative and drops the entries that reach zero.
void ActiveSet::step_to_boundary() {
    const std::size_t count = factor_.size();
    double length = 1.0;
    std::size_t blocking = count;
    for (std::size_t i = 0; i < count; ++i) {
        if (candidate_[i] > 0.0) continue;
        const double reach = values_[i] > 0.0 ? values_[i] / (values_[i] - candidate_[i]) : 0.0;
        if (blocking == count || reach < length) {
            length = reach;
            blocking = i;
        }
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double moved = values_[i] + length * (candidate_[i] - values_[i]);
        // The blocking entry leaves whatever rounding made of it, so every step shortens the support.
        keep_[i] = i != blocking && (candidate_[i] > 0.0 || moved > 0.0);
        if (keep_[i]) values_[kept++] = moved;
    }
    factor_.retain({keep_.data(), count});
}

}  // namespace kedge
