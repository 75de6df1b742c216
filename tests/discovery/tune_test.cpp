// How settings are chosen, on numbers made by hand.
#include "protogcd/discovery/tune.h"

#include <gmock/gmock.h>

#include "protogcd/core/json.h"
#include "protogcd/discovery/trials.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr TunedSetting kDouble{.weight = 2};

/// A last stage in which the default and another setting score like this, draw by draw.
Tuning last_stage(const std::vector<double>& usual, const std::vector<double>& other) {
  Tuning tuning{.option = "lambda_entropy", .classes = 10, .hidden = 3};
  for (std::size_t draw = 0; draw < usual.size(); ++draw) {
    const auto number = static_cast<std::int64_t>(draw);
    tuning.trials.push_back({.draw = number, .is_last = true, .score = usual[draw]});
    tuning.trials.push_back(
        {.setting = kDouble, .draw = number, .is_last = true, .score = other[draw]});
  }
  return tuning;
}

TunedSetting choice(const std::vector<double>& usual, const std::vector<double>& other,
                    double of_images = 0) {
  Tuning tuning = last_stage(usual, other);
  decide(tuning, of_images);
  return tuning.chosen;
}

TEST(TuningChoice, TheDefaultWinsTiesAndSmallGains) {
  EXPECT_EQ(choice({0.5, 0.7}, {0.5, 0.7}), TunedSetting());
  EXPECT_EQ(choice({0.5, 0.7}, {0.4, 0.6}), TunedSetting());
  EXPECT_EQ(choice({0.5, 0.7}, {0.5 + 0.9 * kTuningMargin, 0.7 + 0.9 * kTuningMargin}),
            TunedSetting());
}

TEST(TuningChoice, AClearGainIsTaken) {
  EXPECT_EQ(choice({0.5, 0.7}, {0.52, 0.72}), kDouble);
  EXPECT_EQ(choice({0.5, 0.7}, {0.6, 0.78}), kDouble);
}

TEST(TuningChoice, AGainThatVariesWithTheHiddenClassesIsNotClear) {
  EXPECT_EQ(choice({0.5, 0.5}, {0.6, 0.5}), TunedSetting()) << "5 points, with an error of 5";
}

TEST(TuningChoice, AGainThatFewImagesMakeIsNotClearThoughTheDrawsAgree) {
  EXPECT_EQ(choice({0.5, 0.5}, {0.55, 0.55}, 0.02), kDouble);
  EXPECT_EQ(choice({0.5, 0.5}, {0.55, 0.55}, 0.045), TunedSetting());
}

TEST(TuningChoice, TrialsOfTheFirstStageDoNotCount) {
  Tuning tuning = last_stage({0.5, 0.5}, {0.4, 0.4});
  tuning.trials.push_back({.setting = kDouble, .score = 1});
  tuning.trials.push_back({.score = 0});
  decide(tuning, 0);
  EXPECT_TRUE(tuning.chosen.is_default());
  EXPECT_NEAR(tuning.gain, -0.1, 1e-12);
}

TEST(TuningChoice, IsToldInWords) {
  Tuning tuning = last_stage({0.5, 0.5}, {0.56, 0.54});
  tuning.trials.push_back({.score = 0.3});
  tuning.trials.push_back({.setting = {.weight = 0.5}, .score = 0.25});
  decide(tuning, 0);
  tuning.weight = 3;
  tuning.borrow = 1;
  EXPECT_THAT(
      tuning.in_words(),
      AllOf(HasSubstr("3 of 10 labelled classes hidden, 2 times"),
            HasSubstr("lambda_entropy x 2 gets 55.0%"), HasSubstr("the default 50.0%"),
            HasSubstr("+5.0 +- 1.0 points"), HasSubstr("it is taken: lambda_entropy 3, borrow 1"),
            HasSubstr("the default 30.0%, lambda_entropy x 0.5 25.0%")));
  tuning.chosen = {};
  EXPECT_THAT(tuning.in_words(), AllOf(HasSubstr("the default stays"), Not(HasSubstr("is taken"))));
}

TEST(TuningChoice, SurvivesItsFile) {
  Tuning tuning = last_stage({0.5, 0.5}, {0.56, 0.54});
  tuning.trials[1].new_classes = std::numeric_limits<double>::quiet_NaN();  // it diverged
  decide(tuning, 0);
  const nlohmann::json json = tuning.to_json();
  EXPECT_EQ(Tuning::from_json(parse_json(json.dump())).to_json(), json);
  EXPECT_EQ(Tuning::from_json(json).chosen, kDouble);
}

TEST(ExpectedOldShare, IsWhatLabelsLeaveOfClassesOfOneSize) {
  Dataset dataset;
  dataset.old_classes = 2;
  const auto add = [&](int count, SampleSet set, std::int32_t label) {
    for (int i = 0; i < count; ++i)
      dataset.samples.push_back(
          {.label = set == SampleSet::kLabelled ? label : kNoClass, .truth = label, .set = set});
  };
  add(4, SampleSet::kLabelled, 0);
  add(4, SampleSet::kLabelled, 1);
  add(2, SampleSet::kCalibration, 0);
  add(30, SampleSet::kUnlabelled, kNoClass);
  add(100, SampleSet::kTest, kNoClass);
  // 40 images of 4 classes: 4 and 6 of the old ones are unlabelled, and 20 of new ones.
  EXPECT_DOUBLE_EQ(expected_old_share(dataset, 4), 10.0 / 30.0);
  EXPECT_DOUBLE_EQ(expected_old_share(dataset, 2), 1.0);
}

TEST(ExpectedOldShare, IsNeverNothingWhereOldClassesHaveMoreLabelsThanClassesHaveImages) {
  Dataset dataset;
  dataset.old_classes = 1;
  for (int i = 0; i < 30; ++i)
    dataset.samples.push_back({.label = 0, .truth = 0, .set = SampleSet::kLabelled});
  for (int i = 0; i < 10; ++i) dataset.samples.push_back({.set = SampleSet::kUnlabelled});
  EXPECT_GT(expected_old_share(dataset, 4), 0.02);
}

TEST(WithSetting, MultipliesWhatTheRunWouldHaveTaken) {
  TrainOptions options;
  options.material.use_bank = true;
  resolve(options, {});
  const std::string before = identity_of(options).at("lambda_entropy");
  EXPECT_EQ(identity_of(with_setting(options, {})), identity_of(options));
  const TrainOptions doubled = with_setting(options, {.weight = 2, .borrow = 0});
  EXPECT_DOUBLE_EQ(std::stod(identity_of(doubled).at("lambda_entropy")), 2 * std::stod(before));
  EXPECT_EQ(doubled.material.borrow, 0);
}

TEST(WhyNotTuned, SaysWhatIsMissing) {
  TrainOptions options;
  resolve(options, {});
  Dataset dataset;
  dataset.old_classes = 3;
  for (std::int32_t c = 0; c < 3; ++c)
    dataset.samples.push_back({.label = c, .truth = c, .set = SampleSet::kLabelled});
  EXPECT_THAT(why_not_tuned(dataset, options), HasSubstr("4 labelled classes"));
  dataset.old_classes = 4;
  dataset.samples.push_back({.label = 3, .truth = 3, .set = SampleSet::kLabelled});
  EXPECT_EQ(why_not_tuned(dataset, options), "");
}

}  // namespace
}  // namespace protogcd
