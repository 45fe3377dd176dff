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

// Weight between two communities, and the loss under which the pair stands in the heap.
struct Edge {
    double weight, queued;
};

// Communities that merge. Each lives in a slot; a union takes the slot with the longer list of neighbours, so that only
// the shorter list is walked. Towards a neighbour that is in the longer list only, the union is heavier but has no more
// weight, so the loss can only have risen: the heap holds a lower bound, which is renewed when it reaches the top.
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
                enqueue(slot, other, graph.weights[edge]);
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
    // In the order of operations that makes losses equal for (a, b) and (b, a), and rise with the masses, after
    // rounding as well.
    double loss(std::size_t a, std::size_t b, double weight) const {
        return 2.0 * (penalty_ * (masses_[a] * masses_[b]) - weight);
    }

    Pair pair_of(std::size_t a, std::size_t b, double weight) const {
        return {loss(a, b, weight), std::min(numbers_[a], numbers_[b]), std::max(numbers_[a], numbers_[b])};
    }

    // Puts a pair in the heap, with its loss as it is now; what stands there from before is passed over.
    void enqueue(std::size_t a, std::size_t b, double weight) {
        const Pair now = pair_of(a, b, weight);
        neighbors_[a][b] = neighbors_[b][a] = {weight, std::get<0>(now)};
        connected_.push(now);
    }

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
            const auto a = static_cast<std::size_t>(slots_[left]), b = static_cast<std::size_t>(slots_[right]);
            if (left == right) {
                connected_.pop();
                continue;
            }
            const Edge edge = neighbors_[a].at(b);
            if (top == pair_of(a, b, edge.weight)) return top;
            connected_.pop();
            if (std::get<0>(top) == edge.queued) enqueue(a, b, edge.weight);
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
        for (const auto& [other, edge] : neighbors_[freed]) {
            neighbors_[other].erase(freed);
            Edge& joined = neighbors_[kept].try_emplace(other, Edge{0.0, edge.queued}).first->second;
            joined = {joined.weight + edge.weight, std::min(joined.queued, edge.queued)};
            neighbors_[other][kept] = joined;
            if (loss(kept, other, joined.weight) < joined.queued) enqueue(kept, other, joined.weight);
        }
        neighbors_[freed] = {};
        lightest_.emplace(masses_[kept], number);
    }

    inline static const Pair none{std::numeric_limits<double>::infinity(), -1, -1};

    double penalty_;
    std::vector<double> masses_;                                    // by slot
    std::vector<std::unordered_map<std::size_t, Edge>> neighbors_;  // by slot
    std::vector<std::int64_t> numbers_;                             // by slot
    std::vector<std::int64_t> slots_, unions_;                      // by number
    SmallestFirst<Pair> connected_;
    SmallestFirst<Lightest> lightest_;
};

}  // namespace

std::vector<Merge> merge_communities(const WeightedGraph& graph) { return Merging(graph).run(); }

}  // namespace kedge
