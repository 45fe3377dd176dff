// The slow, safe way to solve one row: plain single-pivot steps, nothing updated, everything in long double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kedge {

struct CarefulRow {
    std::vector<std::int32_t> support;  // ascending
    std::vector<double> values;
};

// Minimises 1/2 z'Hz + f'z over the simplex, starting at the best vertex. `hessian` is (width, width), row-major.
CarefulRow solve_carefully(const double* hessian, std::size_t width, const double* linear);

}  // namespace kedge
