// Thousands of random problems through the row solver, every row checked independently of it.
//
//     random_problems [count] [seed] [first]
//
// `first` is the number of the first problem, so a failure is repeated by: random_problems 1 <seed> <number>.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "careful_row.hpp"
#include "dice.hpp"
#include "random_communities.hpp"
#include "random_forms.hpp"
#include "random_rows.hpp"
#include "row_checks.hpp"
#include "solver_runs.hpp"

namespace random_problems {

namespace {

constexpr std::size_t kFailuresShown = 10;

struct Tally {
    std::array<std::uint64_t, 5> status{};
    std::uint64_t careful_rows = 0, interruptions = 0;
};

struct Shape {
    std::size_t width, rows;
};

// Mostly small batches; now and then enough rows to be shared among threads, or none.
Shape random_shape(Dice& dice) {
    if (dice.chance(0.01)) return {dice.between(1, 60), 0};
    if (dice.chance(0.015)) return {dice.between(61, 150), dice.between(1, 4)};
    if (dice.chance(0.02)) return {dice.between(1, 8), dice.between(200, 600)};
    if (dice.chance(0.05)) return {dice.between(1, 24), dice.between(13, 200)};
    return {dice.between(1, dice.chance(0.5) ? 16 : 60), dice.between(1, 12)};
}

// A value that is not finite in one row of f or of the start.
struct Plant {
    std::size_t row = std::numeric_limits<std::size_t>::max();
    kedge::RowStatus status = kedge::RowStatus::solved;
};

template <class T>
Plant plant_not_finite(Dice& dice, std::size_t width, std::vector<T>& linear, std::vector<T>& start) {
    Plant plant;
    if (linear.empty() || !dice.chance(0.08)) return plant;
    const bool in_start = !start.empty() && dice.chance(0.5);
    const std::array<T, 3> bad{std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                               -std::numeric_limits<T>::infinity()};
    std::vector<T>& target = in_start ? start : linear;
    const std::size_t position = dice.below(target.size());
    target[position] = bad[dice.below(bad.size())];
    plant.row = position / width;
    plant.status = in_start ? kedge::RowStatus::start_not_finite : kedge::RowStatus::linear_not_finite;
    return plant;
}

void check_rows(const Form& form, const std::vector<double>& linear, const Outcome<double>& outcome, const Plant& plant,
                Tally& tally, Failures& failures) {
    for (std::size_t row = 0; row < outcome.status.size(); ++row) {
        const auto status = static_cast<kedge::RowStatus>(outcome.status[row]);
        if (outcome.status[row] < 0 || outcome.status[row] > 4) {
            fail(failures, "row ", row, ": status is ", static_cast<int>(outcome.status[row]));
            continue;
        }
        ++tally.status[static_cast<std::size_t>(outcome.status[row])];
        const double* weights = outcome.weights.data() + row * form.width;
        if (row == plant.row || status > kedge::RowStatus::tolerance_missed) {
            if (row != plant.row || status != plant.status) {
                fail(failures, "row ", row, ": status is ", static_cast<int>(outcome.status[row]));
            }
        } else if (status == kedge::RowStatus::tolerance_missed) {
            const std::string infeasible = feasibility_failure(weights, form.width);
            if (!infeasible.empty()) fail(failures, "row ", row, ": ", infeasible);
            if (form.condition <= kWorstConditionToSolve) fail(failures, "row ", row, ": tolerance missed");
        } else {
            const std::string wrong = row_failure(form, linear.data() + row * form.width, weights);
            if (!wrong.empty()) fail(failures, "row ", row, ": ", wrong);
        }
    }
}

// The probe stops at the bound it is given, here a random one; a support has at least one entry and at most all.
void check_probe(const Form& form, const double* row_linear, Dice& dice, Failures& failures) {
    const std::size_t most = 1 + dice.below(form.width);
    std::int64_t size = 0;
    const kedge::RowMatrix<double> row{row_linear, static_cast<std::ptrdiff_t>(form.width), 1};
    kedge::count_supports<double>(form.hessian.data(), form.width, row, 1, most, &size);
    if (size < 1 || size > static_cast<std::int64_t>(form.width)) fail(failures, "probe counted ", size);
}

// The careful path takes time of fourth order in the support, so wide problems get it rarely.
void check_careful_row(Dice& dice, const Form& form, const std::vector<double>& linear, const Plant& plant,
                       Tally& tally, Failures& failures) {
    if (linear.empty() || !dice.chance(form.width <= 20 ? 0.3 : (form.width <= 60 ? 0.03 : 0.0))) return;
    const std::size_t row = dice.below(linear.size() / form.width);
    if (row == plant.row) return;
    const double* row_linear = linear.data() + row * form.width;
    const kedge::CarefulRow careful =
        kedge::solve_carefully(form.hessian.data(), form.width, row_linear, [] { return false; });
    std::vector<double> weights(form.width, 0.0);
    for (std::size_t i = 0; i < careful.support.size(); ++i) {
        weights.at(static_cast<std::size_t>(careful.support[i])) = careful.values.at(i);
    }
    ++tally.careful_rows;
    const std::string wrong = form.condition <= kWorstConditionToSolve
                                  ? row_failure(form, row_linear, weights.data())
                                  : feasibility_failure(weights.data(), form.width);
    if (!wrong.empty()) fail(failures, "careful row ", row, ": ", wrong);
    check_probe(form, row_linear, dice, failures);
}

// Float rows cannot reach the tolerance themselves: they must be the rounded rows of the same problem in double.
void check_against_double(const Outcome<float>& outcome, const Outcome<double>& twin, bool sums, Failures& failures) {
    const std::vector<float> rounded(twin.weights.begin(), twin.weights.end());
    if (!same_bits(outcome.weights, rounded)) fail(failures, "float rows are not the rounded double rows");
    if (!same_bits(outcome.status, twin.status)) fail(failures, "float status differs from double status");
    if (sums && !same_bits(outcome.sums, twin.sums)) fail(failures, "float sums differ from double sums");
}

template <class T>
void check_outcome(Dice& dice, const Form& form, const std::vector<T>& linear, const std::vector<T>& start,
                   const Outcome<T>& outcome, const RunOptions& options, const Plant& plant, Tally& tally,
                   Failures& failures) {
    const std::size_t rows = outcome.status.size();
    const std::vector<double> exact_linear(linear.begin(), linear.end());
    if constexpr (sizeof(T) == sizeof(double)) {
        check_rows(form, exact_linear, outcome, plant, tally, failures);
    } else {
        const std::vector<double> exact_start(start.begin(), start.end());
        const StridedRows<double> linear_rows(dice, exact_linear, form.width);
        const StartStorage<double> start_rows(dice, exact_start, form.width);
        const RunOptions dense{options.threads, false, options.sums, false};
        const auto twin = run<double>(form, linear_rows.view(), rows, start_rows.view(), dense, failures);
        check_against_double(outcome, twin, options.sums, failures);
        check_rows(form, exact_linear, twin, plant, tally, failures);
    }
    // A refused row leaves nothing in the sums that anyone may rely on.
    if (options.sums && plant.status == kedge::RowStatus::solved) {
        check_sums(form, linear, outcome.weights, outcome.sums, failures);
    }
    check_careful_row(dice, form, exact_linear, plant, tally, failures);
}

template <class T>
std::vector<T> start_values(Dice& dice, const Form& form, const std::vector<T>& linear, std::size_t rows,
                            Failures& failures) {
    auto kind = static_cast<StartKind>(dice.below(static_cast<std::size_t>(StartKind::count)));
    if (dice.chance(0.2)) kind = StartKind::none;
    std::vector<T> exact(linear.size(), T{0});
    if (kind == StartKind::exact || kind == StartKind::wrong_support) {
        const kedge::RowMatrix<T> plain{linear.data(), static_cast<std::ptrdiff_t>(form.width), 1};
        exact = run<T>(form, plain, rows, {}, {}, failures).weights;
    }
    return random_start(dice, kind, form.width, exact);
}

template <class T>
void solve_problem(Dice& dice, const Form& form, std::size_t rows, Tally& tally, Failures& failures) {
    std::vector<T> linear = random_linear<T>(dice, form, rows);
    std::vector<T> start = start_values(dice, form, linear, rows, failures);
    const Plant plant = plant_not_finite(dice, form.width, linear, start);
    const StridedRows<T> linear_rows(dice, linear, form.width);
    const StartStorage<T> start_rows(dice, start, form.width);
    const std::array<std::size_t, 3> thread_counts{1, 2, 7};
    const std::size_t first = dice.below(3), second = (first + dice.between(1, 2)) % 3;
    RunOptions options{thread_counts[first], dice.chance(0.5), dice.chance(0.5), dice.chance(0.5)};
    const auto outcome = run<T>(form, linear_rows.view(), rows, start_rows.view(), options, failures);
    options.threads = thread_counts[second];
    const auto again = run<T>(form, linear_rows.view(), rows, start_rows.view(), options, failures);
    compare_bits(outcome, again, options.sums, "thread counts", failures);
    if (outcome.weights.size() != rows * form.width) return;  // a broken CSR result, reported already
    check_outcome(dice, form, linear, start, outcome, options, plant, tally, failures);
}

Failures run_problem(std::uint64_t seed, std::uint64_t number, Tally& tally) {
    Dice dice(seed, number);
    Failures failures;
    if (dice.chance(0.002)) {
        ++tally.interruptions;
        check_interruption(dice, failures);
        return failures;
    }
    if (dice.chance(0.05)) {
        check_communities(dice, failures);
        return failures;
    }
    const Shape shape = random_shape(dice);
    const Form form = random_form(dice, shape.width);
    const bool single = dice.chance(0.4);
    if (single) {
        solve_problem<float>(dice, form, shape.rows, tally, failures);
    } else {
        solve_problem<double>(dice, form, shape.rows, tally, failures);
    }
    if (!failures.empty()) {
        std::ostringstream what;
        what << form.kind << ", width " << shape.width << ", " << shape.rows << (single ? " float" : " double")
             << " rows, condition " << form.condition << (form.centre.empty() ? "" : ", with projected inverse");
        failures.insert(failures.begin(), what.str());
    }
    return failures;
}

Failures run_guarded(std::uint64_t seed, std::uint64_t number, Tally& tally) {
    try {
        return run_problem(seed, number, tally);
    } catch (const std::exception& error) {
        return {std::string("exception: ") + error.what()};
    }
}

void print_failures(std::uint64_t seed, std::uint64_t number, const Failures& failures) {
    constexpr std::size_t kLines = 6;
    std::printf("FAILED: seed %llu, problem %llu\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(number));
    for (std::size_t i = 0; i < std::min(failures.size(), kLines); ++i) std::printf("    %s\n", failures[i].c_str());
    if (failures.size() > kLines) std::printf("    and %zu more\n", failures.size() - kLines);
}

std::uint64_t run_all(std::uint64_t count, std::uint64_t seed, std::uint64_t first) {
    Tally tally;
    std::uint64_t failed = 0;
    for (std::uint64_t done = 0; done < count; ++done) {
        const Failures failures = run_guarded(seed, first + done, tally);
        if (!failures.empty() && ++failed <= kFailuresShown) print_failures(seed, first + done, failures);
        if (count >= 1000 && (done + 1) % ((count + 4) / 5) == 0) {
            std::printf("%llu of %llu problems, %llu failed\n", static_cast<unsigned long long>(done + 1),
                        static_cast<unsigned long long>(count), static_cast<unsigned long long>(failed));
        }
        std::fflush(stdout);
    }
    std::printf("rows by status:");
    for (const std::uint64_t rows : tally.status) std::printf(" %llu", static_cast<unsigned long long>(rows));
    std::printf("; rows solved carefully on purpose: %llu; interruptions: %llu\n",
                static_cast<unsigned long long>(tally.careful_rows),
                static_cast<unsigned long long>(tally.interruptions));
    return failed;
}

std::uint64_t number_argument(int count, char** arguments, int position, std::uint64_t fallback) {
    return position < count ? std::strtoull(arguments[position], nullptr, 10) : fallback;
}

}  // namespace

}  // namespace random_problems

int main(int argument_count, char** arguments) {
    const auto count = random_problems::number_argument(argument_count, arguments, 1, 20000);
    const auto seed = random_problems::number_argument(argument_count, arguments, 2, 0);
    const auto first = random_problems::number_argument(argument_count, arguments, 3, 0);
    const std::uint64_t failed = random_problems::run_all(count, seed, first);
    std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(count - failed),
                static_cast<unsigned long long>(failed));
    return failed == 0 ? 0 : 1;
}
