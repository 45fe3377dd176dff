// The only file that knows Python: arrays in, arrays out, the interpreter lock released in between.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "communities.hpp"
#include "dense_loops.hpp"
#include "nearest_centers.hpp"
#include "simplex_row_solver.hpp"
#include "smallest_columns.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Rows = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Flat = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Hands a vector to NumPy without copying it; the array owns it from then on.
template <class T>
nb::ndarray<nb::numpy, T> as_array(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    T* data = owned->data();
    nb::capsule owner(owned.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(data, shape, owner);
}

template <class T>
nb::ndarray<nb::numpy, T> new_array(std::initializer_list<std::size_t> shape) {
    std::size_t size = 1;
    for (const std::size_t extent : shape) size *= extent;
    std::unique_ptr<T[]> owned(new T[size]);
    T* data = owned.get();
    nb::capsule owner(owned.release(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T>(data, shape, owner);
}

template <class T>
kedge::RowMatrix<T> row_matrix(const Rows<T>& array) {
    return {array.data(), static_cast<std::ptrdiff_t>(array.stride(0)), static_cast<std::ptrdiff_t>(array.stride(1))};
}

bool signal_arrived() {
    const nb::gil_scoped_acquire lock;
    return PyErr_CheckSignals() != 0;
}

struct Options {
    double tolerance;
    std::size_t threads;
    bool sparse, sums;
};

template <class T>
nb::dict run(const kedge::QuadraticForm& form, const Rows<T>& linear, const kedge::StartRows<T>& start,
             const Options& options) {
    const std::size_t rows = linear.shape(0), width = form.width;
    nb::dict out;
    kedge::Solution<T> solution;
    auto status = new_array<std::int8_t>({rows});
    solution.status = status.data();
    if (!options.sparse) {
        auto dense = new_array<T>({rows, width});
        solution.dense = dense.data();
        out["dense"] = nb::cast(dense);
    }
    const kedge::Request request{options.tolerance, options.threads, options.sums, signal_arrived};
    {
        const nb::gil_scoped_release unlocked;
        kedge::solve_rows<T>(form, row_matrix<T>(linear), rows, start, request, solution);
    }
    if (solution.was_interrupted) throw nb::python_error();
    out["status"] = nb::cast(status);
    if (options.sparse) {
        const std::size_t entries = solution.sparse.values.size();
        out["indptr"] = nb::cast(as_array(std::move(solution.sparse.row_starts), {rows + 1}));
        out["indices"] = nb::cast(as_array(std::move(solution.sparse.columns), {entries}));
        out["data"] = nb::cast(as_array(std::move(solution.sparse.values), {entries}));
    }
    if (options.sums) {
        out["gram"] = nb::cast(as_array(std::move(solution.sums.gram), {width, width}));
        out["column_sums"] = nb::cast(as_array(std::move(solution.sums.column_sums), {width}));
        out["linear_part"] = solution.sums.linear;
        out["quadratic_part"] = solution.sums.quadratic;
    }
    return out;
}

kedge::QuadraticForm quadratic_form(const Matrix& hessian, const std::optional<Matrix>& projected_inverse,
                                    const std::optional<Vector>& centre) {
    return {hessian.data(), hessian.shape(0), projected_inverse ? projected_inverse->data() : nullptr,
            centre ? centre->data() : nullptr};
}

template <class T>
void define(nb::module_& module) {
    module.def(
        "solve_rows",
        [](const Matrix& hessian, const std::optional<Matrix>& projected_inverse, const std::optional<Vector>& centre,
           const Rows<T>& linear, const std::optional<Rows<T>>& start, const Options& options) {
            kedge::StartRows<T> begin;
            if (start) begin.dense = row_matrix<T>(*start);
            return run<T>(quadratic_form(hessian, projected_inverse, centre), linear, begin, options);
        },
        "hessian"_a.noconvert(), "projected_inverse"_a.noconvert().none(), "centre"_a.noconvert().none(),
        "linear"_a.noconvert(), "start"_a.noconvert().none(), "options"_a);
    module.def(
        "solve_rows_from_csr",
        [](const Matrix& hessian, const std::optional<Matrix>& projected_inverse, const std::optional<Vector>& centre,
           const Rows<T>& linear, const Flat<std::int64_t>& row_starts, const Flat<std::int32_t>& columns,
           const Flat<T>& values, const Options& options) {
            kedge::StartRows<T> begin;
            begin.row_starts = row_starts.data();
            begin.columns = columns.data();
            begin.values = values.data();
            return run<T>(quadratic_form(hessian, projected_inverse, centre), linear, begin, options);
        },
        "hessian"_a.noconvert(), "projected_inverse"_a.noconvert().none(), "centre"_a.noconvert().none(),
        "linear"_a.noconvert(), "row_starts"_a.noconvert(), "columns"_a.noconvert(), "values"_a.noconvert(),
        "options"_a);
    module.def(
        "count_supports",
        [](const Matrix& hessian, const Rows<T>& linear, std::size_t most) {
            auto sizes = new_array<std::int64_t>({linear.shape(0)});
            const nb::gil_scoped_release unlocked;
            kedge::count_supports<T>(hessian.data(), hessian.shape(0), row_matrix<T>(linear), linear.shape(0), most,
                                     sizes.data());
            return sizes;
        },
        "hessian"_a.noconvert(), "linear"_a.noconvert(), "most"_a);
    module.def(
        "smallest_columns",
        [](const nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>& values, std::size_t count) {
            const std::size_t rows = values.shape(0);
            auto columns = new_array<std::int32_t>({rows, count});
            auto smallest = new_array<T>({rows, count});
            {
                const nb::gil_scoped_release unlocked;
                kedge::smallest_columns<T>(values.data(), rows, values.shape(1), count, columns.data(),
                                           smallest.data());
            }
            return nb::make_tuple(columns, smallest);
        },
        "values"_a.noconvert(), "count"_a);
    module.def(
        "join_weights",
        [](const nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>& columns,
           const nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>& smallest) {
            const std::size_t rows = columns.shape(0), count = columns.shape(1) - 1;
            auto joined = new_array<std::int32_t>({rows, count});
            auto weights = new_array<T>({rows, count});
            double value = 0.0;
            {
                const nb::gil_scoped_release unlocked;
                value =
                    kedge::join_weights<T>(columns.data(), smallest.data(), rows, count, joined.data(), weights.data());
            }
            return nb::make_tuple(joined, weights, value);
        },
        "columns"_a.noconvert(), "smallest"_a.noconvert());
}

using Floats = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void define_centers(nb::module_& module) {
    module.def(
        "nearest_centers",
        [](const Floats& rows, const Floats& centers, const Floats& bounds, const Labels& labels) {
            auto squares = new_array<float>({rows.shape(0)});
            const nb::gil_scoped_release unlocked;
            kedge::nearest_centers(rows.data(), rows.shape(0), centers.data(), centers.shape(0), rows.shape(1),
                                   bounds.data(), labels.data(), squares.data());
            return squares;
        },
        "rows"_a.noconvert(), "centers"_a.noconvert(), "bounds"_a.noconvert(), "labels"_a.noconvert());
    module.def(
        "move_rows_between_sums",
        [](const Floats& rows, const Flat<std::int32_t>& before, const Flat<std::int32_t>& after, std::size_t first,
           std::size_t last, const nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>& sums) {
            const nb::gil_scoped_release unlocked;
            kedge::move_rows_between_sums(rows.data(), rows.shape(0), rows.shape(1), before.data(), after.data(), first,
                                          last, sums.data());
        },
        "rows"_a.noconvert(), "before"_a.noconvert(), "after"_a.noconvert(), "first"_a, "last"_a, "sums"_a.noconvert());
}

// The arrays of a graph, kept alive by the object that Python holds.
struct CommunityGraph {
    Flat<std::int64_t> row_starts;
    Flat<std::int32_t> neighbors;
    Vector weights, masses;
    double penalty;

    kedge::WeightedGraph view() const {
        return {masses.shape(0), row_starts.data(), neighbors.data(), weights.data(), masses.data(), penalty};
    }
};

nb::ndarray<nb::numpy, std::int64_t> widened(const std::vector<std::int32_t>& labels) {
    auto wide = new_array<std::int64_t>({labels.size()});
    std::copy(labels.begin(), labels.end(), wide.data());
    return wide;
}

nb::ndarray<nb::numpy, std::int64_t> find_communities(const CommunityGraph& graph, std::uint64_t seed) {
    std::vector<std::int32_t> labels;
    {
        const nb::gil_scoped_release unlocked;
        labels = kedge::find_communities(graph.view(), seed);
    }
    return widened(labels);
}

nb::ndarray<nb::numpy, std::int64_t> move_nodes(const CommunityGraph& graph, const Flat<std::int64_t>& labels) {
    std::vector<std::int32_t> moved(labels.data(), labels.data() + labels.shape(0)), order(labels.shape(0));
    {
        const nb::gil_scoped_release unlocked;
        std::iota(order.begin(), order.end(), 0);
        kedge::move_nodes(graph.view(), order, kedge::CommunityCount::fixed, moved);
    }
    return widened(moved);
}

// Numbers of the merged pairs, and what each merge loses.
std::pair<nb::ndarray<nb::numpy, std::int64_t>, nb::ndarray<nb::numpy, double>> merge_communities(
    const CommunityGraph& graph) {
    std::vector<kedge::Merge> merges;
    {
        const nb::gil_scoped_release unlocked;
        merges = kedge::merge_communities(graph.view());
    }
    auto pairs = new_array<std::int64_t>({merges.size(), 2});
    auto losses = new_array<double>({merges.size()});
    for (std::size_t merge = 0; merge < merges.size(); ++merge) {
        pairs.data()[2 * merge] = merges[merge].left;
        pairs.data()[2 * merge + 1] = merges[merge].right;
        losses.data()[merge] = merges[merge].loss;
    }
    return {pairs, losses};
}

void define_communities(nb::module_& module) {
    nb::class_<CommunityGraph>(module, "CommunityGraph")
        .def(
            "__init__",
            [](CommunityGraph* graph, Flat<std::int64_t> row_starts, Flat<std::int32_t> neighbors, Vector weights,
               Vector masses, double penalty) {
                new (graph) CommunityGraph{std::move(row_starts), std::move(neighbors), std::move(weights),
                                           std::move(masses), penalty};
            },
            "row_starts"_a.noconvert(), "neighbors"_a.noconvert(), "weights"_a.noconvert(), "masses"_a.noconvert(),
            "penalty"_a);
    module.def("find_communities", find_communities, "graph"_a, "seed"_a);
    module.def("move_nodes", move_nodes, "graph"_a, "labels"_a.noconvert());
    module.def("merge_communities", merge_communities, "graph"_a);
}

}  // namespace

NB_MODULE(_native, module) {
    module.doc() =
        "Compiled row solver, row moves and communities. Arguments are not checked here; call it through "
        "kedge.kernels.";
    nb::class_<Options>(module, "Options")
        .def(nb::init<double, std::size_t, bool, bool>(), "tolerance"_a, "threads"_a, "sparse"_a, "sums"_a);
    module.def("is_built_for_speed", [] { return kedge::is_built_for_speed(); });
    module.def("instruction_set", [] { return kedge::instruction_set(); });
    define_communities(module);
    define_centers(module);
    define<double>(module);
    define<float>(module);
}
