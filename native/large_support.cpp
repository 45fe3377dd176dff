#include "large_support.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kedge {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// Searches per row before the other path is asked; the second and third only mend rounding.
constexpr int kRounds = 4;
constexpr EntryRule kEverythingEnters{0, true};

}  // namespace

LargeSupportTile::LargeSupportTile(const QuadraticForm& form)
    : form_(form),
      width_(form.projected_inverse ? form.width : 0),
      active_set_(form.projected_inverse, width_, false, kEverythingEnters),
      unconstrained_(kTileRows * width_),
      weights_(kTileRows * width_),
      side_(kTileRows * width_),
      multipliers_(width_) {}

void LargeSupportTile::begin(const double* linear) {
    loops.multiply_tile(linear, form_.projected_inverse, width_, -1.0, form_.centre, 0, unconstrained_.data());
    std::fill(weights_.begin(), weights_.end(), 0.0);
    state_.fill(State::absent);
}

bool LargeSupportTile::add(std::size_t slot, const std::vector<std::int32_t>& start) {
    const double* row = unconstrained_.data() + slot * width_;
    auto& zeroed = zeroed_[slot];
    zeroed.resize(width_ + 1);
    double largest = 1.0;
    std::size_t next = 0, taken = 0;
    for (std::size_t j = 0; j < width_; ++j) {
        const auto index = static_cast<std::int32_t>(j);
        const bool started = next < start.size() && start[next] == index;
        next += started;
        zeroed[taken] = index;
        taken += start.empty() ? row[j] < 0.0 : !started;
        largest = std::max(largest, std::abs(row[j]));
    }
    zeroed.resize(taken);
    if (2 * zeroed.size() > width_) return false;
    tolerance_[slot] = 4 * kEpsilon * largest;
    // A start is tried as it is: after a small change it is right for most rows.
    state_[slot] = start.empty() ? State::searching : State::proposed;
    return true;
}

void LargeSupportTile::solve() {
    for (int round = 0; round < kRounds; ++round) {
        bool any_proposed = false;
        for (std::size_t slot = 0; slot < kTileRows; ++slot) {
            if (state_[slot] == State::searching) search(slot);
            any_proposed = any_proposed || state_[slot] == State::proposed;
        }
        if (!any_proposed) return;
        compute_values();
        for (std::size_t slot = 0; slot < kTileRows; ++slot) {
            if (state_[slot] == State::proposed) judge(slot);
        }
    }
}

void LargeSupportTile::search(std::size_t slot) {
    auto& zeroed = zeroed_[slot];
    if (!active_set_.minimise(unconstrained_.data() + slot * width_, zeroed, tolerance_[slot])) {
        state_[slot] = State::failed;
        return;
    }
    const auto found = active_set_.support();
    zeroed.assign(found.begin(), found.end());
    std::sort(zeroed.begin(), zeroed.end());
    state_[slot] = State::proposed;
}

// Multipliers of all proposed rows at once; shorter systems are padded with rows of the identity.
void LargeSupportTile::compute_values() {
    std::size_t count = 0;
    for (std::size_t slot = 0; slot < kTileRows; ++slot) {
        if (state_[slot] == State::proposed) count = std::max(count, zeroed_[slot].size());
    }
    packed_.resize(std::max(packed_.size(), kTileRows * count * (count + 1) / 2));
    for (std::size_t slot = 0; slot < kTileRows; ++slot) {
        const auto& zeroed = zeroed_[slot];
        const std::size_t used = state_[slot] == State::proposed ? zeroed.size() : 0;
        const double* row = unconstrained_.data() + slot * width_;
        double* target = packed_.data() + slot;
        for (std::size_t i = 0; i < used; ++i) {
            const double* source = form_.projected_inverse + static_cast<std::size_t>(zeroed[i]) * width_;
            for (std::size_t j = 0; j <= i; ++j, target += kTileRows) *target = source[zeroed[j]];
            side_[kTileRows * i + slot] = -row[zeroed[i]];
        }
        for (std::size_t i = used; i < count; ++i) {
            for (std::size_t j = 0; j <= i; ++j, target += kTileRows) *target = i == j ? 1.0 : 0.0;
            side_[kTileRows * i + slot] = 0.0;
        }
    }
    loops.solve_tile(packed_.data(), side_.data(), count);
}

// Accepts the proposed N if its multipliers are positive and no other entry is negative; else searches from there.
void LargeSupportTile::judge(std::size_t slot) {
    const auto& zeroed = zeroed_[slot];
    bool fits = true;
    for (std::size_t i = 0; i < zeroed.size(); ++i) {
        multipliers_[i] = side_[kTileRows * i + slot];
        fits = fits && multipliers_[i] >= 0.0;
    }
    double* weights = weights_.data() + slot * width_;
    if (fits) {
        loops.combine_rows(form_.projected_inverse, width_, zeroed.data(), zeroed.size(), multipliers_.data(),
                           unconstrained_.data() + slot * width_, weights);
        for (const std::int32_t index : zeroed) weights[index] = 0.0;
        const double lowest = *std::min_element(weights, weights + width_);
        fits = lowest >= -tolerance_[slot];
    }
    if (!fits) {
        std::fill(weights, weights + width_, 0.0);
        state_[slot] = State::searching;
        return;
    }
    double total = 0.0;
    for (std::size_t j = 0; j < width_; ++j) {
        weights[j] = std::max(weights[j], 0.0);
        total += weights[j];
    }
    for (std::size_t j = 0; j < width_; ++j) weights[j] /= total;
    state_[slot] = State::finished;
}

}  // namespace kedge
