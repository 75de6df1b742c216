// XCon against the numbers of its public release: the loss of a step over all images and four
// experts, gradients, and the division into groups.
#include <fmt/core.h>

#include <map>

#include "protogcd/cluster/kmeans.h"
#include "protogcd/methods/registry.h"
#include "tests/methods/golden_tensors.h"

namespace protogcd {
namespace {

using testing::expect_number;
using testing::relative_deviation;

class XconGolden : public ::testing::Test {
 protected:
  const testing::GoldenTensors golden_{"xcon"};
};

TEST_F(XconGolden, LossesAndGradientsOfAllImagesAndOfExperts) {
  MethodChoice choice = find_method("xcon");
  OptionTable table;
  choice->declare(table);
  for (const auto& [key, value] :
       std::map<std::string, std::string>{{"head_hidden", golden_.json.at("hidden_dim").dump()},
                                          {"projection", golden_.json.at("bottleneck_dim").dump()},
                                          {"wide_projection", golden_.json.at("out_dim").dump()},
                                          {"experts", golden_.json.at("experts").dump()}})
    ASSERT_FALSE(table.find(key)->assign(std::vector<std::string>{value}, OptionSource::kFlag));
  const auto method = choice->make({.width = golden_.json.at("in_dim"),
                                    .classes = std::vector<std::string>(9),
                                    .old_classes = 5,
                                    .groups = {0, 1, 2, 3},
                                    .batch = golden_.json.at("B"),
                                    .epochs = 200,
                                    .type = at::kDouble});
  const auto streams = method->streams();
  ASSERT_EQ(streams.size(), 5u);
  EXPECT_EQ(streams[1].images, golden_.json.at("B_expert"));
  // The release numbers the projection of all images last.
  for (const auto& [name, tensor] : method->parameters()) {
    const std::string own = name.substr(name.find('.') + 1);
    if (name.starts_with("all.")) {
      tensor.copy_(golden_.at("projector.4." + own));
    } else {
      for (std::int64_t i = 0; i < 4; ++i)
        tensor[i].copy_(golden_.at(fmt::format("projector.{}.{}", i, own)));
    }
    tensor.requires_grad_(true);
  }
  std::vector<StepBatch> batches;
  const std::vector<std::string> parts = {"global", "expert0", "expert1", "expert2", "expert3"};
  for (const std::string& part : parts) {
    batches.push_back({.labels = golden_.at(part + ".labels"),
                       .labelled = golden_.at(part + ".mask_labelled").to(at::kDouble),
                       .features = golden_.leaf(part + ".x")});
  }
  SingleProcess alone;
  const StepLoss loss = method->loss(batches, alone);
  expect_number(loss.total, golden_.json.at("total"), "total");
  expect_number(loss.reported[0], golden_.json.at("parts").at(4).at("unsup"), "unsup");
  expect_number(loss.reported[1], golden_.json.at("parts").at(4).at("sup"), "sup");
  loss.total.backward();
  for (std::size_t i = 0; i < parts.size(); ++i)
    EXPECT_LT(relative_deviation(batches[i].features.grad(), golden_.at(parts[i] + ".grad.x")),
              1e-9)
        << parts[i];
  int compared = 0;
  for (const auto& [name, tensor] : method->parameters()) {
    const std::string own = name.substr(name.find('.') + 1);
    const bool is_of_all = name.starts_with("all.");  // of the others, the first one's were kept
    EXPECT_LT(relative_deviation(
                  is_of_all ? tensor.grad() : tensor.grad()[0],
                  golden_.at((is_of_all ? "grad.projector.4." : "grad.projector.0.") + own)),
              1e-9)
        << name;
    ++compared;
  }
  EXPECT_EQ(compared, 14);
}

TEST_F(XconGolden, GroupsAreThoseOfScikitLearn) {
  const auto& expected = golden_.json.at("partition");
  const Clustering found = kmeans(Points(golden_.at("partition.features")), {.k = 4, .starts = 10});
  EXPECT_NEAR(found.inertia, expected.at("inertia").get<double>(), 1e-9);
  std::map<std::int64_t, std::int64_t> names;
  for (std::int64_t i = 0; i < found.labels.size(0); ++i) {
    const auto own = golden_.at("partition.labels")[i].item<std::int64_t>();
    EXPECT_EQ(names.try_emplace(found.labels[i].item<std::int64_t>(), own).first->second, own);
  }
}

}  // namespace
}  // namespace protogcd
