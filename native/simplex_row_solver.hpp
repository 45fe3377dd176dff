// Batched minimisation of 1/2 z'Hz + f_i'z over the probability simplex, one H for all rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace kedge {

enum class RowStatus : std::int8_t {
    solved = 0,
    solved_carefully = 1,  // the fast path missed the tolerance, the slow path reached it
    tolerance_missed = 2,  // what the slow path ended with
    linear_not_finite = 3,
    start_not_finite = 4,
};

// What all rows share. The last two are for large supports and may be null: with P = H^-1 and u = P 1,
// projected_inverse = P - u u' / sum(u) and centre = u / sum(u).
struct QuadraticForm {
    const double* hessian;
    std::size_t width;
    const double* projected_inverse;
    const double* centre;
};

template <class T>
struct RowMatrix {
    const T* data = nullptr;
    std::ptrdiff_t row_stride = 0, column_stride = 0;  // in elements
};

// Where each row starts: nowhere, the positive entries of a dense matrix, or those of a CSR matrix.
template <class T>
struct StartRows {
    RowMatrix<T> dense;
    const std::int64_t* row_starts = nullptr;
    const std::int32_t* columns = nullptr;
    const T* values = nullptr;
};

struct Request {
    double tolerance;  // on the KKT residual relative to max|H| + max|f_i|
    std::size_t threads;
    bool want_sums;
    std::function<bool()> interrupted;  // asked now and then by the calling thread; true stops the work
};

// Everything later steps need from all rows, so that no second pass over Z is made.
struct RowSums {
    std::vector<double> gram;         // Z'Z (width, width)
    std::vector<double> column_sums;  // (width)
    double linear = 0.0;              // sum of f_i'z_i
    double quadratic = 0.0;           // sum of z_i'Hz_i
};

template <class T>
struct SparseRows {
    std::vector<std::int64_t> row_starts;
    std::vector<std::int32_t> columns;
    std::vector<T> values;
};

template <class T>
struct Solution {
    T* dense = nullptr;             // output, (rows, width) row-major, or null for CSR
    std::int8_t* status = nullptr;  // output, one per row
    SparseRows<T> sparse;
    RowSums sums;
    bool was_interrupted = false;
};

// How many entries the support of each row has, counted no further than `most`; `sizes` (output) has one per row.
// Growing a support costs more and more, and a caller that wonders whether supports are large need not see the end.
template <class T>
void count_supports(const double* hessian, std::size_t width, const RowMatrix<T>& linear, std::size_t rows,
                    std::size_t most, std::int64_t* sizes);

template <class T>
void solve_rows(const QuadraticForm& form, const RowMatrix<T>& linear, std::size_t rows, const StartRows<T>& start,
                const Request& request, Solution<T>& solution);

}  // namespace kedge
