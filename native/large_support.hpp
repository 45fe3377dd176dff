// The dual path, for rows whose support is most of the anchors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "active_set.hpp"
#include "dense_loops.hpp"
#include "simplex_row_solver.hpp"

namespace kedge {

// With N the zeroed entries of a row, z = c + Q mu, where c solves the problem without z >= 0, Q is the projected
// inverse, and mu >= 0 lives on N: z >= 0 is the gradient of the dual problem in mu. N is small when the support is
// large. The active set finds N; the values are then computed for four rows at once and depend on N alone.
class LargeSupportTile {
   public:
    explicit LargeSupportTile(const QuadraticForm& form);

    // Solutions of the tile without sign constraints; `linear` is (kTileRows, width).
    void begin(const double* linear);

    // Takes a row into the tile. An empty `start` begins with the entries that are negative without constraints.
    // False: most entries would be zeroed, so the row belongs on the other path.
    bool add(std::size_t slot, const std::vector<std::int32_t>& start);

    // Solves the rows that were added and leaves their weights (kTileRows, width), zero for all other rows.
    void solve();

    const double* weights() const { return weights_.data(); }
    const double* weights(std::size_t slot) const { return weights_.data() + slot * width_; }
    // False: the row could not be finished here. True with a small support means the other path fits better.
    bool is_finished(std::size_t slot) const { return state_[slot] == State::finished; }

   private:
    enum class State : std::uint8_t { absent, searching, proposed, finished, failed };

    void search(std::size_t slot);
    void compute_values();
    void judge(std::size_t slot);

    QuadraticForm form_;
    std::size_t width_;
    ActiveSet active_set_;
    std::vector<double> unconstrained_, weights_, packed_, side_, multipliers_;
    std::array<double, kTileRows> tolerance_{};
    std::array<State, kTileRows> state_{};
    std::array<std::vector<std::int32_t>, kTileRows> zeroed_;
};

}  // namespace kedge
