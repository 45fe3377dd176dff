#include "simplex_row_solver.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>

#include "row_ranges.hpp"
#include "row_worker.hpp"

namespace kedge {

namespace {

constexpr std::size_t kMostLanes = 64;
constexpr std::size_t kRowsPerLane = 256;
// Each lane holds a Gram of its own when sums are asked for: together near 128 MiB, or eight where those take more.
constexpr std::size_t kGramEntries = std::size_t{1} << 24;
// Probes need no exact support; a loose tolerance saves the last few pivots.
constexpr double kProbeTolerance = 1e-6;
constexpr std::chrono::milliseconds kBetweenQuestions{50};

std::size_t count_lanes(std::size_t rows, std::size_t width, bool want_sums) {
    std::size_t most = kMostLanes;
    std::size_t per_lane = kRowsPerLane;
    if (want_sums) {
        most = std::clamp(kGramEntries / (width * width), std::size_t{8}, kMostLanes);
        // Clearing and adding a Gram costs as much as some `width` sparse rows.
        per_lane = std::max(per_lane, width);
    }
    return std::clamp(rows / per_lane, std::size_t{1}, most);
}

class InterruptClock {
   public:
    InterruptClock(const std::function<bool()>& question, std::atomic<bool>& stopped, bool is_caller)
        : question_(is_caller ? &question : nullptr), stopped_(stopped) {}

    bool stopped() {
        if (question_ != nullptr && *question_) {
            const auto now = std::chrono::steady_clock::now();
            if (now - last_ >= kBetweenQuestions) {
                last_ = now;
                if ((*question_)()) stopped_ = true;
            }
        }
        return stopped_;
    }

   private:
    const std::function<bool()>* question_;
    std::atomic<bool>& stopped_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

template <class T>
bool read_linear(const RowMatrix<T>& matrix, std::size_t row, std::size_t width, double* out) {
    const T* source = matrix.data + static_cast<std::ptrdiff_t>(row) * matrix.row_stride;
    double checksum = 0.0;  // 0 * x is NaN exactly when x is not finite
    for (std::size_t j = 0; j < width; ++j) {
        out[j] = static_cast<double>(source[static_cast<std::ptrdiff_t>(j) * matrix.column_stride]);
        checksum += 0.0 * out[j];
    }
    return checksum == 0.0;
}

// Collects the columns of the positive entries; the write is unconditional so that the loop has no branch to miss.
template <class T, class Column>
bool take_positive(const T* values, std::ptrdiff_t stride, std::size_t count, const Column& column,
                   std::vector<std::int32_t>& support) {
    support.resize(count + 1);
    std::size_t taken = 0;
    T checksum{0};  // 0 * x is NaN exactly when x is not finite
    for (std::size_t k = 0; k < count; ++k) {
        const T value = values[static_cast<std::ptrdiff_t>(k) * stride];
        checksum += T{0} * value;
        support[taken] = column(k);
        taken += value > T{0};
    }
    support.resize(taken);
    return checksum == T{0};
}

template <class T>
bool read_start(const StartRows<T>& start, std::size_t row, std::size_t width, std::vector<std::int32_t>& support) {
    if (start.dense.data != nullptr) {
        const T* source = start.dense.data + static_cast<std::ptrdiff_t>(row) * start.dense.row_stride;
        const auto column = [](std::size_t k) { return static_cast<std::int32_t>(k); };
        return take_positive(source, start.dense.column_stride, width, column, support);
    }
    if (start.row_starts != nullptr) {
        const std::int64_t begin = start.row_starts[row];
        const auto count = static_cast<std::size_t>(start.row_starts[row + 1] - begin);
        const auto column = [columns = start.columns + begin](std::size_t k) { return columns[k]; };
        return take_positive(start.values + begin, 1, count, column, support);
    }
    return true;
}

void add_to_sums(const SolvedRow& row, double linear_part, std::size_t width, std::vector<double>& spread,
                 RowSums& sums) {
    const std::size_t count = row.support.size();
    sums.linear += linear_part;
    sums.quadratic += row.quadratic;
    const bool dense = 2 * count > width;
    if (dense) {
        std::fill(spread.begin(), spread.end(), 0.0);
        for (std::size_t i = 0; i < count; ++i) spread[static_cast<std::size_t>(row.support[i])] = row.values[i];
    }
    for (std::size_t i = 0; i < count; ++i) {
        const auto index = static_cast<std::size_t>(row.support[i]);
        const double value = row.values[i];
        sums.column_sums[index] += value;
        double* gram_row = sums.gram.data() + index * width;  // upper triangle; mirrored once at the end
        if (dense) {
            for (std::size_t j = index; j < width; ++j) gram_row[j] += value * spread[j];
        } else {
            for (std::size_t k = i; k < count; ++k) gram_row[row.support[k]] += value * row.values[k];
        }
    }
}

void merge_sums(std::vector<RowSums>& lanes, std::size_t width, RowSums& total) {
    total = std::move(lanes.front());
    for (std::size_t lane = 1; lane < lanes.size(); ++lane) {
        const RowSums& part = lanes[lane];
        for (std::size_t i = 0; i < part.gram.size(); ++i) total.gram[i] += part.gram[i];
        for (std::size_t i = 0; i < part.column_sums.size(); ++i) total.column_sums[i] += part.column_sums[i];
        total.linear += part.linear;
        total.quadratic += part.quadratic;
    }
    for (std::size_t i = 0; i < width; ++i) {
        for (std::size_t j = 0; j < i; ++j) total.gram[i * width + j] = total.gram[j * width + i];
    }
}

template <class T>
void join_sparse(std::vector<SparseRows<T>>& lanes, SparseRows<T>& whole) {
    std::size_t rows = 0, entries = 0;
    for (const auto& lane : lanes) {
        rows += lane.row_starts.size();
        entries += lane.values.size();
    }
    whole.row_starts.reserve(rows + 1);
    whole.columns.reserve(entries);
    whole.values.reserve(entries);
    whole.row_starts.push_back(0);
    for (auto& lane : lanes) {
        const auto offset = static_cast<std::int64_t>(whole.values.size());
        for (const std::int64_t end : lane.row_starts) whole.row_starts.push_back(offset + end);
        whole.columns.insert(whole.columns.end(), lane.columns.begin(), lane.columns.end());
        whole.values.insert(whole.values.end(), lane.values.begin(), lane.values.end());
        lane = {};  // both copies of all lanes at once would double the peak
    }
}

template <class T>
class LaneRunner {
   public:
    LaneRunner(const QuadraticForm& form, const RowMatrix<T>& linear, std::size_t rows, const StartRows<T>& start,
               const Request& request, Solution<T>& solution)
        : form_(form), linear_(linear), rows_(rows), start_(start), request_(request), solution_(solution) {}

    void run() {
        const std::size_t lanes = count_lanes(rows_, form_.width, request_.want_sums);
        if (solution_.dense == nullptr) sparse_.resize(lanes);
        if (request_.want_sums) sums_.resize(lanes);
        run_lanes(lanes, request_.threads, [&](bool is_caller) {
            auto clock = std::make_shared<InterruptClock>(request_.interrupted, stopped_, is_caller);
            return [this, lanes, worker = RowWorker(form_, request_.tolerance, [clock] { return clock->stopped(); }),
                    clock, spread = std::vector<double>(form_.width)](std::size_t lane) mutable {
                run_lane(lane_rows(rows_, lanes, lane), lane, worker, *clock, spread);
            };
        });
        solution_.was_interrupted = stopped_;
        if (stopped_) return;
        if (request_.want_sums) merge_sums(sums_, form_.width, solution_.sums);
        if (solution_.dense == nullptr) join_sparse(sparse_, solution_.sparse);
    }

   private:
    void run_lane(RowRange range, std::size_t lane, RowWorker& worker, InterruptClock& clock,
                  std::vector<double>& spread) {
        if (request_.want_sums) {
            sums_[lane].gram.assign(form_.width * form_.width, 0.0);
            sums_[lane].column_sums.assign(form_.width, 0.0);
        }
        for (std::size_t first = range.begin; first < range.end && !clock.stopped(); first += kBlockRows) {
            const std::size_t filled = std::min(kBlockRows, range.end - first);
            worker.begin_block();
            for (std::size_t slot = 0; slot < filled; ++slot) load(worker, slot, first + slot);
            worker.solve(filled);
            for (std::size_t slot = 0; slot < filled; ++slot) store(worker.result(slot), first + slot, lane, spread);
        }
    }

    void load(RowWorker& worker, std::size_t slot, std::size_t row) {
        double* target = worker.linear(slot);
        const bool linear_finite = read_linear(linear_, row, form_.width, target);
        const bool start_finite = read_start(start_, row, form_.width, worker.start(slot));
        solution_.status[row] =
            static_cast<std::int8_t>(!linear_finite ? RowStatus::linear_not_finite
                                                    : (start_finite ? RowStatus::solved : RowStatus::start_not_finite));
        // A row that will be refused is solved as zeros: what it returns is never seen.
        if (!linear_finite) std::fill(target, target + form_.width, 0.0);
        if (!start_finite) worker.start(slot).clear();
    }

    void store(const SolvedRow& result, std::size_t row, std::size_t lane, std::vector<double>& spread) {
        if (solution_.status[row] == 0) solution_.status[row] = static_cast<std::int8_t>(result.status);
        const std::size_t count = result.support.size();
        if (solution_.dense != nullptr) {
            T* target = solution_.dense + row * form_.width;
            std::fill(target, target + form_.width, T{0});
            for (std::size_t i = 0; i < count; ++i) target[result.support[i]] = static_cast<T>(result.values[i]);
        } else {
            SparseRows<T>& out = sparse_[lane];
            out.columns.insert(out.columns.end(), result.support.begin(), result.support.end());
            for (const double value : result.values) out.values.push_back(static_cast<T>(value));
            out.row_starts.push_back(static_cast<std::int64_t>(out.values.size()));
        }
        if (request_.want_sums) {
            const T* source = linear_.data + static_cast<std::ptrdiff_t>(row) * linear_.row_stride;
            double linear_part = 0.0;
            for (std::size_t i = 0; i < count; ++i) {
                linear_part +=
                    result.values[i] * static_cast<double>(source[result.support[i] * linear_.column_stride]);
            }
            add_to_sums(result, linear_part, form_.width, spread, sums_[lane]);
        }
    }

    const QuadraticForm& form_;
    const RowMatrix<T>& linear_;
    std::size_t rows_;
    const StartRows<T>& start_;
    const Request& request_;
    Solution<T>& solution_;
    std::atomic<bool> stopped_{false};
    std::vector<SparseRows<T>> sparse_;
    std::vector<RowSums> sums_;
};

}  // namespace

template <class T>
void solve_rows(const QuadraticForm& form, const RowMatrix<T>& linear, std::size_t rows, const StartRows<T>& start,
                const Request& request, Solution<T>& solution) {
    LaneRunner<T>(form, linear, rows, start, request, solution).run();
}

template <class T>
void count_supports(const double* hessian, std::size_t width, const RowMatrix<T>& linear, std::size_t rows,
                    std::size_t most, std::int64_t* sizes) {
    ActiveSet search(hessian, width, true, Entering::few);
    search.set_largest_support(most);
    std::vector<double> row(width);
    double largest = 0.0;
    for (std::size_t j = 0; j < width; ++j) largest = std::max(largest, hessian[j * width + j]);
    for (std::size_t i = 0; i < rows; ++i) {
        const bool finite = read_linear(linear, i, width, row.data());
        const double lowest = *std::min_element(row.begin(), row.end());
        for (double& value : row) value -= lowest;
        if (finite) search.minimise(row.data(), {}, kProbeTolerance * largest);
        sizes[i] = finite ? static_cast<std::int64_t>(search.support().size()) : 0;
    }
}

template void count_supports<float>(const double*, std::size_t, const RowMatrix<float>&, std::size_t, std::size_t,
                                    std::int64_t*);
template void count_supports<double>(const double*, std::size_t, const RowMatrix<double>&, std::size_t, std::size_t,
                                     std::int64_t*);
template void solve_rows<float>(const QuadraticForm&, const RowMatrix<float>&, std::size_t, const StartRows<float>&,
                                const Request&, Solution<float>&);
template void solve_rows<double>(const QuadraticForm&, const RowMatrix<double>&, std::size_t, const StartRows<double>&,
                                 const Request&, Solution<double>&);

}  // namespace kedge
