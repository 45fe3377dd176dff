#include "dense_loops.hpp"

#include <cstdlib>
#include <cstring>

namespace kedge {

namespace baseline {
extern const DenseLoops kLoops;
}
namespace avx2 {
extern const DenseLoops kLoops;
}

namespace {

// KEDGE_INSTRUCTION_SET=baseline takes away what differs between processors here, at some cost in speed.
bool asked_for_baseline() {
    const char* wish = std::getenv("KEDGE_INSTRUCTION_SET");
    return wish != nullptr && std::strcmp(wish, "baseline") == 0;
}

bool uses_avx2() {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    return !asked_for_baseline() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

// Decided once, while loading: a later change of the environment changes nothing.
const bool kUsesAvx2 = uses_avx2();

const DenseLoops& choose() {
#if defined(__x86_64__) && defined(__GNUC__)
    if (kUsesAvx2) return avx2::kLoops;
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

const char* instruction_set() { return kUsesAvx2 ? "avx2" : "baseline"; }

}  // namespace kedge
