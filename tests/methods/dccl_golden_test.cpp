// DCCL against the numbers of its public release.
#include <map>

#include "protogcd/methods/concept_memory.h"
#include "protogcd/methods/concepts.h"
#include "protogcd/methods/registry.h"
#include "protogcd/nn/head.h"
#include "tests/methods/golden_tensors.h"

namespace protogcd {
namespace {

using testing::relative_deviation;

class DcclGolden : public ::testing::Test {
 protected:
  at::Tensor known_labels() const {
    return at::where(golden_.at("labelled") > 0, golden_.at("labels"), -1);
  }
  const testing::GoldenTensors golden_{"dccl"};
  const at::Tensor rows_ = unit_rows(golden_.at("features"));
};

TEST_F(DcclGolden, LinksAreTheReleasesWithItsRanksTakenForImages) {
  const auto links = concept_links(rows_, known_labels(), {.label_by_rank = true});
  const at::Tensor &ends = golden_.at("links"), &weights = golden_.at("link_weights");
  ASSERT_EQ(std::ssize(links), ends.size(0));
  for (std::int64_t i = 0; i < ends.size(0); ++i) {
    const WeightedLink& link = links[static_cast<std::size_t>(i)];
    EXPECT_EQ(link.from, ends[i][0].item<std::int64_t>());
    EXPECT_EQ(link.to, ends[i][1].item<std::int64_t>());
    EXPECT_NEAR(link.weight, weights[i].item<double>(), 1e-12);
  }
}

TEST_F(DcclGolden, ConceptsAreTheReleases) {
  const Concepts found =
      find_concepts(rows_, known_labels(), {.map = {.trials = 10}, .label_by_rank = true});
  EXPECT_EQ(found.count, golden_.json.at("concepts").at("clusters"));
  const at::Tensor& expected = golden_.at("pseudo_labels");
  std::map<std::int32_t, std::int64_t> names;
  for (std::size_t i = 0; i < found.of_image.size(); ++i) {
    const auto own = expected[static_cast<std::int64_t>(i)].item<std::int64_t>();
    EXPECT_EQ(names.try_emplace(found.of_image[i], own).first->second, own);
  }
  EXPECT_EQ(names.at(-1), -1);
  EXPECT_EQ(std::ssize(names), found.count + 1);
}

TEST_F(DcclGolden, TheMemoryBeginsPullsAndFollowsAsTheReleases) {
  SingleProcess alone;
  const at::Tensor& labels = golden_.at("pseudo_labels");
  ConceptMemory memory(12, 12, {}, at::kDouble, at::kCPU);
  memory.begin(golden_.at("features"), labels, 8);
  EXPECT_EQ(memory.count(), 8);
  const at::Tensor directions = memory.state().at("memory");
  EXPECT_LT(relative_deviation(directions.narrow(0, 0, 8), unit_rows(golden_.at("cluster_mean"))),
            1e-9);
  directions.narrow(0, 0, 8).copy_(golden_.at("memory.before"));
  const at::Tensor inputs = golden_.leaf("memory.inputs");
  const at::Tensor loss = memory.loss(inputs, golden_.at("memory.targets").slice(0, 0, 10), alone);
  testing::expect_number(loss, golden_.json.at("memory").at("loss"), "loss");
  loss.backward();
  EXPECT_LT(relative_deviation(inputs.grad(), golden_.at("memory.grad.inputs")), 1e-9);
  memory.update(at::ones({}, at::kBool));
  EXPECT_LT(relative_deviation(directions.narrow(0, 0, 8), golden_.at("memory.after")), 1e-9);
}

/// More rows of one concept than an update has rounds: those that come last decide.
TEST_F(DcclGolden, OfManyRowsOfOneConceptTheLastOnesDecide) {
  SingleProcess alone;
  at::manual_seed(2);
  ConceptMemory memory(3, 12, {}, at::kDouble, at::kCPU);
  memory.begin(golden_.at("features"), at::zeros({160}, at::kLong), 1);
  const at::Tensor rows = at::randn({80, 12}, at::kDouble);
  at::Tensor expected = memory.state().at("memory")[0].clone();
  for (std::int64_t i = 0; i < 80; ++i) {
    expected = expected * 0.1 + unit_rows(rows)[i] * 0.9;
    expected = expected / expected.norm();
  }
  memory.loss(rows, at::zeros({40}, at::kLong), alone);
  memory.update(at::ones({}, at::kBool));
  EXPECT_LT(relative_deviation(memory.state().at("memory")[0], expected), 1e-9);
}

TEST_F(DcclGolden, AMemoryThatIsOffStaysAsItIs) {
  SingleProcess alone;
  ConceptMemory memory(9, 12, {}, at::kDouble, at::kCPU);
  memory.begin(golden_.at("features"), golden_.at("pseudo_labels"), 8);
  const at::Tensor before = memory.state().at("memory").clone();
  memory.loss(golden_.at("memory.inputs"), golden_.at("memory.targets").slice(0, 0, 10), alone);
  memory.update(at::zeros({}, at::kBool));
  EXPECT_TRUE(at::equal(memory.state().at("memory"), before));
}

/// A graph whose images come in groups, so that it is known what a batch of concepts is.
TEST_F(DcclGolden, BatchesHaveSoManyImagesOfEachConcept) {
  class Sets : public SetFeatures {
   public:
    explicit Sets(at::Tensor rows) : rows_(std::move(rows)) {}
    std::int64_t count(SampleSet set) const override {
      return set == SampleSet::kUnlabelled ? rows_.size(0) : 0;
    }
    void for_each(SampleSet set, const std::function<void(const at::Tensor&)>& use) override {
      if (set == SampleSet::kUnlabelled) use(rows_);
    }
    at::Tensor labels() const override { return at::empty({0}, at::kLong); }

   private:
    at::Tensor rows_;
  } sets(golden_.at("features"));
  const auto method = find_method("dccl")->make({.width = 12,
                                                 .classes = std::vector<std::string>(8),
                                                 .unlabelled = 160,
                                                 .epochs = 200,
                                                 .type = at::kDouble});
  for (const auto& [epoch, weight] : golden_.json.at("concept_weight").items()) {
    const auto numbers =
        method->begin_epoch({.epoch = std::stoi(epoch), .images_per_step = 64, .sets = sets});
    EXPECT_NEAR(numbers.at(0), weight.get<double>(), 1e-12) << epoch;
  }
  EXPECT_TRUE(method->draws(0, 3, 10, 64).empty());
  const auto drawn = method->draws(1, 3, 10, 64);
  ASSERT_EQ(drawn.size(), 640u);
  EXPECT_EQ(drawn, method->draws(1, 3, 10, 64));
  EXPECT_NE(drawn, method->draws(1, 4, 10, 64));
  const at::Tensor concepts = method->state().at("concept");
  for (std::size_t batch = 0; batch < 10; ++batch) {
    std::map<std::int64_t, int> images;
    for (std::size_t i = 0; i < 64; ++i)
      ++images[concepts[drawn[batch * 64 + i]].item<std::int64_t>()];
    EXPECT_EQ(images.size(), 4u);
    for (const auto& [concept_number, count] : images) {
      EXPECT_GE(concept_number, 0);
      EXPECT_EQ(count, 16);
    }
  }
}

TEST_F(DcclGolden, ALinkBetweenImagesOfOneLabelIsAsStrongAsTheStrongest) {
  const at::Tensor labels = known_labels();
  double highest = 0;
  int raised = 0;
  for (const WeightedLink& link : concept_links(rows_, labels, {})) {
    const auto one = labels[link.from].item<std::int64_t>(),
               other = labels[link.to].item<std::int64_t>();
    const double cosine = (rows_[link.from] * rows_[link.to]).sum().item<double>();
    const at::Tensor to_all = at::mv(rows_, rows_[link.from]);
    highest = to_all.index_fill(0, at::tensor({static_cast<std::int64_t>(link.from)}), -1)
                  .max()
                  .item<double>();
    const bool is_same = one >= 0 && one == other;
    EXPECT_NEAR(link.weight, is_same ? highest : cosine, 1e-12);
    raised += is_same && highest > cosine + 1e-6 ? 1 : 0;
  }
  EXPECT_GT(raised, 100);
}

}  // namespace
}  // namespace protogcd
