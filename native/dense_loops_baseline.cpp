#include <cstring>

#include "dense_loops.hpp"

namespace kedge::baseline {

#include "dense_loops_body.inc"

}  // namespace kedge::baseline
