// The primal path for rows with few weights: systems on the supports, several rows at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dense_loops.hpp"
#include "simplex_row_solver.hpp"

namespace kedge {

// Rounds of exchange: weights that come out negative leave the support of a row, else the entries of lowest gradient
// join it. Nothing keeps such rounds from going in circles, so a row that takes too many, or whose support grows large,
// is given up: the active set then goes on from the support reached so far.
class SmallSupportTile {
   public:
    explicit SmallSupportTile(const QuadraticForm& form);

    // Takes a row, whose linear term has minimum zero; an empty `start` begins at the best vertices. `linear` must stay
    // until solve() has returned.
    void add(std::size_t lane, const double* linear, std::span<const std::int32_t> start);

    // Solves the rows that were added since the last call. Violations of the gradient up to `tolerance` are accepted.
    void solve(double tolerance);

    // Whether the row was settled. If not, only support() means anything: where to go on from.
    bool is_finished(std::size_t lane) const { return rows_[lane].state == State::finished; }
    std::span<const std::int32_t> support(std::size_t lane) const { return rows_[lane].support; }
    // Weights, one per entry of the support.
    const double* values(std::size_t lane) const { return rows_[lane].values.data(); }
    // The gradient at them, every entry.
    const double* gradient(std::size_t lane) const { return gradient_.data() + lane * width_; }

   private:
    enum class State : std::uint8_t { absent, open, finished };

    struct Row {
        State state = State::absent;
        const double* linear = nullptr;
        std::vector<std::int32_t> support;
        std::vector<double> values;
        // The unknown of the shared system that each entry of the support is; shorter while entries wait to be placed.
        std::vector<std::size_t> unknowns;
    };

    void seed(Row& row);
    void take_lowest(Row& row, std::size_t wanted, double bound);
    void clear_system();
    void place_entries();
    bool drop_negative(Row& row);
    bool admit_lowest(std::size_t lane, double bound);

    QuadraticForm form_;
    std::size_t width_;
    std::size_t count_ = 0, factored_ = 0;  // Unknowns of the shared system, and those whose rows are factored.
    std::vector<double> half_diagonal_, candidates_, gradient_, packed_, side_, ones_, weights_;
    std::array<Row, kTileRows> rows_;
};

}  // namespace kedge
