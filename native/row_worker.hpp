// Solves blocks of rows: picks the start for each row, checks the result, falls back where it must.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "active_set.hpp"
#include "dense_loops.hpp"
#include "large_support.hpp"
#include "simplex_row_solver.hpp"
#include "small_support.hpp"

namespace kedge {

struct SolvedRow {
    std::vector<std::int32_t> support;  // ascending
    std::vector<double> values;
    double quadratic = 0.0;  // z'Hz
    RowStatus status = RowStatus::solved;
};

// One per thread: begin_block(), fill linear() and start() of each row, solve(), read result().
class RowWorker {
   public:
    // `should_stop` is asked between rows and, on the slow path, between pivots; true leaves rows unsolved.
    RowWorker(const QuadraticForm& form, double tolerance, std::function<bool()> should_stop);

    void begin_block();
    // The buffers for one row of the block, to be filled by the caller: linear term and start support (ascending).
    double* linear(std::size_t slot) { return linear_.data() + slot * width_; }
    std::vector<std::int32_t>& start(std::size_t slot) { return starts_[slot]; }
    void solve(std::size_t filled);
    const SolvedRow& result(std::size_t slot) const { return results_[slot]; }

   private:
    void shift_to_zero(std::size_t slot);
    bool prefers_large_support(std::size_t slot) const;
    void solve_large(std::size_t filled);
    void solve_small(std::size_t first, std::size_t count);
    void search(std::size_t slot, std::span<const std::int32_t> start);
    void keep(std::size_t slot, std::span<const std::int32_t> support, const double* values, const double* gradient,
              double& level);
    bool check_large(std::size_t slot);
    void solve_slowly(std::size_t slot);
    double accepted(std::size_t slot) const;
    double residual(std::size_t slot, const double* gradient, double level) const;
    bool is_optimal(std::size_t slot, const double* gradient, double level) const;

    QuadraticForm form_;
    std::size_t width_;
    double tolerance_, largest_;
    std::function<bool()> should_stop_;
    ActiveSet active_set_;
    SmallSupportTile small_;
    LargeSupportBlock large_;
    std::vector<double> linear_, gradient_;
    std::array<double, kBlockRows> magnitudes_{};
    std::array<bool, kBlockRows> is_large_{};
    std::array<std::vector<std::int32_t>, kBlockRows> starts_;
    std::array<SolvedRow, kBlockRows> results_;
};

}  // namespace kedge
