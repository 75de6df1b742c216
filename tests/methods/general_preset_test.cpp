// The general preset: expected shares from the labels' counts, and where prototypes begin.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "protogcd/core/error.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/methods/protogcd/protogcd.h"
#include "protogcd/nn/head.h"
#include "protogcd/nn/state_dict.h"
#include "tests/support/error_message.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;

MethodInput input_of(std::vector<std::int64_t> labelled_of_class, std::int64_t unlabelled,
                     std::size_t classes) {
  MethodInput input{.width = 4,
                    .classes = std::vector<std::string>(classes, "class"),
                    .old_classes = static_cast<std::int64_t>(labelled_of_class.size()),
                    .unlabelled = unlabelled,
                    .labelled_of_class = std::move(labelled_of_class),
                    .epochs = 2};
  input.labelled = std::accumulate(input.labelled_of_class.begin(), input.labelled_of_class.end(),
                                   std::int64_t{0});
  return input;
}

TEST(CountedShares, LabelsAreMissingFromClassesOfOneSize) {
  // 40 images, 4 classes of 10; 4 of each old class are labelled.
  const auto shares = counted_shares(input_of({4, 4}, 32, 4), MarginalScope::kUnlabelled).shares;
  EXPECT_THAT(shares, ElementsAre(6. / 32, 6. / 32, 10. / 32, 10. / 32));
}

TEST(CountedShares, HalfOfABatchIsLabelled) {
  const auto shares = counted_shares(input_of({4, 4}, 32, 4), MarginalScope::kBatch).shares;
  EXPECT_THAT(shares, ElementsAre(0.25 + 3. / 32, 0.25 + 3. / 32, 5. / 32, 5. / 32));
}

TEST(CountedShares, ASpreadThatChanceExplainsIsNoDifferenceOfSizes) {
  // By chance 5 of 10 would be 5 +- 1.6: more labels leave fewer images.
  const auto shares = counted_shares(input_of({6, 4}, 30, 4), MarginalScope::kUnlabelled).shares;
  EXPECT_THAT(shares, ElementsAre(4. / 30, 6. / 30, 10. / 30, 10. / 30));
}

TEST(CountedShares, ManyMoreLabelsAreALargerClass) {
  const auto shares =
      counted_shares(input_of({900, 90, 10}, 3000, 6), MarginalScope::kUnlabelled).shares;
  EXPECT_GT(shares[0], 5 * shares[1]);
  EXPECT_GT(shares[1], 3 * shares[2]);
  EXPECT_GT(shares[2], 0);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
}

TEST(CountedShares, TellHowUnevenClassesAre) {
  const auto unevenness = [](std::vector<std::int64_t> labels) {
    return counted_shares(input_of(std::move(labels), 3000, 6), MarginalScope::kUnlabelled)
        .unevenness;
  };
  EXPECT_EQ(unevenness({100, 100, 100}), 0);
  EXPECT_LT(unevenness({90, 100, 110}), 0.01);
  EXPECT_GT(unevenness({30, 100, 170}), 0.3);
}

TEST(CountedShares, WithoutLabelsAllAreEven) {
  EXPECT_THAT(counted_shares(input_of({}, 30, 3), MarginalScope::kUnlabelled).shares, Each(1. / 3));
}

TEST(CountedShares, MoreLabelsThanImagesWereExpectedLeaveSome) {
  const auto shares =
      counted_shares(input_of({100, 100}, 10, 20), MarginalScope::kUnlabelled).shares;
  for (const double share : shares) EXPECT_GT(share, 0);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
}

/// Four groups of images, each along an axis of its own: two of labelled classes, two new.
class FourGroups : public SetFeatures {
 public:
  std::int64_t count(SampleSet set) const override { return rows(set).size(0); }
  void for_each(SampleSet set, const std::function<void(const at::Tensor&)>& use) override {
    use(rows(set));
  }
  at::Tensor labels() const override { return at::tensor({0, 1}, at::kLong); }

  static at::Tensor rows(SampleSet set) {
    at::Tensor axes = at::eye(4) + 0.02;
    if (set == SampleSet::kLabelled) return axes.narrow(0, 0, 2) * 3;
    return set == SampleSet::kUnlabelled ? axes.repeat({3, 1}) * 5 : at::empty({0, 4});
  }
};

/// Cosines of the prototypes with the four axes, after a run's first epoch has begun.
at::Tensor first_cosines(MethodInput input, bool is_resumed = false) {
  ProtoGcdOptions options;
  options.preset = ProtoGcdPreset::kGeneral;
  const auto method = options.make(input);
  FourGroups sets;
  method->begin_epoch({.epoch = 0, .images_per_step = 4, .is_resumed = is_resumed, .sets = sets});
  return at::matmul(unit_rows(method->parameters().at("prototype_layer.weight_v")),
                    unit_rows(FourGroups::rows(SampleSet::kUnlabelled).narrow(0, 0, 4)).t());
}

TEST(FirstPrototypes, AreTheClustersWithTheOldClassesInTheirPlaces) {
  const at::Tensor cosines = first_cosines(input_of({1, 1}, 12, 4));
  EXPECT_GT(cosines[0][0].item<double>(), 0.999);
  EXPECT_GT(cosines[1][1].item<double>(), 0.999);
  const bool in_order = cosines[2][2].item<double>() > cosines[2][3].item<double>();
  EXPECT_GT(cosines[2][in_order ? 2 : 3].item<double>(), 0.999);
  EXPECT_GT(cosines[3][in_order ? 3 : 2].item<double>(), 0.999);
}

TEST(FirstPrototypes, AreWhereTheGivenClassesLie) {
  MethodInput input = input_of({1, 1}, 12, 4);
  input.first_classes = {0, 1, 3, 3, 0, 1, 3, 3, 0, 1, 3, 3};  // nothing in class 2
  const at::Tensor cosines = first_cosines(input);
  EXPECT_GT(cosines[0][0].item<double>(), 0.999);
  EXPECT_NEAR(cosines[3][2].item<double>(), cosines[3][3].item<double>(), 1e-6);
  EXPECT_GT(cosines[3][2].item<double>(), 0.7);
  EXPECT_TRUE(cosines.isfinite().all().item<bool>());  // that of class 2 is what it was
  EXPECT_LT(cosines[2].max().item<double>(), 0.999);
}

TEST(FirstPrototypes, OfTheOldClassesMayComeFromAFile) {
  const testing::TemporaryFolder folder;
  const at::Tensor rows = at::arange(12, at::kDouble).reshape({3, 4});
  const std::filesystem::path file = folder / "prototypes.safetensors";
  write_safetensors(file, std::vector{entry_of("prototypes", rows)}, {});
  ProtoGcdOptions options;
  options.init_prototypes = file;
  const MethodInput input = input_of({1, 1}, 12, 4);
  const at::Tensor own = options.make(input)->parameters().at("prototype_layer.weight_v");
  EXPECT_TRUE(at::equal(own.narrow(0, 0, 2).to(at::kDouble), rows.narrow(0, 0, 2)));
  EXPECT_LT(own.narrow(0, 2, 2).abs().max().item<double>(), 1) << "new ones are random";

  options.init_prototypes = testing::source_folder() + "/tests/fixtures/tensor.pth";  // alone in it
  MethodInput six = input;
  six.width = 6;
  EXPECT_EQ(options.make(six)->parameters().at("prototype_layer.weight_v")[1][5].item<double>(),
            11);

  options.init_prototypes = file;
  MethodInput wider = input;
  wider.width = 5;
  EXPECT_THAT(message_of([&] { options.make(wider); }),
              ::testing::AllOf(HasSubstr(file.string()), HasSubstr("3 x 4"), HasSubstr("5")));
  options.first_prototypes = FirstPrototypes::kKmeans;
  EXPECT_THROW(options.make(input), UsageError);
}

TEST(FirstPrototypes, OfAResumedRunAreNotTouched) {
  EXPECT_LT(first_cosines(input_of({1, 1}, 12, 4), true)[0][0].item<double>(), 0.99);
}

TEST(FirstPrototypes, WithFewerImagesThanNewClassesAreRandom) {
  EXPECT_NO_THROW(first_cosines(input_of({1, 1}, 12, 15)));
}

/// Two classes, one of them old, along two axes: so many unlabelled images of each.
class TwoGroups : public SetFeatures {
 public:
  TwoGroups(std::int64_t old, std::int64_t fresh) : old_(old), new_(fresh) {}
  std::int64_t count(SampleSet set) const override { return rows(set).size(0); }
  void for_each(SampleSet set, const std::function<void(const at::Tensor&)>& use) override {
    use(rows(set));
  }
  at::Tensor labels() const override { return at::zeros({4}, at::kLong); }

 private:
  at::Tensor rows(SampleSet set) const {
    const at::Tensor axes = at::eye(2, 4);
    if (set == SampleSet::kLabelled) return axes[0].expand({4, 4});
    return at::cat({axes[0].expand({old_, 4}), axes[1].expand({new_, 4})});
  }
  std::int64_t old_, new_;
};

/// The share of the old class that is expected after the epoch has begun.
double expected_old(std::int64_t old, std::int64_t fresh, std::int64_t epoch) {
  MethodInput input = input_of({4}, old + fresh, 2);
  input.epochs = 20;
  ProtoGcdOptions options;
  options.preset = ProtoGcdPreset::kGeneral;
  const auto method = options.make(input);
  TwoGroups sets(old, fresh);
  method->begin_epoch({.epoch = 0, .images_per_step = 4, .sets = sets});
  const auto numbers = method->begin_epoch({.epoch = epoch, .images_per_step = 4, .sets = sets});
  EXPECT_EQ(method->reported().back().name, "expected_old");
  return numbers.back();
}

TEST(Recount, FindsThatOldImagesAreMoreThanWasExpected) {
  const double even = 48. / 100;  // of 104 images, 52 a class, 4 of them labelled
  EXPECT_NEAR(expected_old(90, 10, 1), even, 1e-6);
  EXPECT_NEAR(expected_old(90, 10, 2), 0.9, 0.01);  // a tenth of the epochs
  EXPECT_NEAR(expected_old(10, 90, 6), 0.1, 0.01);
}

TEST(Recount, ASmallDifferenceChangesNothing) {
  EXPECT_NEAR(expected_old(46, 54, 2), 0.48, 1e-6);
}

TEST(GeneralPreset, IsTakenUnlessTheSettingsArePublishedOnes) {
  ProtoGcdOptions ours, published;
  ours.resolve({.epochs = 10, .as_published = false});
  published.resolve({.epochs = 10});
  EXPECT_EQ(ours.preset, ProtoGcdPreset::kGeneral);
  EXPECT_EQ(ours.objective.lambda_entropy, 1.5);
  EXPECT_EQ(ours.objective.marginal_scope, MarginalScope::kUnlabelled);
  EXPECT_EQ(ours.objective.marginal_window, 10);
  EXPECT_TRUE(ours.begins_with_classes());
  EXPECT_EQ(published.preset, ProtoGcdPreset::kReference);
  EXPECT_EQ(published.objective.lambda_entropy, 2);
  EXPECT_EQ(published.objective.marginal_window, 0);
  EXPECT_FALSE(published.begins_with_classes());
}

TEST(GeneralPreset, ClassesAreCountedWithPublishedSettings) {
  ProtoGcdOptions options;
  options.resolve({.epochs = 200, .as_published = false});
  options.become_candidate(18);
  options.resolve({.epochs = 18});
  EXPECT_EQ(options.objective.lambda_entropy, 2);
  EXPECT_EQ(options.objective.marginal_scope, MarginalScope::kBatch);
  EXPECT_EQ(options.objective.marginal_window, 0);
  EXPECT_EQ(options.class_shares, ClassShares::kEven);
  EXPECT_FALSE(options.begins_with_classes());
  EXPECT_EQ(options.ramp_epochs, 9);
}

}  // namespace
}  // namespace protogcd
