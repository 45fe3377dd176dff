// Random draws that give the same problems with every standard library, which std::*_distribution does not promise.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>

namespace random_problems {

// Every problem has dice of its own, so that any problem can be run again without those before it.
class Dice {
   public:
    Dice(std::uint64_t seed, std::uint64_t problem) {
        std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                               static_cast<std::uint32_t>(problem), static_cast<std::uint32_t>(problem >> 32)};
        engine_.seed(sequence);
    }

    // Both ends included.
    std::size_t between(std::size_t lowest, std::size_t highest) {
        return lowest + static_cast<std::size_t>(engine_() % (highest - lowest + 1));
    }

    std::size_t below(std::size_t count) { return between(0, count - 1); }

    double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

    bool chance(double probability) { return unit() < probability; }

    double normal() {
        const double radius = std::sqrt(-2.0 * std::log(1.0 - unit()));
        return radius * std::cos(2.0 * std::numbers::pi * unit());
    }

    // 10^x for x uniform between the two exponents.
    double decade(double lowest, double highest) { return std::pow(10.0, lowest + (highest - lowest) * unit()); }

   private:
    std::mt19937_64 engine_;
};

}  // namespace random_problems
