// The few smallest entries of every row of a matrix: the nearest anchors of rows.
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

}  // namespace kedge
