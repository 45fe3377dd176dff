// The dual path, for rows whose support is most of the anchors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "active_set.hpp"
#include "dense_loops.hpp"
#include "simplex_row_solver.hpp"

namespace kedge {

// With N the zeroed entries of a row, z = c + Q mu, where c solves the problem without z >= 0, Q is the projected
// inverse, and mu >= 0 lives on N: z >= 0 is the gradient of the dual problem in mu. N is small when the support is
// large. Rounds of exchange (negative multipliers leave N, negative weights join it) settle most rows, four rows at a
// time; a row whose violations stop shrinking goes to the active set, which cannot cycle.
class LargeSupportBlock {
   public:
    explicit LargeSupportBlock(const QuadraticForm& form);

    // Solutions of the block without sign constraints; `linear` is (kBlockRows, width).
    void begin(const double* linear);

    // Takes a row into the block. An empty `start` begins with the entries that are negative without constraints.
    // False: most entries would be zeroed, so the row belongs on the other path.
    bool add(std::size_t slot, const std::vector<std::int32_t>& start);

    // Solves the rows that were added and leaves their weights (kBlockRows, width), zero for all other rows.
    void solve();

    const double* weights(std::size_t slot) const { return weights_.data() + slot * width_; }
    bool is_finished(std::size_t slot) const { return rows_[slot].state == State::finished; }

   private:
    enum class State : std::uint8_t { absent, proposed, finished, failed };

    struct Row {
        State state = State::absent;
        double tolerance = 0.0;
        std::size_t fewest_violations = 0;
        int patience = 0;
        std::vector<std::int32_t> zeroed;  // ascending
    };

    void compute_multipliers(std::span<const std::size_t> group);
    void judge(std::size_t slot, std::size_t lane);
    void exchange(std::size_t slot, std::size_t violations);
    void search(std::size_t slot);
    void accept(std::size_t slot);

    QuadraticForm form_;
    std::size_t width_;
    ActiveSet active_set_;
    std::vector<double> unconstrained_, weights_, packed_, side_, multipliers_;
    std::vector<std::int32_t> exchanged_;
    std::array<Row, kBlockRows> rows_;
};

}  // namespace kedge
