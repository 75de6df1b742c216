// The map equation against the infomap library's numbers: flow, code length and partition of the
// graph that DCCL's release makes of 160 rows.
#include <gtest/gtest.h>

#include <map>

#include "protogcd/analysis/map_equation.h"
#include "tests/support/golden.h"

namespace protogcd {
namespace {

class MapEquationGolden : public ::testing::Test {
 protected:
  std::vector<WeightedLink> links() const {
    const auto ends = testing::values_of<std::int64_t>(file_.at("links"));
    const auto weights = testing::values_of<double>(file_.at("link_weights"));
    std::vector<WeightedLink> result;
    for (std::size_t i = 0; i < weights.size(); ++i)
      result.push_back({static_cast<std::uint32_t>(ends[2 * i]),
                        static_cast<std::uint32_t>(ends[2 * i + 1]), weights[i]});
    return result;
  }

  const SafetensorsFile file_{testing::golden_folder() / "baselines" / "dccl.safetensors"};
  const std::vector<std::int64_t> modules_ = testing::values_of<std::int64_t>(file_.at("module"));
};

TEST_F(MapEquationGolden, FlowCodeLengthAndModulesAreTheLibrarys) {
  const MapModules found = map_modules(modules_.size(), links(), {.trials = 10});
  const auto flow = testing::values_of<double>(file_.at("node_flow"));
  for (std::size_t i = 0; i < flow.size(); ++i) EXPECT_NEAR(found.node_flow[i], flow[i], 1e-12);
  const auto expected = testing::baselines_json().at("dccl").at("concepts");
  EXPECT_NEAR(found.code_length, expected.at("codelength").get<double>(), 1e-9);
  EXPECT_NEAR(found.index_length, expected.at("index_codelength").get<double>(), 1e-9);
  EXPECT_NEAR(found.one_module_length, expected.at("one_level_codelength").get<double>(), 1e-9);
  std::map<std::int32_t, std::int64_t> names;
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    const auto [name, is_new] = names.try_emplace(found.module[i], modules_[i]);
    EXPECT_EQ(name->second, modules_[i]) << i;
  }
  EXPECT_EQ(names.at(-1), -1);
  EXPECT_EQ(names.size(), 10u);
}

}  // namespace
}  // namespace protogcd
