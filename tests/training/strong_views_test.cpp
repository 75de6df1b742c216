// Strong views of a run: streams that take the images of others, a second bank, and the options.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/discovery/discover.h"
#include "protogcd/discovery/train_options.h"
#include "protogcd/methods/registry.h"
#include "protogcd/training/training_material.h"
#include "tests/discovery/run_helpers.h"
#include "tests/support/recorded_host.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RecordedHost;
using testing::TinyRun;

constexpr std::int64_t kBatch = 16;

/// What a method was shown in one step, a stream each.
struct SeenBatch {
  std::vector<std::int64_t> places;  ///< [B]
  std::vector<float> tokens;         ///< [V B, D], CLS
  bool operator==(const SeenBatch&) const = default;
};
using SeenSteps = std::vector<std::vector<SeenBatch>>;

/// Looks at four streams of the same images, notes what it sees, and asks to stop after some steps.
class Watching : public Method {
 public:
  Watching(const MethodInput& input, std::shared_ptr<SeenSteps> seen, StopToken stop,
           std::size_t stops_after)
      : input_(input),
        scale_(at::ones({input.width}, at::device(input.device).dtype(input.type))),
        seen_(std::move(seen)),
        stop_(std::move(stop)),
        stops_after_(stops_after) {}

  std::map<std::string, at::Tensor> parameters() const override { return {{"scale", scale_}}; }
  std::vector<BatchStream> streams() const override {
    const auto also = [](std::size_t stream, std::int64_t views, ViewStrength strength) {
      return BatchStream{.views = views, .strength = strength, .same_images_as = stream};
    };
    return {BatchStream{}, also(0, 1, ViewStrength::kStrong), also(0, 2, ViewStrength::kStrong),
            also(1, 1, ViewStrength::kWeak)};
  }
  std::vector<ReportedValue> reported() const override { return {}; }
  std::vector<double> begin_epoch(const EpochInput&) override { return {}; }

  StepLoss loss(const std::vector<StepBatch>& batches, Communicator&) override {
    seen_->emplace_back();
    at::Tensor total = at::zeros({}, scale_.options());
    for (const StepBatch& batch : batches) {
      const at::Tensor& tokens = batch.tokens.class_token;
      seen_->back().push_back(
          {{batch.places.const_data_ptr<std::int64_t>(),
            batch.places.const_data_ptr<std::int64_t>() + batch.places.numel()},
           {tokens.const_data_ptr<float>(), tokens.const_data_ptr<float>() + tokens.numel()}});
      EXPECT_EQ(batch.features.size(0), tokens.size(0));
      total = total + (batch.features * scale_).square().mean();
    }
    if (seen_->size() == stops_after_) stop_.request_stop();
    return {total, {}};
  }
  Outcome outcome(SetFeatures&) const override {
    return {.prototypes = {.centres = at::eye(input_.k(), input_.width), .temperature = 0.1}};
  }

 private:
  const MethodInput input_;
  at::Tensor scale_;
  std::shared_ptr<SeenSteps> seen_;
  StopToken stop_;
  std::size_t stops_after_;
};

struct WatchingOptions : MethodOptions {
  std::string name() const override { return "watching"; }
  std::unique_ptr<MethodOptions> copy() const override {
    return std::make_unique<WatchingOptions>(*this);
  }
  void declare(OptionTable&) override {}
  bool sees_strong() const override { return announces; }
  std::unique_ptr<Method> make(const MethodInput& input) const override {
    return std::make_unique<Watching>(input, seen, stop, stops_after);
  }

  std::shared_ptr<SeenSteps> seen = std::make_shared<SeenSteps>();
  bool announces = true;
  StopToken stop = {};
  std::size_t stops_after = 0;
};

struct WatchedRun {
  DiscoverOptions options(const std::string& name, const WatchingOptions& method) const {
    DiscoverOptions run;
    run.data.labelled = tiny.folder / "demo/labelled";
    run.data.unlabelled = tiny.folder / "demo/unlabelled";
    run.backbone.backbone = tiny.folder / "tiny.safetensors";
    run.backbone.image_size = 32;
    run.train.k = 16;
    run.train.method = MethodChoice(method);
    run.train.as_published = true;  // one training and no other
    run.train.material.batch = kBatch;
    run.train.material.bank.views = 3;
    run.train.loop.schedule.epochs = 3;
    run.train.report = false;
    run.train.out = tiny.folder / name;
    return run;
  }
  /// What the method saw, and what was said.
  SeenSteps run(DiscoverOptions with, const WatchingOptions& method) {
    resolve(with, Logger());
    host->take();
    method.seen->clear();
    discover(with, {.device = "cpu",
                    .dtype = "float32",
                    .threads = 1,
                    .log = Logger(host),
                    .stop = method.stop});
    said = host->take();
    return *method.seen;
  }

  const TinyRun tiny{4};
  std::shared_ptr<RecordedHost> host = std::make_shared<RecordedHost>();
  std::string said;
};

constexpr std::size_t kWidth = 64;  // of TinyRun's backbone

/// Whether view i of one is view j of the other.
bool same_row(const SeenBatch& one, std::size_t i, const SeenBatch& other, std::size_t j) {
  return std::equal(one.tokens.data() + i * kWidth, one.tokens.data() + (i + 1) * kWidth,
                    other.tokens.data() + j * kWidth);
}

void expect_strong_beside_weak(const SeenSteps& seen, bool fresh) {
  ASSERT_FALSE(seen.empty());
  for (const auto& step : seen) {
    ASSERT_EQ(step.size(), 4u);
    const std::size_t batch = step[0].places.size();
    ASSERT_EQ(step[0].tokens.size(), 2 * batch * kWidth);
    for (std::size_t stream = 1; stream < 4; ++stream) {
      EXPECT_EQ(step[stream].places, step[0].places);
      EXPECT_EQ(step[stream].tokens.size(), step[0].tokens.size() / (stream == 2 ? 1 : 2));
    }
    for (std::size_t i = 0; i < batch; ++i) {
      for (const std::size_t row : {i, batch + i}) {
        EXPECT_FALSE(same_row(step[1], i, step[0], row));
        EXPECT_FALSE(same_row(step[2], row, step[0], i));
        EXPECT_FALSE(same_row(step[2], row, step[0], batch + i));
        if (!fresh) continue;  // of few views in a bank two draws may take the same
        EXPECT_FALSE(same_row(step[1], i, step[2], row));
        EXPECT_FALSE(same_row(step[3], i, step[0], row));
      }
      EXPECT_FALSE(same_row(step[2], i, step[2], batch + i));
    }
  }
}

TEST(StrongViews, AreOfTheSameImagesAndTheSameAgainAfterAResume) {
  WatchedRun work;
  for (const std::string kind : {"fresh", "bank", "refreshed"}) {
    SCOPED_TRACE(kind);
    const WatchingOptions method;
    DiscoverOptions straight = work.options(kind + "-straight", method);
    straight.train.material.use_bank = kind != "fresh";
    straight.train.material.borrow = 0;
    straight.train.material.bank.refresh = kind == "refreshed" ? 1 : 0;
    const SeenSteps whole = work.run(straight, method);
    expect_strong_beside_weak(whole, kind == "fresh");
    if (kind == "fresh") {
      DiscoverOptions again = straight;
      again.train.out = work.tiny.folder / "fresh-again";
      EXPECT_EQ(work.run(again, method), whole);
    }

    WatchingOptions stopping;
    stopping.stops_after = whole.size() / 2;
    ASSERT_NE(stopping.stops_after % (whole.size() / 3), 0u);  // in the middle of an epoch
    DiscoverOptions stopped = straight;
    stopped.train.out = work.tiny.folder / (kind + "-stopped");
    stopped.train.method = MethodChoice(stopping);
    EXPECT_THROW(work.run(stopped, stopping), InterruptedError);
    SeenSteps seen = *stopping.seen;
    stopped.train.method = MethodChoice(method);
    stopped.train.resume = true;
    const SeenSteps rest = work.run(stopped, method);
    seen.insert(seen.end(), rest.begin(), rest.end());
    EXPECT_EQ(seen, whole);
  }
}

TEST(StrongViews, BorrowingChangesWeakPairsAlone) {
  WatchedRun work;
  const WatchingOptions method;
  DiscoverOptions plain = work.options("plain", method);
  plain.train.material.borrow = 0;
  const SeenSteps without = work.run(plain, method);
  DiscoverOptions borrowing = work.options("borrowing", method);
  borrowing.train.material.borrow = 1;
  const SeenSteps with = work.run(borrowing, method);
  ASSERT_EQ(with.size(), without.size());
  for (std::size_t step = 0; step < with.size(); ++step) {
    EXPECT_NE(with[step][0], without[step][0]);
    for (std::size_t stream = 1; stream < 4; ++stream)
      EXPECT_EQ(with[step][stream], without[step][stream]);
  }
}

TEST(StrongViews, TheSecondBankLiesApartAndIsUsedAgain) {
  WatchedRun work;
  const WatchingOptions method;
  DiscoverOptions run = work.options("run", method);
  run.train.material.use_bank = true;
  run.train.material.bank.home = BankHome::kFile;
  const SeenSteps first = work.run(run, method);
  EXPECT_THAT(work.said, AllOf(HasSubstr("token bank: 3 views of"),
                               HasSubstr("token bank of strong views: 3 views of"),
                               HasSubstr("run/bank/strong; ")));
  const fs::path weak = work.tiny.folder / "run/bank/view-00.tokens",
                 strong = work.tiny.folder / "run/bank/strong/view-00.tokens";
  EXPECT_EQ(fs::file_size(weak), fs::file_size(strong));
  EXPECT_NE(read_text_file(weak), read_text_file(strong));

  run.train.overwrite = true;
  EXPECT_EQ(work.run(run, method), first);
  EXPECT_THAT(work.said, Not(HasSubstr("token bank")));  // nothing is missing

  run.train.material.strong.recipe = StrongRecipe::kRandAugment;
  const SeenSteps other = work.run(run, method);
  EXPECT_THAT(work.said, AllOf(HasSubstr("bank/strong: the token bank there was made with other "
                                         "strong views: it is made anew"),
                               Not(HasSubstr("token bank: 3 views of"))));
  EXPECT_EQ(other[0][0], first[0][0]);
  EXPECT_NE(other[0][1], first[0][1]);
}

TEST(StrongViews, OnlyMethodsThatAskForThemHaveOptionsAndABank) {
  WatchedRun work;
  const WatchingOptions method;
  DiscoverOptions run = work.options("run", method);
  run.train.material.use_bank = true;
  run.train.material.bank.home = BankHome::kFile;
  const auto identity = identity_of(run.train);
  EXPECT_THAT(identity.at("strong_views"), HasSubstr("jitter"));
  run.train.material.strong.recipe = StrongRecipe::kCrop;
  EXPECT_NE(identity_of(run.train), identity);

  run.train.method = MethodChoice();
  EXPECT_FALSE(identity_of(run.train).contains("strong_views"));
  work.run(run, method);
  EXPECT_TRUE(fs::exists(work.tiny.folder / "run/bank/view-00.tokens"));
  EXPECT_FALSE(fs::exists(work.tiny.folder / "run/bank/strong"));
  EXPECT_THAT(work.said, Not(HasSubstr("strong")));

  WatchingOptions silent;
  silent.announces = false;
  EXPECT_THROW(work.run(work.options("silent", silent), silent), InternalError);
}

TEST(StrongViews, OptionsReachTheRecipeAndAreChecked) {
  TrainOptions options;
  options.method = MethodChoice(WatchingOptions{});
  OptionTable table;
  declare_train_options(table, options);
  const auto set = [&](const char* key, const std::string& value) {
    return table.find(key)->assign(std::vector<std::string>{value}, OptionSource::kFlag);
  };
  EXPECT_FALSE(set("strong_views", "randaugment"));
  EXPECT_FALSE(set("strong_magnitude", "12"));
  EXPECT_FALSE(set("strong_area", "0.5"));
  EXPECT_EQ(in_words(options.material.strong),
            "randaugment, area from 0.5, 2 operations of strength 12");
  EXPECT_TRUE(set("strong_views", "weak"));
  EXPECT_TRUE(set("strong_magnitude", "31"));
  EXPECT_TRUE(set("strong_area", "0"));
  EXPECT_TRUE(set("strong_blur", "1.1"));
}

TEST(StrongViews, BothBanksTogetherFitTheLimit) {
  const WatchedRun work;
  const WatchingOptions method;
  const DiscoverOptions run = work.options("run", method);
  const Backbone backbone = open_backbone(run.backbone, {});
  MaterialOptions options = run.train.material;
  options.use_bank = true;
  options.sees_strong = true;
  options.bank.views = 8;
  const auto plans = [&] {
    const Context context{
        .device = "cpu", .dtype = "float32", .threads = 1, .log = Logger(work.host)};
    const TrainingMaterial material(open_data(run.data, {}), backbone, options,
                                    work.tiny.folder / "limit", BadImagePolicy::parse("fail", "0"),
                                    context);
    return std::pair{*material.bank_plan(), *material.strong_bank_plan()};
  };
  const auto [weak, strong] = plans();
  EXPECT_EQ(weak.layout.views, 8);
  EXPECT_EQ(strong.layout.views, 8);
  EXPECT_EQ(strong.folder, weak.folder / "strong");
  options.bank.max_gb = 10.5 * static_cast<double>(weak.layout.view_bytes()) / 1e9;
  work.host->take();
  const auto [fewer_weak, fewer_strong] = plans();
  EXPECT_EQ(fewer_weak.layout.views, 5);
  EXPECT_EQ(fewer_strong.layout.views, 5);
  EXPECT_THAT(work.host->take(), HasSubstr("5 views instead of 8, weak and strong ones each"));
}

}  // namespace
}  // namespace protogcd
