#include "small_support.hpp"

#include <algorithm>
#include <limits>

#include "active_set.hpp"

namespace kedge {

namespace {

// Entries that a support without a start begins with: the best vertices are nearly always in it.
constexpr std::size_t kFirstEntries = 3;
// Entries of the support per newcomer: one at a time prices too often, doubling lets in too many that must leave again.
constexpr std::size_t kPerNewcomer = 2;
// Rounds, and entries of its support, beyond which a row goes to the active set, which keeps its factors.
constexpr int kRounds = 16;
constexpr std::size_t kMostEntries = 24;
// Unknowns of a system, room for newcomers and for padding included.
constexpr std::size_t kMostUnknowns = 2 * kMostEntries;
// What is no candidate.
constexpr double kNone = std::numeric_limits<double>::infinity();

}  // namespace

SmallSupportTile::SmallSupportTile(const QuadraticForm& form)
    : form_(form),
      width_(form.width),
      half_diagonal_(width_),
      candidates_(width_),
      gradient_(kTileRows * width_),
      packed_(kTileRows * kMostUnknowns * (kMostUnknowns + 1) / 2),
      side_(kTileRows * kMostUnknowns),
      ones_(kTileRows * kMostUnknowns),
      weights_(kTileRows * kMostUnknowns) {
    for (std::size_t j = 0; j < width_; ++j) half_diagonal_[j] = 0.5 * form.hessian[j * width_ + j];
}

void SmallSupportTile::add(std::size_t lane, const double* linear, std::span<const std::int32_t> start) {
    Row& row = rows_[lane];
    row.linear = linear;
    row.support.assign(start.begin(), start.end());
    if (start.empty()) seed(row);
    row.state = row.support.size() <= kMostEntries ? State::open : State::absent;
}

void SmallSupportTile::seed(Row& row) {
    for (std::size_t j = 0; j < width_; ++j) candidates_[j] = half_diagonal_[j] + row.linear[j];
    take_lowest(row, std::min(kFirstEntries, width_), kNone);
}

// Moves the lowest candidates into the support, as many as wanted, as long as they are below the bound.
void SmallSupportTile::take_lowest(Row& row, std::size_t wanted, double bound) {
    for (std::size_t taken = 0; taken < wanted; ++taken) {
        const std::size_t lowest = loops.lowest_place(candidates_.data(), width_);
        if (!(candidates_[lowest] < bound)) return;
        candidates_[lowest] = kNone;
        row.support.push_back(static_cast<std::int32_t>(lowest));
    }
}

void SmallSupportTile::solve(double tolerance) {
    bool is_open = true, has_dropped = true;
    std::array<double, kTileRows> multipliers{};
    for (int round = 0; is_open && round < kRounds; ++round) {
        if (has_dropped) clear_system();
        place_entries();
        loops.solve_simplex_tile(packed_.data(), side_.data(), ones_.data(), factored_, count_, weights_.data(),
                                 multipliers.data());
        factored_ = count_;
        is_open = has_dropped = false;
        for (std::size_t lane = 0; lane < kTileRows; ++lane) {
            Row& row = rows_[lane];
            if (row.state != State::open) continue;
            row.values.resize(row.support.size());
            for (std::size_t i = 0; i < row.support.size(); ++i) {
                row.values[i] = weights_[kTileRows * row.unknowns[i] + lane];
            }
            const bool dropped = drop_negative(row);
            if (!dropped && !admit_lowest(lane, multipliers[lane] - tolerance)) {
                row.state = State::finished;
            } else if (row.support.size() > kMostEntries) {
                row.state = State::absent;
            } else {
                is_open = true;
                has_dropped = has_dropped || dropped;
            }
        }
    }
    for (Row& row : rows_) {
        if (row.state == State::open) row.state = State::absent;
    }
}

void SmallSupportTile::clear_system() {
    count_ = factored_ = 0;
    for (Row& row : rows_) row.unknowns.clear();
}

// Makes every entry of the open rows that is not yet an unknown of the shared system one. Rows with fewer entries are
// padded with unknowns of their own that nothing depends on.
void SmallSupportTile::place_entries() {
    const auto count_waiting = [this] {
        std::size_t most = 0;
        for (const Row& row : rows_) {
            if (row.state == State::open) most = std::max(most, row.support.size() - row.unknowns.size());
        }
        return most;
    };
    // Without its padding the system is as large as the largest support.
    if (count_ + count_waiting() > kMostUnknowns) clear_system();
    const std::size_t end = count_ + count_waiting();
    const auto fill = [](std::vector<double>& values, std::size_t first, std::size_t last, double value) {
        std::fill(values.begin() + static_cast<std::ptrdiff_t>(kTileRows * first),
                  values.begin() + static_cast<std::ptrdiff_t>(kTileRows * last), value);
    };
    fill(packed_, count_ * (count_ + 1) / 2, end * (end + 1) / 2, 0.0);
    fill(side_, count_, end, 0.0);
    fill(ones_, count_, end, 0.0);
    for (std::size_t unknown = count_; unknown < end; ++unknown) {
        double* diagonal = packed_.data() + kTileRows * (unknown * (unknown + 3) / 2);
        for (std::size_t lane = 0; lane < kTileRows; ++lane) diagonal[lane] = 1.0;
    }
    for (std::size_t lane = 0; lane < kTileRows; ++lane) {
        Row& row = rows_[lane];
        if (row.state != State::open) continue;
        for (std::size_t unknown = count_; row.unknowns.size() < row.support.size(); ++unknown) {
            const std::int32_t index = row.support[row.unknowns.size()];
            const double* source = form_.hessian + static_cast<std::size_t>(index) * width_;
            double* target = packed_.data() + 2 * unknown * (unknown + 1) + lane;
            row.unknowns.push_back(unknown);
            for (std::size_t i = 0; i < row.unknowns.size(); ++i) {
                target[kTileRows * row.unknowns[i]] = source[row.support[i]];
            }
            side_[kTileRows * unknown + lane] = row.linear[index];
            ones_[kTileRows * unknown + lane] = 1.0;
        }
    }
    count_ = end;
}

// A NaN, which a dependent support leaves, counts as negative; the support never becomes empty.
bool SmallSupportTile::drop_negative(Row& row) {
    const std::size_t count = row.support.size();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
        row.support[kept] = row.support[i];
        kept += row.values[i] > kNoise;
    }
    if (kept == count) return false;
    row.support.resize(std::max(kept, std::size_t{1}));
    return true;
}

// Computes the gradient, and lets the entries that are lowest below the bound join the support.
bool SmallSupportTile::admit_lowest(std::size_t lane, double bound) {
    Row& row = rows_[lane];
    double* gradient = gradient_.data() + lane * width_;
    const std::size_t count = row.support.size();
    loops.combine_rows(form_.hessian, width_, row.support.data(), count, row.values.data(), row.linear, gradient);
    std::copy(gradient, gradient + width_, candidates_.begin());
    for (const std::int32_t index : row.support) candidates_[static_cast<std::size_t>(index)] = kNone;
    take_lowest(row, std::max(count / kPerNewcomer, std::size_t{1}), bound);
    return row.support.size() > count;
}

}  // namespace kedge
