// Rounds of k-means over many centres: the nearest centre of every row, found among those that lower bounds leave, and
// the sums of the rows of every centre.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kedge {

// Finds the nearest centre of every row; of equally near ones the lowest. `bounds` (rows x centres, input) holds lower
// bounds of the squared distances: a centre whose bound exceeds the distance to another one is never looked at.
// `labels` (input and output) holds a guess per row, below zero for none, then the nearest centre. `squares` (output)
// has the squared distance to it. `rows` (rows x width) and `centers` (centres x width) are row-major.
void nearest_centers(const float* rows, std::size_t n_rows, const float* centers, std::size_t n_centers,
                     std::size_t width, const float* bounds, std::int32_t* labels, float* squares);

// Takes every row whose label changed out of the sum of its old centre (none if below zero) and into that of its new
// one, in the columns [first, last) only, so that threads can share the columns. `sums` is centres x width.
void move_rows_between_sums(const float* rows, std::size_t n_rows, std::size_t width, const std::int32_t* before,
                            const std::int32_t* after, std::size_t first, std::size_t last, double* sums);

}  // namespace kedge
