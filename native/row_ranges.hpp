// Rows over standard threads. How rows are split depends on the problem alone, never on the number of threads, so
// sums that are added lane by lane have the same bits however many threads did the work.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace kedge {

struct RowRange {
    std::size_t begin, end;
};

inline RowRange lane_rows(std::size_t rows, std::size_t lanes, std::size_t lane) {
    return {rows * lane / lanes, rows * (lane + 1) / lanes};
}

// Calls make_worker(is_caller) once per thread and worker(lane) for every lane; the calling thread takes part.
// The first exception stops the hand-out of lanes and is thrown again here.
template <class MakeWorker>
void run_lanes(std::size_t lanes, std::size_t threads, const MakeWorker& make_worker) {
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failure_mutex;
    const auto drain = [&](bool is_caller) {
        try {
            auto worker = make_worker(is_caller);
            for (std::size_t lane = next++; lane < lanes; lane = next++) worker(lane);
        } catch (...) {
            const std::lock_guard<std::mutex> lock(failure_mutex);
            if (!failure) failure = std::current_exception();
            next = lanes;
        }
    };
    std::vector<std::thread> helpers;
    try {
        for (std::size_t i = 1; i < std::min(threads, lanes); ++i) helpers.emplace_back(drain, false);
    } catch (...) {
        // The system has no more threads or memory to give: the ones there are, and the caller, do the work.
    }
    drain(true);
    for (std::thread& helper : helpers) helper.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace kedge
