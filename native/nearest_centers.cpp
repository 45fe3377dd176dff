#include "nearest_centers.hpp"

#include <limits>

#include "dense_loops.hpp"

namespace kedge {

namespace {

class Search {
   public:
    Search(const float* centers, std::size_t n_centers, std::size_t width)
        : centers_(centers), n_centers_(n_centers), width_(width) {}

    void find(const float* row, const float* bounds, std::int32_t& label, float& square) {
        row_ = row;
        label_ = -1;
        square_ = std::numeric_limits<float>::infinity();
        if (label >= 0) look_at(static_cast<std::size_t>(label));
        // The centre of the lowest bound is nearly always close, and so makes the limit tight from the start.
        look_at(loops.floats.first_at_most(bounds, 0, n_centers_, loops.lowest(bounds, n_centers_)));
        std::size_t j = 0;
        while ((j = loops.floats.first_at_most(bounds, j, n_centers_, square_)) < n_centers_) look_at(j++);
        label = label_;
        square = square_;
    }

   private:
    void look_at(std::size_t j) {
        const float square = loops.squared_distance(row_, centers_ + j * width_, width_, square_);
        const auto index = static_cast<std::int32_t>(j);
        if (label_ < 0 || square < square_ || (square == square_ && index < label_)) {
            square_ = square;
            label_ = index;
        }
    }

    const float* centers_;
    std::size_t n_centers_, width_;
    const float* row_ = nullptr;
    float square_ = 0.0F;
    std::int32_t label_ = 0;
};

}  // namespace

void nearest_centers(const float* rows, std::size_t n_rows, const float* centers, std::size_t n_centers,
                     std::size_t width, const float* bounds, std::int32_t* labels, float* squares) {
    Search search(centers, n_centers, width);
    for (std::size_t i = 0; i < n_rows; ++i) {
        search.find(rows + i * width, bounds + i * n_centers, labels[i], squares[i]);
    }
}

void move_rows_between_sums(const float* rows, std::size_t n_rows, std::size_t width, const std::int32_t* before,
                            const std::int32_t* after, std::size_t first, std::size_t last, double* sums) {
    for (std::size_t i = 0; i < n_rows; ++i) {
        if (before[i] == after[i]) continue;
        const float* row = rows + i * width;
        double* into = sums + static_cast<std::size_t>(after[i]) * width;
        for (std::size_t j = first; j < last; ++j) into[j] += static_cast<double>(row[j]);
        if (before[i] < 0) continue;
        double* out_of = sums + static_cast<std::size_t>(before[i]) * width;
        for (std::size_t j = first; j < last; ++j) out_of[j] -= static_cast<double>(row[j]);
    }
}

}  // namespace kedge
