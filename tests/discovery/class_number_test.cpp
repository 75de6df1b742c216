// The parts of the search for the number of classes, on numbers made by hand.
#include "protogcd/discovery/class_number.h"
#include "protogcd/core/json.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "protogcd/core/error.h"
#include "protogcd/discovery/class_number_baselines.h"
#include "protogcd/image/encode.h"
#include "protogcd/nn/head.h"
#include "protogcd/training/training_set.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Algorithm 1 ---------------------------------------------------------------------------------

/// The search's question, answered by one score at a time.
auto pairs(const std::function<double(std::int64_t)>& score) {
  return [score](std::int64_t k) { return std::pair(score(k), score(k + 1)); };
}

TEST(Algorithm1, FindsThePeakOfAScoreThatRisesAndFalls) {
  for (std::int64_t peak = 0; peak <= 40; ++peak) {
    EXPECT_EQ(search_new_classes(40, pairs([&](std::int64_t k) {
                                   return -std::abs(static_cast<double>(k - peak));
                                 })),
              peak);
  }
}

TEST(Algorithm1, ComparesTheTwoNumbersAroundTheMiddle) {
  std::vector<std::int64_t> asked;
  search_new_classes(10, [&](std::int64_t k) {
    asked.push_back(k);
    return k < 3 ? std::pair(0.0, 1.0) : std::pair(1.0, 0.0);
  });
  EXPECT_THAT(asked, ElementsAre(5, 2, 4, 3));
}

TEST(Algorithm1, TwoScoresOfMinusInfinityMoveItToTheLeft) {
  EXPECT_EQ(search_new_classes(30, pairs([](std::int64_t) { return -kInfinity; })), 0);
  EXPECT_EQ(search_new_classes(30, pairs([](std::int64_t k) {
                                 return k > 4 ? -kInfinity : static_cast<double>(k);
                               })),
            4);
}

TEST(Algorithm1, WithoutRoomForNewClassesThereAreNone) {
  EXPECT_EQ(search_new_classes(
                0, [](std::int64_t) -> std::pair<double, double> { throw InternalError("asked"); }),
            0);
}

// Prototype Score -----------------------------------------------------------------------------

Candidate by_hand() {
  return {
      .labelled = at::tensor({1., 0., 0., 1.}).view({2, 2}).to(at::kFloat),
      .unlabelled = at::tensor({0.8, 0.6, 1., 0., 0.6, 0.8, -1., 0.}).view({4, 2}).to(at::kFloat),
      .prototypes = {.centres = at::tensor({1., 0., 0., 1., -1., 0.}).view({3, 2}).to(at::kFloat)}};
}

TEST(PrototypeScore, IsAccuracyTimesTheProductOfUnnormalisedMeans) {
  const at::Tensor labels = at::tensor({0, 1}, at::kLong);
  const PrototypeScore score = prototype_score(by_hand(), labels, 2);
  EXPECT_DOUBLE_EQ(score.accuracy, 1);
  // c_u^0 = mean of (0.8, 0.6) and (1, 0) = (0.9, 0.3); c_u^1 = (0.6, 0.8)
  EXPECT_NEAR(score.log_centroids, std::log(0.9 * 0.8), 1e-6);
  EXPECT_NEAR(score.log_score(), std::log(0.9 * 0.8), 1e-6);
}

TEST(PrototypeScore, AccuracyIsWithoutAssignment) {
  EXPECT_DOUBLE_EQ(prototype_score(by_hand(), at::tensor({1, 0}, at::kLong), 2).accuracy, 0)
      << "clusters with swapped names would be perfect";
  EXPECT_EQ(prototype_score(by_hand(), at::tensor({1, 0}, at::kLong), 2).log_score(), -kInfinity);
}

TEST(PrototypeScore, IsMinusInfinityWhereAnOldClassGetsNoUnlabelledImage) {
  Candidate candidate = by_hand();
  candidate.unlabelled = candidate.unlabelled.narrow(0, 0, 2);
  EXPECT_EQ(prototype_score(candidate, at::tensor({0, 1}, at::kLong), 2).log_centroids, -kInfinity);
}

TEST(PrototypeScore, IsMinusInfinityWhereAFactorIsNotPositive) {
  Candidate candidate = by_hand();
  candidate.labelled = at::tensor({-1., 0., 0., 1.}).view({2, 2}).to(at::kFloat);
  EXPECT_EQ(prototype_score(candidate, at::tensor({0, 1}, at::kLong), 2).log_centroids, -kInfinity);
}

TEST(PrototypeScore, HundredsOfClassesDoNotUnderflow) {
  const std::int64_t classes = 2000;
  const at::Tensor features = at::eye(classes);
  const Candidate candidate{.labelled = features,
                            .unlabelled = at::cat({features * 0.5F, features * 0.5F}),
                            .prototypes = {.centres = features}};
  const PrototypeScore score = prototype_score(candidate, at::arange(classes), classes);
  EXPECT_NEAR(score.log_centroids, classes * std::log(0.5), 1e-6);
}

// Peaks and intervals ---------------------------------------------------------------------------

TEST(ClassNumberPeak, IsTheBestAndTheIntervalHoldsWhatIsAboutAsGood) {
  const ClassNumberPeak peak = find_peak({18, 19, 20, 21, 22}, {0.1, 0.29, 0.3, 0.295, 0.2}, 0.02);
  EXPECT_EQ(peak.k, 20);
  EXPECT_EQ(peak.low, 19);
  EXPECT_EQ(peak.high, 21);
  EXPECT_EQ(peak.sureness, Sureness::kSure) << "20 and 21 are as good as one";
}

TEST(ClassNumberPeak, AnIntervalIsAtMost27PercentWideAndAPlateauIsUnsure) {
  std::vector<std::int64_t> ks;
  for (std::int64_t k = 10; k <= 40; ++k) ks.push_back(k);
  std::vector<double> scores(ks.size(), 0.5);
  scores[10] = 0.51;
  const ClassNumberPeak peak = find_peak(ks, scores, 0.1);
  EXPECT_EQ(peak.k, 20);
  EXPECT_EQ(peak.high - peak.low, 5);
  EXPECT_EQ(peak.sureness, Sureness::kUnsure);
}

TEST(ClassNumberPeak, OfEqualScoresTheLowestNumberCounts) {
  EXPECT_EQ(find_peak({3, 4, 5}, {0, 0, 0}, 0.02).k, 3);
  const ClassNumberPeak nothing = find_peak({3, 4, 5}, {-kInfinity, -kInfinity, -kInfinity}, 0.02);
  EXPECT_EQ(nothing.k, 3);
  EXPECT_EQ(nothing.sureness, Sureness::kUnsure);
}

TEST(ClassNumberGrid, HoldsEveryNumberOfFewAndSomeOfMany) {
  EXPECT_THAT(class_number_grid(4, 7), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(class_number_grid(5, 5), ElementsAre(5));
  const auto many = class_number_grid(100, 320);
  EXPECT_LE(many.size(), 61U);
  EXPECT_EQ(many.front(), 100);
  EXPECT_EQ(many.back(), 320);
  EXPECT_EQ(class_number_grid(100, 321).back(), 321) << "the largest is always looked at";
}

// Clusters --------------------------------------------------------------------------------------

/// `classes` compact clouds of 30 rows on the sphere; half the rows of the first `old` are
/// labelled.
struct Clouds {
  Clouds(std::int64_t classes, std::int64_t old) {
    at::manual_seed(1);
    const at::Tensor centres = at::randn({classes, 32});
    std::vector<at::Tensor> with, without;
    for (std::int64_t k = 0; k < classes; ++k) {
      const at::Tensor rows = unit_rows(centres[k] + 0.3 * at::randn({30, 32}));
      if (k < old) with.push_back(rows.narrow(0, 0, 15));
      without.push_back(k < old ? rows.narrow(0, 15, 15) : rows);
    }
    candidate = {.labelled = at::cat(with), .unlabelled = at::cat(without), .prototypes = {}};
    labels = at::arange(old).repeat_interleave(15);
  }
  Candidate candidate;
  at::Tensor labels;
};

class Counting : public ::testing::Test {
 protected:
  Context context_;
};

TEST_F(Counting, TheSilhouetteIsHighestAtTheTrueNumber) {
  const auto ks = class_number_grid(4, 20);
  for (const std::int64_t classes : {6, 9, 13}) {
    const Clouds clouds(classes, 4);
    const auto curve = silhouette_curve(clouds.candidate, clouds.labels, ks, 0, context_);
    EXPECT_EQ(find_peak(ks, curve, 0.01).k, classes);
  }
}

TEST_F(Counting, OneOldClassIsEnough) {
  const auto ks = class_number_grid(2, 12);
  const Clouds clouds(5, 1);
  const auto curve = silhouette_curve(clouds.candidate, clouds.labels, ks, 0, context_);
  EXPECT_EQ(find_peak(ks, curve, 0.01).k, 5);
}

TEST_F(Counting, FrozenClustersBendAndAreMostDistinctAtTheTrueNumber) {
  const Clouds clouds(9, 4);
  const auto ks = class_number_grid(4, 20);
  std::vector<double> silhouettes, inertias;
  for (const ClusterPoint& point :
       cluster_curve(clouds.candidate, clouds.labels, ks, 3, context_)) {
    silhouettes.push_back(point.silhouette);
    inertias.push_back(point.inertia);
  }
  EXPECT_EQ(find_peak(ks, silhouettes, 0.01).k, 9);
  EXPECT_NEAR(ks[elbow_of(inertias)], 9, 2);
}

TEST_F(Counting, MaxAccMakesTheOldClassesWhole) {
  const Clouds clouds(12, 12);
  EXPECT_NEAR(max_acc(clouds.candidate, clouds.labels, 4, 60, context_), 12, 2);
}

TEST_F(Counting, SplitsAndMergesSayWhetherTheirNumberStayed) {
  const Clouds clouds(12, 4);
  // Too few images to be split, and but one new cluster.
  const Candidate few{.labelled = unit_rows(at::rand({4, 4})),
                      .unlabelled = unit_rows(at::rand({5, 4}))};
  const SplitCount changing = count_by_splits(clouds.candidate, clouds.labels, 4, 60, context_),
                   settled =
                       count_by_splits(few, at::tensor({0, 0, 1, 1}, at::kLong), 2, 5, context_);
  EXPECT_FALSE(changing.has_settled);
  EXPECT_TRUE(settled.has_settled);
  EXPECT_EQ(settled.k, 3);
  for (const SplitCount& found : {changing, settled}) {
    const ClassNumber number{.k = found.k,
                             .k_old = 2,
                             .basis = ClassNumberBasis::kGpc,
                             .has_settled = found.has_settled};
    EXPECT_THAT(ClassNumber::from_json(number.to_json()).in_words(),
                HasSubstr(found.has_settled ? "until this number stayed"
                                            : "still changing in the last round"));
  }
}

TEST_F(Counting, FeaturesThatAreAllTheSameGiveTheLowestNumber) {
  const Candidate same{
      .labelled = at::ones({6, 4}) / 2, .unlabelled = at::ones({10, 4}) / 2, .prototypes = {}};
  const auto ks = class_number_grid(2, 5);
  const auto curve =
      silhouette_curve(same, at::tensor({0, 0, 0, 1, 1, 1}, at::kLong), ks, 0, context_);
  EXPECT_EQ(find_peak(ks, curve, 0.01).k, 2);
}

TEST_F(Counting, FeaturesThatAreNoNumbersAreAnError) {
  Clouds clouds(5, 2);
  clouds.candidate.unlabelled[3][0] = std::nan("");
  try {
    silhouette_curve(clouds.candidate, clouds.labels, {5}, 0, context_);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("row 33"));
  }
}

TEST(Elbow, IsWhereTheCurveBends) {
  EXPECT_EQ(elbow_of({10, 6, 2, 1.5, 1, 0.5, 0}), 2U);
  EXPECT_EQ(elbow_of({1}), 0U);
  EXPECT_EQ(elbow_of({3, 3, 3}), 0U);
}

// What is told ----------------------------------------------------------------------------------

TEST(ClassNumber, SurvivesItsFile) {
  const ClassNumber found{.k = 15,
                          .k_old = 10,
                          .low = 14,
                          .high = 16,
                          .sureness = Sureness::kFairly,
                          .basis = ClassNumberBasis::kPrototypeScore,
                          .curve = {{15, 0.9, 0.3, std::nan(""), -kInfinity, -kInfinity}},
                          .seconds = 2.5};
  const ClassNumber again = ClassNumber::from_json(nlohmann::json::parse(found.to_json().dump()));
  EXPECT_EQ(again.to_json(), found.to_json());
  EXPECT_EQ(again.in_words(), found.in_words());
  EXPECT_TRUE(std::isnan(again.curve[0].accuracy));
  EXPECT_EQ(again.curve[0].log_score, -kInfinity);
}

TEST(ClassNumber, WithoutLabelledImagesNoSentenceSpeaksOfLabelledClasses) {
  const ClassNumber found{.k = 7, .k_old = 0, .low = 6, .high = 8};
  EXPECT_THAT(found.in_words(),
              AllOf(HasSubstr("7 classes: all of them new"), HasSubstr("without labelled images")));
  EXPECT_THAT(found.in_words(), Not(HasSubstr("whole")));
  EXPECT_EQ(ClassNumber::from_json(found.to_json()).k_old, 0);
}

TEST(ClassNumber, AFileThatMakesNoSenseIsAnError) {
  const auto with = [](const char* key, const nlohmann::json& value) {
    nlohmann::json json = ClassNumber{.k = 15, .k_old = 10, .low = 15, .high = 15}.to_json();
    json[key] = value;
    return json;
  };
  EXPECT_THROW(ClassNumber::from_json(with("k", 9)), DataError);
  EXPECT_THROW(ClassNumber::from_json(with("k_old", -1)), DataError);
  EXPECT_THROW(ClassNumber::from_json(with("sure", "certain")), DataError);
  EXPECT_THROW(ClassNumber::from_json(with("by", "magic")), DataError);
}

TEST(ClassNumber, ByNeighboursSaysHowLargeClassesAreAndKeepsThat) {
  ClassNumber found{.k = 30,
                    .k_old = 15,
                    .low = 27,
                    .high = 33,
                    .sureness = Sureness::kFairly,
                    .basis = ClassNumberBasis::kNeighbours,
                    .neighbours = NeighbourFacts{0.6, 0.5, 110}};
  EXPECT_THAT(found.in_words(), AllOf(HasSubstr("27 to 33"), HasSubstr("50% of the images"),
                                      HasSubstr("110 images each")));
  EXPECT_EQ(ClassNumber::from_json(found.to_json()).in_words(), found.in_words());
  EXPECT_FALSE(found.to_json().contains("says_nothing"));
  found.neighbours->purity = 0.2;
  EXPECT_THAT(found.in_words(), AllOf(HasSubstr("backbone"), HasSubstr("20%"))) << "the suspect";
}

TEST(ClassNumber, WhereNeighboursSayNothingTheWordsSayThat) {
  const ClassNumber found{.k = 16,
                          .k_old = 10,
                          .low = 10,
                          .high = 400,
                          .basis = ClassNumberBasis::kNeighbours,
                          .neighbours = NeighbourFacts{0.05, 0.5, 6}};
  EXPECT_THAT(found.in_words(),
              AllOf(HasSubstr("nothing can be said"), HasSubstr("16 is a guess"),
                    HasSubstr("5% of an image's"), HasSubstr("any number from 10 to 400")));
  EXPECT_EQ(found.to_json().at("says_nothing"), true);
  EXPECT_EQ(ClassNumber::from_json(found.to_json()).in_words(), found.in_words());
}

/// So many labelled images of two classes, and unlabelled ones, all of one file.
TrainingSet alike_images(const testing::TemporaryFolder& folder, std::size_t labelled,
                         std::size_t unlabelled) {
  write_png(folder / "one.png", Image(8, 8));
  Dataset dataset;
  dataset.classes = {"a", "b"};
  dataset.old_classes = 2;
  for (std::size_t i = 0; i < labelled + unlabelled; ++i) {
    const auto label = i < labelled ? static_cast<std::int32_t>(i % 2) : kNoClass;
    dataset.samples.push_back(
        {.source = dataset.sources.add_path(folder / "one.png"),
         .label = label,
         .truth = label,
         .set = i < labelled ? SampleSet::kLabelled : SampleSet::kUnlabelled});
  }
  return {std::move(dataset),
          loader_options({.size = 8}, {}, 64, 1, at::kCPU),
          0,
          BadImagePolicy::parse("skip", "auto"),
          {}};
}

TEST(LargestClassNumber, OfMaxAccIsAThousandAsPublishedAlsoWhereImagesAreFew) {
  const testing::TemporaryFolder folder;
  const TrainingSet set = alike_images(folder, 400, 1600);
  EXPECT_EQ(largest_class_number(set, {.rule = ClassNumberRule::kMaxAcc}), 1000);
  EXPECT_EQ(largest_class_number(set, {.rule = ClassNumberRule::kNeighbours}), 400) << "a fifth";
  EXPECT_EQ(largest_class_number(set, {.rule = ClassNumberRule::kElbow}), 26) << "3 old + 20";
  EXPECT_EQ(largest_class_number(set, {.rule = ClassNumberRule::kMaxAcc, .k_max = 300}), 300);
}

TEST(ClassNumber, WordsSayWhereMoreClassesMayHide) {
  ClassNumber found{.k = 15, .k_old = 10, .low = 15, .high = 15, .sureness = Sureness::kSure};
  EXPECT_THAT(found.in_words(), AllOf(HasSubstr("5 new"), HasSubstr("no other fits")));
  found.sureness = Sureness::kUnsure;
  EXPECT_THAT(found.in_words(), HasSubstr("numbers far from it"));
  found.is_largest = true;
  EXPECT_THAT(found.in_words(), HasSubstr("looked at, k_max allows more"));
}

}  // namespace
}  // namespace protogcd
