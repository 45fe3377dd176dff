// The slow, safe way to solve one row: plain single-pivot steps, nothing updated, everything in long double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace kedge {

struct CarefulRow {
    std::vector<std::int32_t> support;  // ascending
    std::vector<double> values;
};

// Minimises 1/2 z'Hz + f'z over the simplex, starting at the best vertex. `hessian` is (width, width), row-major.
// `should_stop` is asked before every pivot; true returns the point reached so far.
CarefulRow solve_carefully(const double* hessian, std::size_t width, const double* linear,
                           const std::function<bool()>& should_stop);

}  // namespace kedge
