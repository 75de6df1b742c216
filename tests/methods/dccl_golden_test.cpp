// DCCL against the numbers of its public release.
#include <map>

#include "protogcd/methods/concepts.h"
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
