// The few smallest entries of every row of a matrix, the nearest anchors of rows, and the weights on them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kedge {

// Fills `columns` and `smallest` (rows x count each, output) with the columns and values of the `count` smallest
// entries of every row of `values` (rows x width, input), ascending; of equal ones the lower column comes first.
// `count` is at most `width`.
template <class T>
void smallest_columns(const T* values, std::size_t rows, std::size_t width, std::size_t count, std::int32_t* columns,
                      T* smallest);

// Fills `joined` and `weights` (rows x count each, output) with the columns of all but the last of each row's
// `count` + 1 smallest entries, sorted by column, and weights that sum to one: the difference to the last entry over
// the sum of these differences, or equal weights if that is zero. `columns` and `smallest` (inputs) are what
// smallest_columns found. Returns the sum over all rows of weight times entry.
template <class T>
double join_weights(const std::int32_t* columns, const T* smallest, std::size_t rows, std::size_t count,
                    std::int32_t* joined, T* weights);

}  // namespace kedge
