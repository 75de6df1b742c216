// What holds for every method of the registry, for the one that people copy, and for a toy that
// uses all that the seam offers.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/sha256.h"
#include "protogcd/discovery/discover.h"
#include "protogcd/engine/captured_work.h"
#include "protogcd/methods/registry.h"
#include "protogcd/model/model.h"
#include "protogcd/nn/random_state.h"
#include "protogcd/training/train_step.h"
#include "tests/discovery/run_helpers.h"
#include "tests/support/cuda.h"
#include "tests/support/no_sets.h"
#include "tests/support/team.h"
#include "tests/training/toy_method.h"

namespace protogcd {

std::unique_ptr<MethodOptions> skeleton_options();  // of docs/method-template.md

namespace {

using testing::NoSets;
using testing::Team;
using testing::TinyRun;

constexpr std::int64_t kImages = 16, kEpochs = 2, kStepsPerEpoch = 5;
const VitConfig kTiny{.patch = 8, .width = 64, .depth = 2, .heads = 2, .hidden = 128, .grid = 4};

MethodChoice method_of(const std::string& name) {
  MethodChoice choice = name == "toy"        ? MethodChoice(testing::ToyOptions{})
                        : name == "skeleton" ? MethodChoice(skeleton_options())
                                             : find_method(name);
  OptionTable table;
  choice->declare(table);
  // Small, and with all parts that a method has.
  for (const auto& [key, value] : {std::pair{"head_hidden", "64"},
                                   {"projection", "32"},
                                   {"wide_projection", "48"},
                                   {"experts", "3"},
                                   {"overclustering", "2"},
                                   {"over_hidden", "32"},
                                   {"over_projection", "16"}}) {
    if (Option* option = table.find(key))
      option->assign(std::vector<std::string>{value}, OptionSource::kFlag);
  }
  return choice;
}

/// Features of the images that are trained on, in three groups: what a method finds in them before
/// an epoch matters in the steps.
class GroupedImages : public SetFeatures {
 public:
  GroupedImages(std::int64_t classes, at::ScalarType type, at::Device device) : classes_(classes) {
    auto random = at::make_generator<at::CPUGeneratorImpl>(5);
    const at::Tensor centres = at::randn({kGroups, kTiny.width}, random, at::kDouble);
    const at::Tensor own = at::arange(kImages, at::kLong).remainder(kGroups);
    for (at::Tensor* rows : {&labelled_, &unlabelled_}) {
      const at::Tensor noise = at::randn({kImages, kTiny.width}, random, at::kDouble);
      *rows = (centres.index_select(0, own) + 0.3 * noise).to(device, type);
    }
  }
  static constexpr std::int64_t kGroups = 3;

  std::int64_t count(SampleSet set) const override {
    return set == SampleSet::kLabelled || set == SampleSet::kUnlabelled ? kImages : 0;
  }
  void for_each(SampleSet set, const std::function<void(const at::Tensor&)>& use) override {
    if (set == SampleSet::kLabelled) use(labelled_);
    if (set == SampleSet::kUnlabelled) use(unlabelled_);
  }
  at::Tensor labels() const override { return at::arange(kImages, at::kLong).remainder(classes_); }

 private:
  const std::int64_t classes_;
  at::Tensor labelled_, unlabelled_;
};

struct StepSetting {
  at::Device device = at::kCPU;
  at::ScalarType type = at::kDouble;
  bool recorded = false;
  std::int64_t classes = 9;
  bool labels = true;
  bool knows_images = true;  ///< else there are no sets to look at, and no groups
  std::int64_t old_classes() const { return std::min<std::int64_t>(classes, 5); }
};

struct Trained {
  at::Tensor values;           ///< all parameters at the end, the teacher's too, float64 on the CPU
  std::vector<double> losses;  ///< of this process
};

/// Two short epochs on the same tokens; of several processes each takes its share of the images.
Trained trained(const MethodChoice& choice, const StepSetting& setting, Communicator& team) {
  static const StateDict weights = random_vit_state(kTiny);  // once: it asks everybody's generator
  const Vit vit(kTiny, weights, setting.type);
  const auto blocks = make_trained_blocks(vit, 1, setting.type, setting.device);
  std::vector<std::string> names(static_cast<std::size_t>(setting.classes));
  std::vector<std::int32_t> groups;
  for (std::int32_t place = 0; setting.knows_images && place < 2 * kImages; ++place)
    groups.push_back(place % GroupedImages::kGroups);
  const auto method = choice->make({.width = kTiny.width,
                                    .classes = names,
                                    .old_classes = setting.old_classes(),
                                    .labelled = kImages,
                                    .unlabelled = kImages,
                                    .groups = groups,
                                    .batch = kImages,
                                    .epochs = kEpochs,
                                    .seed = 0,
                                    .type = setting.type,
                                    .device = setting.device});
  TrainStep step(*blocks, *method, {}, team);
  const Trunk trunk(vit, setting.type, at::kCPU);
  std::vector<StepBatch> batches;
  // Of its own: processes of a team are threads here, and the usual generator is everybody's.
  auto random = at::make_generator<at::CPUGeneratorImpl>(3);
  for (const BatchStream& stream : method->streams()) {
    const std::int64_t images = stream.images > 0 ? stream.images : kImages;
    const TrunkTokens all = trunk.run(
        at::randn({stream.views * images, 3, 32, 32}, random, at::kDouble).to(setting.type));
    const std::int64_t own = images / team.size(), first = team.rank() * own;
    const auto rows = [&](const at::Tensor& tokens) {
      std::vector<at::Tensor> parts;
      for (std::int64_t view = 0; view < stream.views; ++view)
        parts.push_back(tokens.narrow(0, view * images + first, own));
      return at::cat(parts).to(setting.device);
    };
    const at::Tensor places = at::arange(images, at::kLong);
    const auto mine = [&](const at::Tensor& values) {
      return values.narrow(0, first, own).to(setting.device);
    };
    batches.push_back(
        {.labels = mine(places.remainder(setting.old_classes())),
         .labelled =
             mine((setting.labels ? places.remainder(2) : at::zeros_like(places)).to(setting.type)),
         .places = mine(places),
         .tokens = {rows(all.normalised), rows(all.class_token), {}}});
  }
  EpochScalar rate(setting.type, setting.device);
  at::Tensor losses = at::zeros({kEpochs}, at::device(setting.device).dtype(at::kDouble));
  at::Tensor sum = at::zeros({}, losses.options());
  CapturedWork work(setting.recorded ? setting.device : at::Device(at::kCPU));
  NoSets none;
  GroupedImages images(setting.old_classes(), setting.type, setting.device);
  SetFeatures& sets = setting.knows_images ? static_cast<SetFeatures&>(images) : none;
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    rate.set(0.1 / static_cast<double>(epoch + 1));
    method->begin_epoch({.epoch = epoch, .images_per_step = kImages, .sets = sets});
    sum.zero_();
    for (std::int64_t i = 0; i < kStepsPerEpoch; ++i) {
      step.set_time(epoch * kStepsPerEpoch + i, kEpochs * kStepsPerEpoch);
      work.run([&] { sum += step.run(batches, *rate).total; });
    }
    losses[epoch].copy_(sum);
  }
  losses = losses.cpu();
  std::vector<at::Tensor> values = {step.parameters().values()};
  for (const auto& [name, tensor] : step.teacher_state()) values.push_back(tensor.flatten());
  return {at::cat(values).cpu().to(at::kDouble),
          {losses.const_data_ptr<double>(), losses.const_data_ptr<double>() + kEpochs}};
}

Trained trained(const MethodChoice& choice, const StepSetting& setting = {}) {
  SingleProcess alone;
  return trained(choice, setting, alone);
}

double deviation(const at::Tensor& actual, const at::Tensor& expected) {
  return ((actual - expected).abs().max() / expected.abs().max()).item<double>();
}

class EveryMethod : public ::testing::TestWithParam<std::string> {
 protected:
  const MethodChoice choice_ = method_of(GetParam());
};

class EveryMethodOnCuda : public EveryMethod {
 protected:
  void SetUp() override { PROTOGCD_NEEDS_CUDA(); }
  const at::Device gpu_{at::kCUDA, 0};
};

// A number of the epoch that is no EpochScalar is right in the first recorded epoch and wrong in
// the second.
TEST_P(EveryMethodOnCuda, ARecordedStepIsThePlainOneInTwoEpochs) {
  const Trained plain = trained(choice_, {.device = gpu_, .type = at::kFloat}),
                recorded = trained(choice_, {.device = gpu_, .type = at::kFloat, .recorded = true});
  EXPECT_TRUE(at::equal(recorded.values, plain.values));
  EXPECT_EQ(recorded.losses, plain.losses);
}

TEST_P(EveryMethodOnCuda, StepsAreTheCpus) {
  const Trained exact = trained(choice_);
  const Trained on_gpu = trained(choice_, {.device = gpu_, .recorded = true});
  EXPECT_LT(deviation(on_gpu.values, exact.values), 1e-9);
  for (std::size_t i = 0; i < exact.losses.size(); ++i)
    EXPECT_NEAR(on_gpu.losses[i], exact.losses[i], 1e-9);
  EXPECT_LT(
      deviation(trained(choice_, {.device = gpu_, .type = at::kFloat, .recorded = true}).values,
                exact.values),
      1e-4);
}

TEST_P(EveryMethod, TwoProcessesTogetherDoWhatOneDoes) {
  const Trained one = trained(choice_);
  std::vector<Trained> parts(2);
  Team(2).run([&](Team::Member& member) {
    parts[static_cast<std::size_t>(member.rank())] = trained(choice_, {}, member);
  });
  EXPECT_LT(deviation(parts[0].values, one.values), 1e-9);
  EXPECT_TRUE(at::equal(parts[0].values, parts[1].values));
  for (std::size_t i = 0; i < one.losses.size(); ++i)
    EXPECT_NEAR(parts[0].losses[i] + parts[1].losses[i], one.losses[i], 1e-9);
}

TEST_P(EveryMethod, ABatchWithoutLabelsAndASingleClassAreDefined) {
  for (const StepSetting& setting : {StepSetting{.labels = false}, StepSetting{.classes = 1},
                                     StepSetting{.classes = 1, .labels = false}}) {
    const Trained result = trained(choice_, setting);
    EXPECT_TRUE(result.values.isfinite().all().item<bool>());
    for (const double loss : result.losses) EXPECT_TRUE(std::isfinite(loss));
  }
}

// Else the tests above would not see what these do with it.
TEST(StepsOfMethods, HearWhatIsKnownOfTheImages) {
  for (const char* name : {"xcon", "dccl", "gpc", "orca"}) {
    const MethodChoice choice = method_of(name);
    const double with = trained(choice).losses.back(),
                 without = trained(choice, {.knows_images = false}).losses.back();
    EXPECT_GT(std::abs(with - without), 1e-5) << name;
  }
}

TEST_P(EveryMethod, TheNumbersOfTheEpochAreTheDeclaredOnes) {
  SingleProcess alone;
  const auto method = choice_->make({.width = 8,
                                     .classes = {"a", "b"},
                                     .old_classes = 1,
                                     .labelled = 4,
                                     .unlabelled = 4,
                                     .epochs = 4});
  NoSets none;
  const auto numbers = method->begin_epoch({.epoch = 1, .images_per_step = 4, .sets = none});
  const auto declared = std::ranges::count_if(method->reported(), [](const ReportedValue& value) {
    return value.kind == ReportedKind::kSchedule;
  });
  EXPECT_EQ(std::ssize(numbers), declared);
}

TEST_P(EveryMethod, TheViewsOfAStepAreThoseOfItsStreams) {
  const auto method = choice_->make({.width = 8,
                                     .classes = {"a", "b"},
                                     .old_classes = 1,
                                     .labelled = 3,
                                     .unlabelled = 3,
                                     .groups = {0, 1, 2, 0, 1, 2},
                                     .batch = 13,
                                     .epochs = 4});
  std::int64_t views = 0;
  for (const BatchStream& stream : method->streams())
    views += stream.views * (stream.images > 0 ? stream.images : 13);
  EXPECT_EQ(choice_->views_per_step(13), views);
}

/// When a method asks to stop, as a person would, and how often it has taken a step since.
struct StopWish {
  StopToken stop = {};
  int after_steps = 0;         ///< 0: after none
  std::int64_t in_epoch = -1;  ///< as it begins
  std::shared_ptr<int> steps_since = std::make_shared<int>(0);
};

class Stopping : public Method {
 public:
  Stopping(std::unique_ptr<Method> method, StopWish wish)
      : method_(std::move(method)), wish_(std::move(wish)) {}
  std::map<std::string, at::Tensor> parameters() const override { return method_->parameters(); }
  std::map<std::string, at::Tensor> state() const override { return method_->state(); }
  std::optional<Teacher> teacher() const override { return method_->teacher(); }
  std::vector<BatchStream> streams() const override { return method_->streams(); }
  std::vector<ReportedValue> reported() const override { return method_->reported(); }
  std::vector<double> begin_epoch(const EpochInput& epoch) override {
    if (epoch.epoch == wish_.in_epoch) wish_.stop.request_stop();
    return method_->begin_epoch(epoch);
  }
  std::vector<std::uint32_t> draws(std::size_t stream, std::int64_t epoch, std::size_t batches,
                                   std::size_t batch) const override {
    return method_->draws(stream, epoch, batches, batch);
  }
  StepLoss loss(const std::vector<StepBatch>& batches, Communicator& communicator) override {
    return method_->loss(batches, communicator);
  }
  void after_update() override {
    method_->after_update();
    if (wish_.stop.stop_requested()) ++*wish_.steps_since;
    if (--wish_.after_steps == 0) wish_.stop.request_stop();
  }
  Outcome outcome(SetFeatures& sets) const override { return method_->outcome(sets); }

 private:
  std::unique_ptr<Method> method_;
  StopWish wish_;
};

struct StoppingOptions : MethodOptions {
  StoppingOptions(MethodChoice inner_choice, StopWish when)
      : inner(std::move(inner_choice)), wish(std::move(when)) {}
  std::string name() const override { return inner->name(); }
  std::unique_ptr<MethodOptions> copy() const override {
    return std::make_unique<StoppingOptions>(*this);
  }
  void declare(OptionTable& table) override { inner->declare(table); }
  std::vector<std::string> resolve(const MethodFacts& facts) override {
    return inner->resolve(facts);
  }
  std::map<std::string, std::string> identity() const override { return inner->identity(); }
  bool sees_labelled() const override { return inner->sees_labelled(); }
  bool sees_strong() const override { return inner->sees_strong(); }
  bool decays_all() const override { return inner->decays_all(); }
  std::int64_t groups() const override { return inner->groups(); }
  std::int64_t views_per_step(std::int64_t batch) const override {
    return inner->views_per_step(batch);
  }
  std::optional<FirstStage> first_stage() const override { return inner->first_stage(); }
  std::unique_ptr<Method> make(const MethodInput& input) const override {
    return std::make_unique<Stopping>(inner->make(input), wish);
  }

  MethodChoice inner;
  StopWish wish;
};

/// A run of the library, without the program.
struct LibraryRun {
  explicit LibraryRun(const std::string& method) : choice(method_of(method)) {}

  DiscoverOptions options(const std::string& name) const {
    DiscoverOptions run;
    run.data.labelled = tiny.folder / "demo/labelled";
    run.data.unlabelled = tiny.folder / "demo/unlabelled";
    run.data.truth = tiny.folder / "demo/truth.csv";
    run.backbone.backbone = tiny.folder / "tiny.safetensors";
    run.backbone.image_size = 32;
    run.train.k = 16;
    run.train.method = choice;
    run.train.beginnings = 1;  // starts have tests of their own
    run.train.material.batch = 16;
    run.train.loop.schedule.epochs = 4;
    run.train.loop.eval_every = 2;
    run.train.report = false;
    run.train.out = tiny.folder / name;
    return run;
  }

  Discovery run(DiscoverOptions with, StopToken stop = {}) const {
    resolve(with, Logger());
    return discover(with, {.device = "cpu", .dtype = "float32", .threads = 1, .stop = stop});
  }

  /// The same run stopped and resumed, in another folder.
  void run_stopped(DiscoverOptions with, const std::string& name, const StopWish& wish) const {
    with.train.out = tiny.folder / name;
    with.train.method = MethodChoice(StoppingOptions(choice, wish));
    EXPECT_THROW(run(with, wish.stop), InterruptedError);
    EXPECT_FALSE(std::filesystem::exists(with.train.out / "predictions.csv"));
    with.train.method = choice;
    with.train.resume = true;
    run(with);
  }

  const TinyRun tiny{4};
  const MethodChoice choice;
};

TEST_P(EveryMethod, StoppedInTheMiddleOfAnEpochAndResumedIsStraight) {
  const LibraryRun library(GetParam());
  for (const bool bank : {true, false}) {
    SCOPED_TRACE(bank ? "bank" : "fresh");
    const std::string kind = bank ? "bank" : "fresh";
    DiscoverOptions straight = library.options(kind + "-straight");
    straight.train.material.use_bank = bank;
    library.run(straight);

    library.run_stopped(straight, kind + "-stopped", {.after_steps = 6});
    library.tiny.expect_same(kind + "-stopped", kind + "-straight");
  }
}

// What these do with all images before an epoch may take as long as the epoch.
TEST(EpochsBeginning, StoppedInItNoStepIsTakenAndTheRunGoesOnStraight) {
  for (const char* name : {"dccl", "gpc"}) {
    SCOPED_TRACE(name);
    const LibraryRun library(name);
    const DiscoverOptions straight = library.options("straight");
    library.run(straight);
    const StopWish wish{.in_epoch = 2};
    library.run_stopped(straight, "stopped", wish);
    EXPECT_EQ(*wish.steps_since, 0);
    library.tiny.expect_same("stopped", "straight");
  }
}

TEST_P(EveryMethod, FewerImagesThanABatchAreOneBatch) {
  const LibraryRun library(GetParam());
  DiscoverOptions run = library.options("few");
  run.train.material.batch = 4096;
  const Discovery found = library.run(run);
  EXPECT_EQ(found.result.k, 16);
  for (const auto& line : library.tiny.metrics("few")) {
    EXPECT_EQ(line.at("steps"), 1);
    EXPECT_TRUE(std::isfinite(line.at("train").at("total").get<double>()));
  }
}

std::vector<std::string> names_of_all() {
  std::vector<std::string> names = trained_method_names();
  names.insert(names.end(), {"skeleton", "toy"});
  return names;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '+', '_');
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryMethod, ::testing::ValuesIn(names_of_all()), test_name);
INSTANTIATE_TEST_SUITE_P(Registry, EveryMethodOnCuda, ::testing::ValuesIn(names_of_all()),
                         test_name);

// A clustering's own classes are those of its predictions.csv, and its model is the nearest centre.
TEST(Toy, EndsInItsClusteringAndPredictsTheNearestCentre) {
  const LibraryRun library("toy");
  library.run(library.options("run"));
  const std::string& name = "run";
  EXPECT_THAT(library.tiny.read(name + "/run.json"), ::testing::HasSubstr("\"toy\""));
  const TrainedModel model = load_model(library.tiny.folder / name, {}, {.device = "cpu"});
  ASSERT_TRUE(model.prototypes().bias.defined());
  at::manual_seed(1);
  const at::Tensor features = at::randn({50, 64});
  const at::Tensor unit = features / features.norm(2, 1, true);
  const at::Tensor nearest = at::cdist(unit, model.prototypes().centres).argmin(1);
  EXPECT_TRUE(at::equal(model.scores_of(model.cosines_of(features)).argmax(1), nearest));
}

}  // namespace
}  // namespace protogcd
