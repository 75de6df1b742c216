#include "protogcd/analysis/map_equation.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "protogcd/core/error.h"
#include "protogcd/core/random.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;

void link_all(std::vector<WeightedLink>& links, std::uint32_t first, std::uint32_t end) {
  for (std::uint32_t i = first; i < end; ++i)
    for (std::uint32_t j = first; j < end; ++j)
      if (i != j) links.push_back({i, j, 1.0});
}

TEST(MapModules, GroupsThatAreLinkedWithinAreFoundApart) {
  std::vector<WeightedLink> links;
  link_all(links, 0, 4);
  link_all(links, 4, 8);
  links.push_back({3, 4, 0.2});
  links.push_back({4, 3, 0.2});
  const MapModules found = map_modules(9, links);
  EXPECT_THAT(found.module, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, -1));
  EXPECT_EQ(found.count, 2);
  EXPECT_LT(found.code_length, found.one_module_length);
}

TEST(MapModules, WithoutLinksThereAreNone) {
  const MapModules found = map_modules(2, {});
  EXPECT_THAT(found.module, ElementsAre(-1, -1));
  EXPECT_EQ(found.count, 0);
}

TEST(MapModules, StopsWhenAskedTo) {
  std::vector<WeightedLink> links;
  link_all(links, 0, 4);
  const StopToken stop;
  stop.request_stop();
  EXPECT_THROW(map_modules(4, links, {}, stop), InterruptedError);
}

std::vector<WeightedLink> random_links(std::size_t nodes, std::uint64_t seed) {
  RandomStream random({.seed = seed});
  std::vector<WeightedLink> links;
  for (std::uint32_t i = 0; i < nodes; ++i)
    for (std::uint32_t j = 0; j < nodes; ++j)
      if (i != j && random.uniform() < 0.4) links.push_back({i, j, 0.1 + random.uniform()});
  return links;
}

double plogp(double x) {
  return x > 0 ? x * std::log2(x) : 0;
}

/// L as it is defined, from the walker's flow by plain sums. Node flow is taken as found.
double code_length(std::size_t nodes, const std::vector<WeightedLink>& links,
                   const std::vector<int>& module) {
  std::vector<double> out(nodes, 0), at(nodes, 1.0 / static_cast<double>(nodes)), start(nodes, 0);
  double all = 0;
  for (const WeightedLink& link : links) out[link.from] += link.weight, all += link.weight;
  for (std::size_t i = 0; i < nodes; ++i) start[i] = out[i] / all;
  double dangling = 0;
  for (int round = 0; round < 2000; ++round) {
    dangling = 0;
    for (std::size_t i = 0; i < nodes; ++i) dangling += out[i] == 0 ? at[i] : 0;
    std::vector<double> next(nodes);
    for (std::size_t i = 0; i < nodes; ++i) next[i] = (0.15 + 0.85 * dangling) * start[i];
    for (const WeightedLink& link : links)
      next[link.to] += 0.85 * at[link.from] * link.weight / out[link.from];
    at = next;
  }
  const std::size_t modules = nodes;
  std::vector<double> enter(modules, 0), exit(modules, 0), inside(modules, 0), flow(nodes, 0);
  double crossing = 0;
  for (const WeightedLink& link : links) {
    const double q = at[link.from] * link.weight / out[link.from] / (1 - dangling);
    flow[link.to] += q;
    const int from = module[link.from], to = module[link.to];
    if (from == to) continue;
    exit[static_cast<std::size_t>(from)] += q;
    enter[static_cast<std::size_t>(to)] += q;
    crossing += q;
  }
  double length = plogp(crossing);
  for (std::size_t i = 0; i < nodes; ++i) {
    inside[static_cast<std::size_t>(module[i])] += flow[i];
    length -= plogp(flow[i]);
  }
  for (std::size_t m = 0; m < modules; ++m)
    length += plogp(exit[m] + inside[m]) - plogp(enter[m]) - plogp(exit[m]);
  return length;
}

/// All divisions of the nodes, each as growing numbers.
void for_each_division(std::vector<int>& module, std::size_t place, int used,
                       const std::function<void()>& use) {
  if (place == module.size()) return use();
  for (int m = 0; m <= used; ++m) {
    module[place] = m;
    for_each_division(module, place + 1, std::max(used, m + 1), use);
  }
}

TEST(MapModules, OfManyOrdersTheBestIsTheShortestCodeThereIs) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const std::size_t nodes = 7;
    const auto links = random_links(nodes, seed);
    const MapModules found = map_modules(nodes, links, {.trials = 30});
    double shortest = 1e9;
    std::vector<int> module(nodes);
    for_each_division(module, 0, 0,
                      [&] { shortest = std::min(shortest, code_length(nodes, links, module)); });
    EXPECT_NEAR(found.code_length, shortest, 1e-9) << seed;
    EXPECT_NEAR(found.one_module_length, code_length(nodes, links, std::vector<int>(nodes, 0)),
                1e-9);
    EXPECT_NEAR(found.code_length,
                code_length(nodes, links, {found.module.begin(), found.module.end()}), 1e-9);
  }
}

/// Groups of 20 nodes, each linked to 12 others of its group and 2 of any.
TEST(MapModules, ManyGroupsInALargerGraphAreFound) {
  RandomStream random({.seed = 3});
  std::vector<WeightedLink> links;
  const std::uint32_t nodes = 3000, size = 20;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    for (int n = 0; n < 12; ++n)
      links.push_back({i, i / size * size + static_cast<std::uint32_t>(random.below(size)), 0.9});
    for (int n = 0; n < 2; ++n)
      links.push_back({i, static_cast<std::uint32_t>(random.below(nodes)), 0.6});
  }
  const MapModules found = map_modules(nodes, links);
  EXPECT_EQ(found.count, nodes / size);
  for (std::uint32_t i = 0; i < nodes; ++i)
    EXPECT_EQ(found.module[i], static_cast<std::int32_t>(i / size));
}

TEST(MapModules, TheSameSeedGivesTheSame) {
  const auto links = random_links(40, 5);
  EXPECT_EQ(map_modules(40, links, {.trials = 2, .seed = 1}).module,
            map_modules(40, links, {.trials = 2, .seed = 1}).module);
}

}  // namespace
}  // namespace protogcd
