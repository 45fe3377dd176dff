#include "smallest_columns.hpp"

namespace kedge {

namespace {

// Entries compared with the largest of those kept before any of them is looked at alone: nearly always none is smaller.
constexpr std::size_t stride = 16;

template <class T>
bool any_below(const T* values, T limit) {
    int found = 0;
    for (std::size_t place = 0; place < stride; ++place) found |= values[place] < limit;
    return found != 0;
}

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

template <class T>
void scan_row(const T* values, std::size_t width, std::size_t count, std::int32_t* columns, T* smallest) {
    std::size_t column = 0;
    for (; column < count; ++column) insert(values[column], column, column + 1, columns, smallest);
    for (; column + stride <= width; column += stride) {
        if (!any_below(values + column, smallest[count - 1])) continue;
        for (std::size_t own = column; own < column + stride; ++own) {
            if (values[own] < smallest[count - 1]) insert(values[own], own, count, columns, smallest);
        }
    }
    for (; column < width; ++column) {
        if (values[column] < smallest[count - 1]) insert(values[column], column, count, columns, smallest);
    }
}

}  // namespace

template <class T>
void smallest_columns(const T* values, std::size_t rows, std::size_t width, std::size_t count, std::int32_t* columns,
                      T* smallest) {
    for (std::size_t row = 0; row < rows; ++row) {
        scan_row(values + row * width, width, count, columns + row * count, smallest + row * count);
    }
}

template void smallest_columns<float>(const float*, std::size_t, std::size_t, std::size_t, std::int32_t*, float*);
template void smallest_columns<double>(const double*, std::size_t, std::size_t, std::size_t, std::int32_t*, double*);

}  // namespace kedge
