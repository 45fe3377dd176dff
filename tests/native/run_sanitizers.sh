#!/usr/bin/env bash
# Runs the random problems under the address, undefined-behaviour and thread sanitizers.
#
#     run_sanitizers.sh [count] [seed]
#
# BUILD_DIR (default build/sanitize, relative to the repository) and CXX (default g++) may be set.
set -euo pipefail

repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
cd "$repository"

count="${1:-20000}"
seed="${2:-0}"
build_dir="${BUILD_DIR:-build/sanitize}"
compiler="${CXX:-g++}"
mkdir -p "$build_dir"

sources=(tests/native/random_problems.cpp)
for source in native/*.cpp; do
    [[ "$source" == native/bindings.cpp ]] || sources+=("$source")
done
# Vector types wider than the baseline only pass between inlined functions, so the ABI warning says nothing.
flags=(-O1 -g -fno-omit-frame-pointer -std=c++20 -Wno-psabi -Inative -pthread)

export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1:check_initialization_order=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"

# The output goes to a log and is shown only when something is wrong.
run_logged() {
    local log="$1"
    shift
    "$@" >"$log" 2>&1
}

run_with() {
    local name="$1"
    shift
    local program="$build_dir/random_problems_$name" log="$build_dir/$name.log" status=0 began=$SECONDS
    echo "$name: $compiler ${flags[*]} $* -> $program $count $seed"
    "$compiler" "${flags[@]}" "$@" "${sources[@]}" -o "$program"
    run_logged "$log" "$program" "$count" "$seed" || status=$?
    if ((status != 0)) && grep -qi 'unexpected memory mapping' "$log"; then
        # Some kernels spread addresses further than the thread sanitizer of older compilers can map.
        echo "$name: memory mapping refused, running again without address randomisation (setarch -R)"
        status=0
        run_logged "$log" setarch "$(uname -m)" -R "$program" "$count" "$seed" || status=$?
    fi
    if ((status == 0)); then
        echo "$name: clean, $(tail -n 1 "$log") ($((SECONDS - began)) s)"
    else
        tail -n 60 "$log"
        echo "$name: FAILED with exit code $status, see $log ($((SECONDS - began)) s)"
        return 1
    fi
}

failed=0
run_with address_undefined -fsanitize=address,undefined -fno-sanitize-recover=all || failed=1
# The loops for processors without AVX2 are a second copy of the code.
KEDGE_INSTRUCTION_SET=baseline run_with address_undefined_baseline -fsanitize=address,undefined \
    -fno-sanitize-recover=all || failed=1
run_with thread -fsanitize=thread || failed=1
exit "$failed"
