#include "smallest_columns.hpp"

#include <algorithm>
#include <vector>

#include "dense_loops.hpp"

namespace kedge {

namespace {

template <class T>
void insert(T value, std::size_t column, std::size_t count, std::int32_t* columns, T* smallest) {
    std::size_t place = count - 1;
    for (; place > 0 && smallest[place - 1] > value; --place) {
        smallest[place] = smallest[place - 1];
        columns[place] = columns[place - 1];
    }
    smallest[place] = value;
    columns[place] = static_cast<std::int32_t>(column);
}

// Room for the places of one row.
using Places = std::vector<std::int32_t>;

template <class T>
void scan_row(const T* values, std::size_t width, std::size_t count, std::int32_t* columns, T* smallest,
              Places& places) {
    const Scans<T>& scans = loops.scans<T>();
    // With many columns wanted, or few to choose from, lanes say nothing, and all are looked at.
    const bool has_limit = count <= kScanLanes / 2 && width >= 2 * kScanLanes;
    const T limit = has_limit ? scans.limit_of(values, width, count) : kInfinite<T>;
    const std::size_t found = scans.places_at_most(values, width, limit, places.data());
    std::size_t taken = 0;
    for (std::size_t i = 0; i < found; ++i) {
        const auto column = static_cast<std::size_t>(places[i]);
        if (taken < count) {
            insert(values[column], column, ++taken, columns, smallest);
        } else if (values[column] < smallest[count - 1]) {
            insert(values[column], column, count, columns, smallest);
        }
    }
}

}  // namespace

template <class T>
void smallest_columns(const T* values, std::size_t rows, std::size_t width, std::size_t count, std::int32_t* columns,
                      T* smallest) {
    Places places(width);
    for (std::size_t row = 0; row < rows; ++row) {
        scan_row(values + row * width, width, count, columns + row * count, smallest + row * count, places);
    }
}

template <class T>
double join_weights(const std::int32_t* columns, const T* smallest, std::size_t rows, std::size_t count,
                    std::int32_t* joined, T* weights) {
    double value = 0.0;
    for (std::size_t row = 0; row < rows; ++row) {
        const T last = smallest[count];
        T total{0};
        for (std::size_t j = 0; j < count; ++j) total += last - smallest[j];
        for (std::size_t j = 0; j < count; ++j) {
            const T weight = total > T{0} ? (last - smallest[j]) / total : T{1} / static_cast<T>(count);
            value += static_cast<double>(weight) * static_cast<double>(smallest[j]);
            std::size_t place = j;
            for (; place > 0 && joined[place - 1] > columns[j]; --place) {
                joined[place] = joined[place - 1];
                weights[place] = weights[place - 1];
            }
            joined[place] = columns[j];
            weights[place] = weight;
        }
        columns += count + 1;
        smallest += count + 1;
        joined += count;
        weights += count;
    }
    return value;
}

template double join_weights<float>(const std::int32_t*, const float*, std::size_t, std::size_t, std::int32_t*, float*);
template double join_weights<double>(const std::int32_t*, const double*, std::size_t, std::size_t, std::int32_t*,
                                     double*);

template void smallest_columns<float>(const float*, std::size_t, std::size_t, std::size_t, std::int32_t*, float*);
template void smallest_columns<double>(const double*, std::size_t, std::size_t, std::size_t, std::int32_t*, double*);

}  // namespace kedge
