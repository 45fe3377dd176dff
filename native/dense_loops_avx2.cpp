#include <cstring>

#include "dense_loops.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

namespace kedge::avx2 {

#include "dense_loops_body.inc"

}  // namespace kedge::avx2

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
