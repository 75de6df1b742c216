// Communities of a directed graph by the map equation (Rosvall and Bergstrom, 2008): the division
// into modules by which the way of a random walker is told in the fewest bits. Two levels.
//
// The walker follows links by their weight and, with probability 0.15 or where no link leads on,
// starts anew at a node by its share of all link weight; of these jumps none is told. With q_ij the
// flow along a link, n_j the flow into a node, and for a module m the flow that enters it, that
// leaves it and that is in it, pl(x) = x log2 x:
//
//   L = pl(sum enter_m) - sum pl(enter_m) - sum pl(exit_m) + sum pl(exit_m + flow_m) - sum pl(n_j)
//
// The search moves single nodes, in random order, to the neighbouring module that saves most, then
// whole modules as if they were nodes, until nothing moves (Blondel et al., 2008).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "protogcd/core/stop.h"

namespace protogcd {

struct WeightedLink {
  std::uint32_t from = 0, to = 0;
  double weight = 0;  ///< above 0
};

struct MapOptions {
  std::int64_t trials = 1;  ///< orders that are tried; the shortest code is kept
  std::uint64_t seed = 0;
};

struct MapModules {
  /// Of each node, 0 to `count` - 1 in the order of their first nodes; -1: without any link.
  std::vector<std::int32_t> module;
  std::int32_t count = 0;
  std::vector<double> node_flow;  ///< n_j
  double code_length = 0;         ///< L in bits
  double index_length = 0;        ///< its part for steps between modules
  double one_module_length = 0;   ///< L if all were in one module
};

/// Links between nodes 0 to `nodes` - 1; links of a node to itself and repeated ones count as they
/// are. Asked to stop, it throws InterruptedError.
MapModules map_modules(std::size_t nodes, std::span<const WeightedLink> links,
                       const MapOptions& options = {}, const StopToken& stop = {});

}  // namespace protogcd
