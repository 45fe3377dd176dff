#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "communities.hpp"

namespace kedge {

namespace {

// Loss and numbers of a pair, compared in this order.
using Pair = std::tuple<double, std::int64_t, std::int64_t>;
using Lightest = std::pair<double, std::int64_t>;
template <class T>
using SmallestFirst = std::priority_queue<T, std::vector<T>, std::greater<T>>;

// Communities that merge. Each lives in a slot, where the union stays that took over the larger list of neighbours, so
// that only the shorter list is walked. Losses add up (a with b, and c with b, make the union of a and c with b), so a
// pair whose loss stands in the heap from before a merge with an unconnected community can only have become worse: it
// is looked at again when it reaches the top.
class Merging {
   public:
    explicit Merging(const WeightedGraph& graph)
        : penalty_(graph.penalty),
          masses_(graph.masses, graph.masses + graph.nodes),
          neighbors_(graph.nodes),
          numbers_(graph.nodes),
          slots_(2 * graph.nodes),
          unions_(2 * graph.nodes) {
        for (std::size_t slot = 0; slot < graph.nodes; ++slot) {
            numbers_[slot] = slots_[slot] = static_cast<std::int64_t>(slot);
            lightest_.emplace(masses_[slot], static_cast<std::int64_t>(slot));
        }
        for (std::size_t number = 0; number < unions_.size(); ++number) {
            unions_[number] = static_cast<std::int64_t>(number);
        }
        for (std::size_t slot = 0; slot < graph.nodes; ++slot) {
            for (auto edge = graph.row_starts[slot]; edge < graph.row_starts[slot + 1]; ++edge) {
                // Both directions carry the same weight up to rounding; the one from the lower number counts.
                const auto other = static_cast<std::size_t>(graph.neighbors[edge]);
                if (other < slot) continue;
                neighbors_[slot][other] = graph.weights[edge];
                neighbors_[other][slot] = graph.weights[edge];
            }
        }
        for (std::size_t slot = 0; slot < graph.nodes; ++slot) {
            for (const auto& [other, weight] : neighbors_[slot]) {
                if (slot < other) push(slot, other, weight);
            }
        }
    }

    std::vector<Merge> run() {
        std::vector<Merge> merges;
        const std::size_t communities = masses_.size();
        merges.reserve(communities);
        while (merges.size() + 1 < communities) {
            const auto [loss, left, right] = std::min(next_connected(), next_unconnected());
            merges.push_back({left, right, loss});
            merge(left, right, static_cast<std::int64_t>(communities + merges.size() - 1));
        }
        return merges;
    }

   private:
    double loss(std::size_t a, std::size_t b, double weight) const {
        return 2.0 * (penalty_ * masses_[a] * masses_[b] - weight);
    }

    // The product of masses in the order of the numbers, as the twin takes it.
    Pair pair_of(std::size_t a, std::size_t b, double weight) const {
        if (numbers_[a] > numbers_[b]) std::swap(a, b);
        return {loss(a, b, weight), numbers_[a], numbers_[b]};
    }

    void push(std::size_t a, std::size_t b, double weight) { connected_.push(pair_of(a, b, weight)); }

    // The number under which a community goes now; the way there is shortened for the next call.
    std::int64_t current(std::int64_t number) {
        while (unions_[number] != number) {
            unions_[number] = unions_[unions_[number]];
            number = unions_[number];
        }
        return number;
    }

    Pair next_connected() {
        while (!connected_.empty()) {
            const Pair top = connected_.top();
            const std::int64_t left = current(std::get<1>(top)), right = current(std::get<2>(top));
            if (left != right) {
                const auto a = static_cast<std::size_t>(slots_[left]), b = static_cast<std::size_t>(slots_[right]);
                const Pair now = pair_of(a, b, neighbors_[a].at(b));
                if (now == top) return top;
                connected_.pop();
                connected_.push(now);
            } else {
                connected_.pop();
            }
        }
        return none;
    }

    // Without an edge a pair loses 2 penalty mass mass, so no other pair can lose less than the two lightest. If these
    // have an edge, they are among the connected pairs with a smaller loss.
    Pair next_unconnected() {
        const Lightest first = pop_lightest(), second = pop_lightest();
        lightest_.push(first);
        lightest_.push(second);
        return pair_of(static_cast<std::size_t>(slots_[first.second]), static_cast<std::size_t>(slots_[second.second]),
                       0.0);
    }

    Lightest pop_lightest() {
        while (unions_[lightest_.top().second] != lightest_.top().second) lightest_.pop();
        const Lightest top = lightest_.top();
        lightest_.pop();
        return top;
    }

    void merge(std::int64_t left, std::int64_t right, std::int64_t number) {
        auto kept = static_cast<std::size_t>(slots_[left]), freed = static_cast<std::size_t>(slots_[right]);
        if (neighbors_[kept].size() < neighbors_[freed].size()) std::swap(kept, freed);
        unions_[left] = unions_[right] = number;
        slots_[number] = static_cast<std::int64_t>(kept);
        numbers_[kept] = number;
        masses_[kept] += masses_[freed];
        neighbors_[kept].erase(freed);
        neighbors_[freed].erase(kept);
        for (const auto& [other, weight] : neighbors_[freed]) {
            const double together = neighbors_[kept][other] += weight;
            neighbors_[other].erase(freed);
            neighbors_[other][kept] = together;
            push(kept, other, together);
        }
        neighbors_[freed] = {};
        lightest_.emplace(masses_[kept], number);
    }

    inline static const Pair none{std::numeric_limits<double>::infinity(), -1, -1};

    double penalty_;
    std::vector<double> masses_;                                      // by slot
    std::vector<std::unordered_map<std::size_t, double>> neighbors_;  // by slot
    std::vector<std::int64_t> numbers_;                               // by slot
    std::vector<std::int64_t> slots_, unions_;                        // by number
    SmallestFirst<Pair> connected_;
    SmallestFirst<Lightest> lightest_;
};

}  // namespace

std::vector<Merge> merge_communities(const WeightedGraph& graph) { return Merging(graph).run(); }

}  // namespace kedge
