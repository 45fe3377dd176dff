#include "large_support.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kedge {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// Rounds of the whole block; what is not settled by then goes to the other path.
constexpr int kRounds = 24;
// Exchanges that may fail to reduce the violations before the active set takes the row.
constexpr int kPatience = 2;

}  // namespace

LargeSupportBlock::LargeSupportBlock(const QuadraticForm& form)
    : form_(form),
      width_(form.projected_inverse ? form.width : 0),
      active_set_(form.projected_inverse, width_, false, Entering::all),
      unconstrained_(kBlockRows * width_),
      weights_(kBlockRows * width_),
      side_(kTileRows * width_),
      multipliers_(width_) {
    exchanged_.reserve(width_);
}

void LargeSupportBlock::begin(const double* linear) {
    for (std::size_t slot = 0; slot < kBlockRows; slot += kTileRows) {
        loops.multiply_tile(linear + slot * width_, form_.projected_inverse, width_, -1.0, form_.centre, 0,
                            unconstrained_.data() + slot * width_);
    }
    std::fill(weights_.begin(), weights_.end(), 0.0);
    for (Row& row : rows_) row.state = State::absent;
}

bool LargeSupportBlock::add(std::size_t slot, const std::vector<std::int32_t>& start) {
    const double* unconstrained = unconstrained_.data() + slot * width_;
    auto& zeroed = rows_[slot].zeroed;
    zeroed.resize(width_ + 1);
    double largest = 1.0;
    std::size_t next = 0, taken = 0;
    for (std::size_t j = 0; j < width_; ++j) {
        const auto index = static_cast<std::int32_t>(j);
        const bool started = next < start.size() && start[next] == index;
        next += started;
        zeroed[taken] = index;
        taken += start.empty() ? unconstrained[j] < 0.0 : !started;
        largest = std::max(largest, std::abs(unconstrained[j]));
    }
    zeroed.resize(taken);
    if (2 * taken > width_) return false;
    rows_[slot].state = State::proposed;
    rows_[slot].tolerance = 4 * kEpsilon * largest;
    rows_[slot].fewest_violations = width_ + 1;
    rows_[slot].patience = kPatience;
    return true;
}

void LargeSupportBlock::solve() {
    for (int round = 0; round < kRounds; ++round) {
        std::array<std::size_t, kBlockRows> pending;
        std::size_t count = 0;
        for (std::size_t slot = 0; slot < kBlockRows; ++slot) {
            if (rows_[slot].state == State::proposed) pending[count++] = slot;
        }
        if (count == 0) return;
        for (std::size_t first = 0; first < count; first += kTileRows) {
            const std::span group(pending.data() + first, std::min(kTileRows, count - first));
            compute_multipliers(group);
            for (std::size_t lane = 0; lane < group.size(); ++lane) judge(group[lane], lane);
        }
    }
}

// Multipliers of up to kTileRows rows at once, one row per lane; shorter systems are padded with the identity.
void LargeSupportBlock::compute_multipliers(std::span<const std::size_t> group) {
    std::size_t count = 0;
    for (const std::size_t slot : group) count = std::max(count, rows_[slot].zeroed.size());
    packed_.resize(std::max(packed_.size(), kTileRows * count * (count + 1) / 2));
    for (std::size_t lane = 0; lane < kTileRows; ++lane) {
        double* target = packed_.data() + lane;
        std::size_t used = 0;
        if (lane < group.size()) {
            const auto& zeroed = rows_[group[lane]].zeroed;
            const double* unconstrained = unconstrained_.data() + group[lane] * width_;
            used = zeroed.size();
            for (std::size_t i = 0; i < used; ++i) {
                const double* source = form_.projected_inverse + static_cast<std::size_t>(zeroed[i]) * width_;
                for (std::size_t j = 0; j <= i; ++j, target += kTileRows) *target = source[zeroed[j]];
                side_[kTileRows * i + lane] = -unconstrained[zeroed[i]];
            }
        }
        for (std::size_t i = used; i < count; ++i) {
            for (std::size_t j = 0; j <= i; ++j, target += kTileRows) *target = i == j ? 1.0 : 0.0;
            side_[kTileRows * i + lane] = 0.0;
        }
    }
    loops.solve_tile(packed_.data(), side_.data(), count);
}

// Accepts N if its multipliers are nonnegative and no other entry is negative; else N changes.
void LargeSupportBlock::judge(std::size_t slot, std::size_t lane) {
    Row& row = rows_[slot];
    double* weights = weights_.data() + slot * width_;
    std::size_t violations = 0;
    for (std::size_t i = 0; i < row.zeroed.size(); ++i) {
        multipliers_[i] = side_[kTileRows * i + lane];
        violations += !(multipliers_[i] >= 0.0);
    }
    loops.combine_rows(form_.projected_inverse, width_, row.zeroed.data(), row.zeroed.size(), multipliers_.data(),
                       unconstrained_.data() + slot * width_, weights);
    for (const std::int32_t index : row.zeroed) weights[index] = 0.0;
    for (std::size_t j = 0; j < width_; ++j) violations += !(weights[j] >= -row.tolerance);
    if (violations == 0) {
        accept(slot);
    } else {
        exchange(slot, violations);
    }
}

void LargeSupportBlock::exchange(std::size_t slot, std::size_t violations) {
    Row& row = rows_[slot];
    double* weights = weights_.data() + slot * width_;
    exchanged_.clear();
    std::size_t next = 0;
    for (std::size_t j = 0; j < width_; ++j) {
        const auto index = static_cast<std::int32_t>(j);
        const bool zeroed = next < row.zeroed.size() && row.zeroed[next] == index;
        const bool stays = zeroed ? multipliers_[next] >= 0.0 : !(weights[j] >= -row.tolerance);
        next += zeroed;
        if (stays) exchanged_.push_back(index);
        weights[j] = 0.0;
    }
    row.zeroed.swap(exchanged_);
    if (violations < row.fewest_violations) {
        row.fewest_violations = violations;
        row.patience = kPatience;
    } else if (row.patience-- == 0) {
        search(slot);
    }
    if (2 * row.zeroed.size() > width_) row.state = State::failed;  // a small support after all
}

void LargeSupportBlock::search(std::size_t slot) {
    Row& row = rows_[slot];
    if (!active_set_.minimise(unconstrained_.data() + slot * width_, row.zeroed, row.tolerance)) {
        row.state = State::failed;
        return;
    }
    const auto found = active_set_.support();
    row.zeroed.assign(found.begin(), found.end());
    std::sort(row.zeroed.begin(), row.zeroed.end());
    row.fewest_violations = width_ + 1;
    row.patience = kPatience;
}

void LargeSupportBlock::accept(std::size_t slot) {
    double* weights = weights_.data() + slot * width_;
    const double noise = std::max(kNoise, rows_[slot].tolerance);
    double total = 0.0;
    for (std::size_t j = 0; j < width_; ++j) {
        weights[j] = weights[j] > noise ? weights[j] : 0.0;
        total += weights[j];
    }
    const double scale = 1.0 / total;
    for (std::size_t j = 0; j < width_; ++j) weights[j] *= scale;
    rows_[slot].state = State::finished;
}

}  // namespace kedge
