// What a run leaves for its report: which rows, and which images are worth a look.
#include "protogcd/discovery/report_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EvenlyChosenRows, TakesAllWhereTheyFit) {
  EXPECT_THAT(evenly_chosen_rows(0, 50000), IsEmpty());
  EXPECT_THAT(evenly_chosen_rows(3, 3), ElementsAre(0, 1, 2));
  for (const std::int64_t all : {4097, 10010, 50000}) {
    const auto rows = evenly_chosen_rows(all, 50000);
    ASSERT_EQ(rows.size(), static_cast<std::size_t>(all));
    for (std::int64_t i = 0; i < all; ++i) ASSERT_EQ(rows[static_cast<std::size_t>(i)], i);
  }
}

TEST(EvenlyChosenRows, TakesEachOnceAndFromEverywhere) {
  EXPECT_THAT(evenly_chosen_rows(10, 4), ElementsAre(0, 2, 5, 7));
  for (const std::int64_t all : {50001, 77777, 20'000'003}) {
    const auto rows = evenly_chosen_rows(all, 50000);
    ASSERT_EQ(rows.size(), 50000u);
    EXPECT_EQ(rows.front(), 0);
    EXPECT_LT(rows.back(), all);
    EXPECT_GE(rows.back(), all - (all / 50000 + 1));
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const std::int64_t gap = rows[i] - rows[i - 1];
      ASSERT_TRUE(gap == all / 50000 || gap == all / 50000 + 1) << all << ", row " << i;
    }
  }
}

/// Images as (class, typicality, outlier score).
Predictions predictions_of(const std::vector<std::tuple<std::int32_t, float, double>>& images) {
  Predictions predictions;
  for (const auto& [label, typicality, score] : images) {
    predictions.labels.push_back(label);
    predictions.confidence.push_back(1);
    predictions.typicality.push_back(typicality);
    predictions.outlier_score.push_back(score);
  }
  return predictions;
}

TEST(AttentionExamples, TakesTypicalImagesOfNewAndOldClassesInTurnThenOutliers) {
  ModelInfo info;
  info.classes = {"a", "b", "empty", "new-01", "new-02"};
  info.old_classes = 3;
  const auto predictions = predictions_of({{0, 0.5f, 1},  // typical of the smaller old class
                                           {1, 0.1f, 9},  // the most outlying
                                           {1, 0.8f, 2},  // typical of the larger old class
                                           {3, 0.9f, 8},  // typical and outlying: once
                                           {4, 0.2f, 3},
                                           {4, 0.7f, 0}});  // typical of the larger new class
  EXPECT_THAT(attention_examples(predictions, info, 6), ElementsAre(5, 2, 3, 0, 1));
  EXPECT_THAT(attention_examples(predictions, info, 2), ElementsAre(5, 2));
  EXPECT_THAT(attention_examples({}, info), IsEmpty());
}

}  // namespace
}  // namespace protogcd
