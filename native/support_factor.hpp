// Cholesky factor of a matrix restricted to a changing support, with the right-hand sides carried along.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kedge {

// For the support S it keeps L with L L' = M_SS, L^-1 q_S and (with the sum constraint) L^-1 1, so that the
// minimiser of 1/2 x'Mx + q'x on S, subject to sum(x) = 1 if asked, costs one back-substitution.
class SupportFactor {
   public:
    SupportFactor(const double* matrix, std::size_t width, bool sum_to_one);

    void begin_row(const double* linear);

    // False, and nothing changes, when the new column depends numerically on the support.
    bool append(std::int32_t index) { return append_row(index, false); }

    // Takes out every position whose `keep` flag is 0.
    void retain(std::span<const std::uint8_t> keep);

    // Minimiser on the support into `values` (output); returns the multiplier of the sum (0 without it).
    double solve(double* values) const;

    // One step of iterative refinement under the sum constraint: `values` (input and output) move by the solution for
    // `gradient` (input, one entry per position of the support) that adds `missing` to their sum.
    void refine(const double* gradient, double missing, double* values);

    std::span<const std::int32_t> support() const { return support_; }
    std::size_t size() const { return support_.size(); }
    bool contains(std::int32_t index) const { return member_[static_cast<std::size_t>(index)] != 0; }

   private:
    // `forced` floors the pivot: a column that fitted before must not be lost when others leave or change places.
    bool append_row(std::int32_t index, bool forced);
    void remove_one(std::size_t position);
    void truncate(std::size_t count);
    void reserve_rows(std::size_t count);

    const double* matrix_;
    std::size_t width_;
    bool sum_to_one_;
    const double* linear_ = nullptr;
    std::vector<std::int32_t> support_;
    std::vector<std::int32_t> displaced_;
    std::vector<std::uint8_t> member_;
    std::vector<double> packed_;
    std::vector<double> inverse_diagonal_, solved_linear_, solved_ones_;
    std::vector<double> cosines_, sines_, correction_;
};

}  // namespace kedge
