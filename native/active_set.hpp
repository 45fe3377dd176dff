// Active-set minimisation of 1/2 x'Mx + q'x over x >= 0, with or without sum(x) = 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support_factor.hpp"

namespace kedge {

// With sum(x) = 1 an entry this small is rounding noise of a solve; keeping it would hide an exact zero.
inline constexpr double kNoise = 1e-15;

// How many violated entries enter the support at once: one for every three that are there (at least one), or all.
enum class Entering : std::uint8_t { few, all };

class ActiveSet {
   public:
    ActiveSet(const double* matrix, std::size_t width, bool sum_to_one, Entering entering);

    // Supports beyond this many entries end the search; minimise() then returns false.
    void set_largest_support(std::size_t count) { largest_support_ = count; }

    // Minimises from the given support. `tolerance` is absolute, on the gradient. False: the bound on rounds or on the
    // support was hit.
    bool minimise(const double* linear, std::span<const std::int32_t> start, double tolerance);

    // Results of the last call, valid until the next. values() matches support(); gradient() has every entry.
    std::span<const std::int32_t> support() const { return factor_.support(); }
    const double* values() const { return values_.data(); }
    const double* gradient() const { return gradient_.data(); }
    double multiplier() const { return multiplier_; }

   private:
    void seed(std::span<const std::int32_t> start);
    void settle();
    bool grow(double tolerance);
    void price();
    bool is_accurate(double tolerance);
    bool polish(double tolerance);
    std::size_t enter_violated(double tolerance, bool one_at_a_time);
    void pick_violated(double bound, std::size_t wanted);
    bool absorb(std::size_t first_new);
    bool drop_unwanted_newcomers(std::size_t first_new);
    void step_to_boundary();

    const double* matrix_;
    std::size_t width_;
    bool sum_to_one_;
    Entering entering_;
    const double* linear_ = nullptr;
    SupportFactor factor_;
    double multiplier_ = 0.0;
    std::vector<double> values_, candidate_, gradient_;
    std::vector<std::uint8_t> keep_, refused_;
    std::vector<std::int32_t> violated_;
    bool any_refused_ = false;
    std::size_t largest_support_;
};

}  // namespace kedge
