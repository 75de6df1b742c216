// What is told about the classes that were found.
#include "protogcd/run/found_classes.h"

#include <gtest/gtest.h>

namespace protogcd {
namespace {

const std::vector<std::string> kClasses = {"cat", "new-01", "new-02"};

TEST(FoundClasses, CountImagesConfidenceAndTheCommonestTruth) {
  const std::vector<std::int32_t> labels = {0, 1, 1, 1, 1};
  const std::vector<float> confidence = {0.5F, 1, 1, 0.5F, 0.5F};
  const std::vector<std::int32_t> truths = {0, 2, 2, 1, -1};
  const std::vector<std::string> names = {"cat", "dog", "owl"};
  const auto classes = describe_classes(kClasses, 1, labels, confidence, truths, names);
  ASSERT_EQ(classes.size(), 3U);
  EXPECT_EQ(classes[0].name, "cat");
  EXPECT_FALSE(classes[0].is_new);
  EXPECT_TRUE(classes[1].is_new);
  EXPECT_EQ(classes[1].images, 4U);
  EXPECT_DOUBLE_EQ(classes[1].confidence, 0.75);
  EXPECT_EQ(classes[1].truth, "owl");
  EXPECT_DOUBLE_EQ(classes[1].truth_share, 2.0 / 3) << "the image without a truth does not count";
}

TEST(FoundClasses, AnEmptyClassAndOneWithoutTruthAreDescribedToo) {
  const auto classes =
      describe_classes(kClasses, 1, std::vector<std::int32_t>{0}, std::vector<float>{0.9F},
                       std::vector<std::int32_t>{-1}, {});
  EXPECT_TRUE(classes[0].truth.empty());
  EXPECT_EQ(classes[2].images, 0U);
  EXPECT_EQ(classes[2].confidence, 0);
}

}  // namespace
}  // namespace protogcd
