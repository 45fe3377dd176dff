#include "careful_row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kedge {

namespace {

using Real = long double;

class CarefulSolver {
   public:
    CarefulSolver(const double* hessian, std::size_t width, const double* linear)
        : hessian_(hessian), width_(width), linear_(linear), weights_(width, 0.0L), refused_(width, 0) {}

    CarefulRow run(const std::function<bool()>& should_stop) {
        begin_at_best_vertex();
        for (std::size_t round = 0; round < 100 + 20 * width_ && !should_stop(); ++round) {
            const std::size_t entry = most_violated();
            if (entry == width_) break;
            if (admit(entry)) {
                std::fill(refused_.begin(), refused_.end(), 0);
            } else {
                refused_[entry] = 1;
            }
        }
        return rounded();
    }

   private:
    Real entry(std::size_t i, std::size_t j) const { return hessian_[i * width_ + j]; }

    void begin_at_best_vertex() {
        std::size_t best = 0;
        for (std::size_t j = 1; j < width_; ++j) {
            if (entry(j, j) / 2 + linear_[j] < entry(best, best) / 2 + linear_[best]) best = j;
        }
        support_.assign(1, best);
        weights_[best] = 1;
    }

    std::size_t most_violated() const {
        Real level = 0, largest = 0;
        std::vector<Real> gradient(width_);
        for (std::size_t j = 0; j < width_; ++j) {
            gradient[j] = linear_[j];
            for (const std::size_t i : support_) gradient[j] += entry(i, j) * weights_[i];
            level += weights_[j] * gradient[j];
            largest = std::max(largest, entry(j, j));
        }
        std::size_t worst = width_;
        Real bound = level - 64 * std::numeric_limits<Real>::epsilon() * (largest + std::abs(level));
        for (std::size_t j = 0; j < width_; ++j) {
            if (weights_[j] == 0 && !refused_[j] && gradient[j] < bound) {
                bound = gradient[j];
                worst = j;
            }
        }
        return worst;
    }

    // One entry joins; the support then shrinks along the way to its minimiser. False: the entry gained nothing.
    bool admit(std::size_t newcomer) {
        support_.push_back(newcomer);
        bool moved = false;
        for (;;) {
            const std::vector<Real> target = minimiser();
            const bool unwanted = target.empty() || (!moved && target.back() <= 0);
            if (unwanted) {
                support_.pop_back();
                return false;
            }
            std::size_t blocking = support_.size();
            Real length = 1;
            for (std::size_t i = 0; i < support_.size(); ++i) {
                if (target[i] > 0) continue;
                const Real now = weights_[support_[i]];
                const Real reach = now > 0 ? now / (now - target[i]) : 0;
                if (blocking == support_.size() || reach < length) {
                    length = reach;
                    blocking = i;
                }
            }
            const bool arrived = blocking == support_.size();
            move_towards(target, length, blocking);
            moved = true;
            if (arrived) return true;
        }
    }

    // The blocking entry leaves whatever rounding made of it, so every step but the last shortens the support.
    void move_towards(const std::vector<Real>& target, Real length, std::size_t blocking) {
        std::vector<std::size_t> kept;
        for (std::size_t i = 0; i < support_.size(); ++i) {
            Real& weight = weights_[support_[i]];
            weight += length * (target[i] - weight);
            if (i == blocking || !(weight > 0)) weight = 0;
            if (weight > 0) kept.push_back(support_[i]);
        }
        support_ = kept;
    }

    // Minimiser on the support subject to the sum, by a fresh Cholesky factor; empty if a pivot is not positive.
    std::vector<Real> minimiser() const {
        const std::size_t count = support_.size();
        const std::vector<Real> factor = factorise();
        if (factor.empty()) return {};
        std::vector<Real> by_ones(count, 1), values(count, 0);
        solve(factor, by_ones);
        const Real by_ones_sum = std::accumulate(by_ones.begin(), by_ones.end(), Real{0});
        // Two large vectors cancel when H is ill-conditioned; the further rounds repair it.
        for (int round = 0; round < 3; ++round) {
            std::vector<Real> by_gradient = centred_gradient(values);
            solve(factor, by_gradient);
            const Real missing = 1 - std::accumulate(values.begin(), values.end(), Real{0});
            const Real gained = std::accumulate(by_gradient.begin(), by_gradient.end(), Real{0});
            const Real multiplier = (missing + gained) / by_ones_sum;
            for (std::size_t i = 0; i < count; ++i) values[i] += multiplier * by_ones[i] - by_gradient[i];
        }
        return values;
    }

    // Gradient on the support less its mean: a constant part does not move the minimiser.
    std::vector<Real> centred_gradient(const std::vector<Real>& values) const {
        const std::size_t count = support_.size();
        std::vector<Real> gradient(count);
        Real mean = 0;
        for (std::size_t i = 0; i < count; ++i) {
            gradient[i] = linear_[support_[i]];
            for (std::size_t j = 0; j < count; ++j) gradient[i] += entry(support_[i], support_[j]) * values[j];
            mean += gradient[i] / static_cast<Real>(count);
        }
        for (Real& value : gradient) value -= mean;
        return gradient;
    }

    std::vector<Real> factorise() const {
        const std::size_t count = support_.size();
        std::vector<Real> factor(count * count, 0);
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
                Real value = entry(support_[i], support_[j]);
                for (std::size_t k = 0; k < j; ++k) value -= factor[i * count + k] * factor[j * count + k];
                if (i == j && !(value > 0)) return {};
                factor[i * count + j] = i == j ? std::sqrt(value) : value / factor[j * count + j];
            }
        }
        return factor;
    }

    // side <- (L L')^-1 side
    static void solve(const std::vector<Real>& factor, std::vector<Real>& side) {
        const std::size_t count = side.size();
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t k = 0; k < i; ++k) side[i] -= factor[i * count + k] * side[k];
            side[i] /= factor[i * count + i];
        }
        for (std::size_t i = count; i-- > 0;) {
            for (std::size_t k = i + 1; k < count; ++k) side[i] -= factor[k * count + i] * side[k];
            side[i] /= factor[i * count + i];
        }
    }

    CarefulRow rounded() const {
        CarefulRow row;
        for (std::size_t j = 0; j < width_; ++j) {
            const auto weight = static_cast<double>(weights_[j]);
            if (weight > 0.0) {
                row.support.push_back(static_cast<std::int32_t>(j));
                row.values.push_back(weight);
            }
        }
        return row;
    }

    const double* hessian_;
    std::size_t width_;
    const double* linear_;
    std::vector<Real> weights_;
    std::vector<char> refused_;
    std::vector<std::size_t> support_;
};

}  // namespace

CarefulRow solve_carefully(const double* hessian, std::size_t width, const double* linear,
                           const std::function<bool()>& should_stop) {
    return CarefulSolver(hessian, width, linear).run(should_stop);
}

}  // namespace kedge
