#include "protogcd/analysis/map_equation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "protogcd/core/error.h"
#include "protogcd/core/random.h"

namespace protogcd {
namespace {

constexpr double kJump = 0.15;
constexpr double kLeastSaving = 1e-10;  // bits that a move must save
constexpr double kStable = 1e-16;       // change of the walker's flow, over all nodes
constexpr int kMostWalks = 1000;        // of the walk; 0.85^n is below kStable after 230

double bits_of(double x) {
  return x > 0 ? x * std::log2(x) : 0;
}

struct FlowLink {
  std::uint32_t from = 0, to = 0;
  double flow = 0;
};

/// Nodes, or modules taken for nodes: the flow along links both ways, without links to itself.
class FlowGraph {
 public:
  struct Neighbour {
    std::uint32_t node;
    double out, in;  ///< flow to it and from it
  };

  /// Links may be repeated; `flow` is of each node.
  FlowGraph(std::vector<double> flow, std::vector<FlowLink> links) : flow_(std::move(flow)) {
    const std::size_t nodes = flow_.size();
    std::erase_if(links, [](const FlowLink& link) { return link.from == link.to; });
    begins_.assign(nodes + 1, 0);
    for (const FlowLink& link : links) {
      ++begins_[link.from + 1];
      ++begins_[link.to + 1];
    }
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    neighbours_.resize(begins_.back());
    std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
    for (const FlowLink& link : links) {
      neighbours_[next[link.from]++] = {link.to, link.flow, 0};
      neighbours_[next[link.to]++] = {link.from, 0, link.flow};
    }
    out_.assign(nodes, 0);
    in_.assign(nodes, 0);
    for (std::size_t node = 0; node < nodes; ++node) {
      for (const Neighbour& other : of(node)) {
        out_[node] += other.out;
        in_[node] += other.in;
      }
    }
  }

  std::size_t size() const { return flow_.size(); }
  std::span<const Neighbour> of(std::size_t node) const {
    return std::span(neighbours_).subspan(begins_[node], begins_[node + 1] - begins_[node]);
  }
  double flow(std::size_t node) const { return flow_[node]; }
  double out(std::size_t node) const { return out_[node]; }
  double in(std::size_t node) const { return in_[node]; }

  /// Each module as one node.
  FlowGraph contracted(const std::vector<std::uint32_t>& module, std::size_t count) const {
    std::vector<double> flow(count, 0);
    std::vector<std::vector<std::uint32_t>> members(count);
    for (std::size_t node = 0; node < size(); ++node) {
      flow[module[node]] += flow_[node];
      members[module[node]].push_back(static_cast<std::uint32_t>(node));
    }
    std::vector<FlowLink> links;
    std::vector<double> to(count, 0);
    std::vector<std::uint32_t> reached;
    for (std::uint32_t from = 0; from < count; ++from) {
      for (const std::uint32_t node : members[from]) {
        for (const Neighbour& other : of(node)) {
          if (other.out == 0) continue;
          const std::uint32_t target = module[other.node];
          if (to[target] == 0) reached.push_back(target);
          to[target] += other.out;
        }
      }
      for (const std::uint32_t target : reached) {
        links.push_back({from, target, to[target]});
        to[target] = 0;
      }
      reached.clear();
    }
    return {std::move(flow), std::move(links)};
  }

 private:
  std::vector<double> flow_, out_, in_;
  std::vector<std::size_t> begins_;  ///< of each node's neighbours
  std::vector<Neighbour> neighbours_;
};

/// Flow across a module's border, and in it.
struct ModuleFlow {
  double enter = 0, exit = 0, flow = 0;

  /// Its part of the code length, but for what depends on the sum over all modules.
  double bits() const { return bits_of(exit + flow) - bits_of(enter) - bits_of(exit); }
};

/// The search on one level: single nodes move until nothing is saved.
class NodeMoves {
 public:
  explicit NodeMoves(const FlowGraph& graph)
      : graph_(graph),
        module_(graph.size()),
        modules_(graph.size()),
        to_(graph.size()),
        is_candidate_(graph.size(), false) {
    for (std::size_t node = 0; node < graph.size(); ++node) {
      module_[node] = static_cast<std::uint32_t>(node);
      modules_[node] = {.enter = graph.in(node), .exit = graph.out(node), .flow = graph.flow(node)};
      entering_ += graph.in(node);
    }
  }

  /// Returns whether any node has moved.
  bool run(RandomStream& random, const StopToken& stop);
  /// Modules are numbered from 0 on; returns how many there are.
  std::size_t renumber();
  const std::vector<std::uint32_t>& module() const { return module_; }

 private:
  struct Link {
    double out = 0, in = 0;
  };
  bool move(std::uint32_t node);
  ModuleFlow without(std::uint32_t node, const ModuleFlow& from, const Link& own) const {
    return {.enter = from.enter - (graph_.in(node)-own.in) + own.out,
            .exit = from.exit - (graph_.out(node) - own.out) + own.in,
            .flow = from.flow - graph_.flow(node)};
  }
  ModuleFlow with(std::uint32_t node, const ModuleFlow& to, const Link& link) const {
    return {.enter = to.enter + (graph_.in(node)-link.in) - link.out,
            .exit = to.exit + (graph_.out(node) - link.out) - link.in,
            .flow = to.flow + graph_.flow(node)};
  }

  const FlowGraph& graph_;
  std::vector<std::uint32_t> module_;  ///< of each node
  std::vector<ModuleFlow> modules_;
  double entering_ = 0;   ///< sum over modules
  std::vector<Link> to_;  ///< of the node at hand, by module
  std::vector<std::uint32_t> candidates_;
  std::vector<bool> is_candidate_;
};

bool NodeMoves::move(std::uint32_t node) {
  const std::uint32_t before = module_[node];
  candidates_.assign(1, before);
  is_candidate_[before] = true;
  for (const FlowGraph::Neighbour& other : graph_.of(node)) {
    const std::uint32_t module = module_[other.node];
    if (!is_candidate_[module]) {
      is_candidate_[module] = true;
      candidates_.push_back(module);
    }
    to_[module].out += other.out;
    to_[module].in += other.in;
  }
  const ModuleFlow left = without(node, modules_[before], to_[before]);
  const double left_bits = left.bits() - modules_[before].bits();
  const double left_entering = entering_ + left.enter - modules_[before].enter;
  std::uint32_t best = before;
  ModuleFlow best_flow;
  double most = kLeastSaving;
  for (const std::uint32_t module : candidates_) {
    if (module == before) continue;
    const ModuleFlow joined = with(node, modules_[module], to_[module]);
    const double change = left_bits + joined.bits() - modules_[module].bits() +
                          bits_of(left_entering + joined.enter - modules_[module].enter) -
                          bits_of(entering_);
    if (-change > most) {
      most = -change;
      best = module;
      best_flow = joined;
    }
  }
  for (const std::uint32_t module : candidates_) {
    to_[module] = {};
    is_candidate_[module] = false;
  }
  if (best == before) return false;
  entering_ = left_entering + best_flow.enter - modules_[best].enter;
  modules_[before] = left;
  modules_[best] = best_flow;
  module_[node] = best;
  return true;
}

bool NodeMoves::run(RandomStream& random, const StopToken& stop) {
  std::vector<std::uint32_t> order(graph_.size());
  std::iota(order.begin(), order.end(), 0u);
  // Only nodes with a neighbour that has moved can gain by a move they did not gain by before, but
  // for the sum over all modules, whose slow change a last round over all nodes takes in.
  std::vector<bool> is_due(graph_.size(), true);
  bool has_moved = false;
  for (bool is_last = false;;) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    std::size_t moved = 0;
    for (const std::uint32_t node : order) {
      if (!is_due[node]) continue;
      is_due[node] = false;
      if (!move(node)) continue;
      ++moved;
      for (const FlowGraph::Neighbour& other : graph_.of(node)) is_due[other.node] = true;
    }
    if (stop.stop_requested()) throw InterruptedError("stopped while communities were looked for");
    has_moved = has_moved || moved > 0;
    if (moved == 0 && is_last) return has_moved;
    is_last = moved == 0;
    if (is_last) is_due.assign(graph_.size(), true);
  }
}

std::size_t NodeMoves::renumber() {
  std::vector<std::int64_t> number(graph_.size(), -1);
  std::uint32_t count = 0;
  for (std::uint32_t& module : module_) {
    if (number[module] < 0) number[module] = count++;
    module = static_cast<std::uint32_t>(number[module]);
  }
  return count;
}

/// Flow along each link, and into each node.
struct Walk {
  std::vector<double> link_flow, node_flow;
};

Walk walker_flow(std::size_t nodes, std::span<const WeightedLink> links) {
  std::vector<double> out(nodes, 0);
  for (const WeightedLink& link : links) out[link.from] += link.weight;
  const double all = std::accumulate(out.begin(), out.end(), 0.0);
  std::vector<double> start(nodes);
  for (std::size_t i = 0; i < nodes; ++i) start[i] = out[i] / all;
  std::vector<double> at = start, next(nodes);
  double ends = 0;  // flow at nodes from which no link leads on
  for (int round = 0; round < kMostWalks; ++round) {
    ends = 0;
    for (std::size_t i = 0; i < nodes; ++i)
      if (out[i] == 0) ends += at[i];
    for (std::size_t i = 0; i < nodes; ++i) next[i] = (kJump + (1 - kJump) * ends) * start[i];
    for (const WeightedLink& link : links)
      next[link.to] += (1 - kJump) * at[link.from] * link.weight / out[link.from];
    double change = 0;
    for (std::size_t i = 0; i < nodes; ++i) change += std::abs(next[i] - at[i]);
    at.swap(next);
    if (change < kStable) break;
  }
  ends = 0;
  for (std::size_t i = 0; i < nodes; ++i)
    if (out[i] == 0) ends += at[i];
  Walk result{.link_flow = {}, .node_flow = std::vector<double>(nodes, 0)};
  for (const WeightedLink& link : links) {
    result.link_flow.push_back(at[link.from] * link.weight / out[link.from] / (1 - ends));
    result.node_flow[link.to] += result.link_flow.back();
  }
  return result;
}

/// One order of moves, to its end: the module of each node, numbered by their first nodes.
std::vector<std::uint32_t> search_modules(const FlowGraph& graph, RandomStream random,
                                          const StopToken& stop) {
  std::vector<std::uint32_t> module(graph.size());
  std::iota(module.begin(), module.end(), 0u);
  FlowGraph level = graph;
  for (;;) {
    NodeMoves moves(level);
    if (!moves.run(random, stop)) return module;
    const std::size_t count = moves.renumber();
    for (std::uint32_t& of_node : module) of_node = moves.module()[of_node];
    level = level.contracted(moves.module(), count);
  }
}

double entropy_of_nodes(const std::vector<double>& flow) {
  double sum = 0;
  for (const double value : flow) sum += bits_of(value);
  return -sum;
}

/// Code length and its index part.
std::pair<double, double> code_lengths(const FlowGraph& graph,
                                       const std::vector<std::uint32_t>& module, double of_nodes) {
  std::vector<ModuleFlow> modules(*std::ranges::max_element(module) + 1);
  for (std::size_t node = 0; node < graph.size(); ++node) {
    modules[module[node]].flow += graph.flow(node);
    for (const FlowGraph::Neighbour& other : graph.of(node)) {
      if (module[other.node] == module[node]) continue;
      modules[module[node]].exit += other.out;
      modules[module[node]].enter += other.in;
    }
  }
  double entering = 0, bits = 0, of_entering = 0;
  for (const ModuleFlow& one : modules) {
    entering += one.enter;
    of_entering += bits_of(one.enter);
    bits += one.bits();
  }
  return {bits_of(entering) + bits + of_nodes, bits_of(entering) - of_entering};
}

}  // namespace

MapModules map_modules(std::size_t nodes, std::span<const WeightedLink> links,
                       const MapOptions& options, const StopToken& stop) {
  MapModules result{.module = std::vector<std::int32_t>(nodes, -1),
                    .node_flow = std::vector<double>(nodes, 0)};
  if (links.empty()) return result;
  const Walk flows = walker_flow(nodes, links);
  result.node_flow = flows.node_flow;
  std::vector<FlowLink> flow_links;
  std::vector<bool> is_linked(nodes, false);
  for (std::size_t i = 0; i < links.size(); ++i) {
    flow_links.push_back({links[i].from, links[i].to, flows.link_flow[i]});
    is_linked[links[i].from] = is_linked[links[i].to] = true;
  }
  const FlowGraph graph(flows.node_flow, std::move(flow_links));
  const double of_nodes = entropy_of_nodes(flows.node_flow);
  std::vector<std::uint32_t> best;
  for (std::int64_t trial = 0; trial < std::max<std::int64_t>(options.trials, 1); ++trial) {
    const RandomStream random({.seed = options.seed,
                               .purpose = RandomPurpose::kShuffle,
                               .position = static_cast<std::uint64_t>(trial)});
    std::vector<std::uint32_t> found = search_modules(graph, random, stop);
    const auto [length, index] = code_lengths(graph, found, of_nodes);
    if (!best.empty() && length >= result.code_length) continue;
    best = std::move(found);
    result.code_length = length;
    result.index_length = index;
  }
  result.one_module_length = of_nodes;
  std::vector<std::int32_t> number(nodes, -1);
  for (std::size_t node = 0; node < nodes; ++node) {
    if (!is_linked[node]) continue;
    std::int32_t& own = number[best[node]];
    if (own < 0) own = result.count++;
    result.module[node] = own;
  }
  return result;
}

}  // namespace protogcd
