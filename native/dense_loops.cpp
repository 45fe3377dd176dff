#include "dense_loops.hpp"

namespace kedge {

namespace baseline {
extern const DenseLoops kLoops;
}
namespace avx2 {
extern const DenseLoops kLoops;
}

namespace {

bool has_avx2() {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

const DenseLoops& choose() {
#if defined(__x86_64__) && defined(__GNUC__)
    if (has_avx2()) return avx2::kLoops;
#endif
    return baseline::kLoops;
}

}  // namespace

const DenseLoops& loops = choose();

bool is_built_for_speed() {
#if defined(__OPTIMIZE_SIZE__) || (defined(__GNUC__) && !defined(__OPTIMIZE__))
    return false;
#else
    return true;
#endif
}

const char* instruction_set() { return has_avx2() ? "avx2" : "baseline"; }

}  // namespace kedge
