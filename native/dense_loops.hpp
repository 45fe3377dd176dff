// The few dense loops that take most of the time, compiled for several instruction sets and chosen at load time.
//
// A wheel must run on any machine of its platform, so nothing may be built with -march=native. The loops are compiled
// once for the platform's baseline and once for AVX2 with fused multiply-add, and the processor decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace kedge {

// Rows handled together by multiply_tile; callers pad the last tile with zeros so every row sees the same arithmetic.
inline constexpr std::size_t kTileRows = 4;

// Rows that a worker solves together.
inline constexpr std::size_t kBlockRows = 4 * kTileRows;

// Entries that scans look at together.
inline constexpr std::size_t kScanLanes = 32;

template <class T>
inline constexpr T kInfinite = std::numeric_limits<T>::infinity();

template <class T>
struct Scans {
    // The first place from `begin` on whose value is not above `limit` (a NaN is not), or `count`.
    std::size_t (*first_at_most)(const T* values, std::size_t begin, std::size_t count, T limit);

    // A value that at least `wanted` of the values do not exceed, and few others. `wanted` is at most kScanLanes, and
    // `count` at least that.
    T (*limit_of)(const T* values, std::size_t count, std::size_t wanted);

    // Writes the places of all values that are not above `limit`, ascending, and returns how many there are; `places`
    // has room for all.
    std::size_t (*places_at_most)(const T* values, std::size_t count, T limit, std::int32_t* places);
};

struct DenseLoops {
    // out = base + sum_k weights[k] * matrix[rows[k], :], `count` terms; out (output) and base have `width` entries.
    void (*combine_rows)(const double* matrix, std::size_t width, const std::int32_t* rows, std::size_t count,
                         const double* weights, const double* base, double* out);

    // out[r, :] = base[r, :] + sign * left[r, :] * right for kTileRows rows; `right` is (width, width), row-major.
    // `base_stride` is 0 when one base row serves all rows.
    void (*multiply_tile)(const double* left, const double* right, std::size_t width, double sign, const double* base,
                          std::size_t base_stride, double* out);

    // Solves kTileRows symmetric positive definite systems of `count` unknowns at once. Both arrays are interleaved
    // (entry e of system r at kTileRows * e + r): `packed` holds the lower triangles by rows (input, overwritten),
    // `side` the right-hand sides (input) and the solutions (output). A system that is not definite yields garbage.
    void (*solve_tile)(double* packed, double* side, std::size_t count);

    // Minimises 1/2 z'Az + f'z with sum(z) = 1 for kTileRows systems at once, laid out as for solve_tile. `side` holds
    // f and `ones` a one for every unknown that counts in the sum, a zero for padding (input); both come back solved
    // for L, like the rows of `packed`, and the first `first` rows of all three are so already: systems can grow.
    // `values` (output) is z, `multipliers` (output, one per system) the gradient at z, equal in all entries.
    void (*solve_simplex_tile)(double* packed, double* side, double* ones, std::size_t first, std::size_t count,
                               double* values, double* multipliers);

    // row <- solution of L row' = row for the packed lower triangle L of `count` rows (input and output: row).
    void (*forward_substitute)(const double* packed, const double* inverse_diagonal, std::size_t count, double* row);

    // values <- solution of L' values = values (input and output: values).
    void (*back_substitute)(const double* packed, const double* inverse_diagonal, std::size_t count, double* values);

    double (*dot)(const double* left, const double* right, std::size_t count);

    // The place of the lowest of at least one value, the first of equal ones.
    std::size_t (*lowest_place)(const double* values, std::size_t count);

    // The sum of squared differences; once that exceeds `limit`, any number between `limit` and it.
    float (*squared_distance)(const float* left, const float* right, std::size_t count, float limit);

    // The lowest of at least one value.
    float (*lowest)(const float* values, std::size_t count);

    Scans<float> floats;
    Scans<double> doubles;

    template <class T>
    const Scans<T>& scans() const {
        if constexpr (std::is_same_v<T, float>) {
            return floats;
        } else {
            return doubles;
        }
    }
};

// The best loops this processor can run.
extern const DenseLoops& loops;

// False where the compiler was told to optimise for size, as the binding generator does with sources of its own.
bool is_built_for_speed();

// Name of the instruction set in use: "baseline" or "avx2".
const char* instruction_set();

}  // namespace kedge
