#include "protogcd/discovery/run_time.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "protogcd/discovery/confidence.h"
#include "protogcd/discovery/first_stage.h"
#include "protogcd/discovery/starts.h"
#include "protogcd/discovery/train.h"
#include "protogcd/discovery/tune.h"

namespace protogcd {
namespace {

// What a step takes for its views, in frozen blocks (docs/training.md has the runs it was measured
// on): the last block works for the CLS token alone, and there is a head; blocks before it, if they
// are trained, work for all tokens, forward and backward.
constexpr double kLastBlock = 0.4, kBlockBefore = 3;
constexpr double kLeastGpuStep = 0.001;  // seconds: launches, whatever their size
constexpr double kTimed = 0.2;           // seconds
constexpr int kMostRuns = 50;

double step_share(const TrainingMaterial& material, const Backbone& backbone) {
  const std::int64_t frozen = material.first_trained_block(),
                     before_last = backbone.config.depth - frozen - 1;
  return (kLastBlock + kBlockBefore * static_cast<double>(before_last)) /
         static_cast<double>(std::max<std::int64_t>(frozen, 1));
}

double seconds_per_view(const TrainingMaterial& material, const Backbone& backbone) {
  const at::Device device = material.placement().device;
  const std::int64_t batch = device.is_cuda() ? material.placement().trunk_batch() : 4;
  const std::int64_t side = backbone.preprocessing.size;
  const at::Tensor views =
      at::zeros({batch, 3, side, side}, at::TensorOptions(device).dtype(at::kFloat));
  double fastest = std::numeric_limits<double>::infinity(), all = 0;
  // The first run takes memory and reads weights; of a small model many are timed, as other work
  // on the machine may fall into one.
  for (int run = 0; run < 2 || (all < kTimed && run < kMostRuns); ++run) {
    const auto start = std::chrono::steady_clock::now();
    const TrunkTokens tokens = material.trunk()->run(views);
    const at::Tensor& some = tokens.raw.defined() ? tokens.raw : tokens.normalised;
    static_cast<void>(some.flatten()[0].item<double>());  // waits for the device
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fastest = std::min(fastest, seconds);
    all += seconds;
  }
  return fastest / static_cast<double>(batch);
}

}  // namespace

RunWork work_of(TrainingMaterial& material, const Backbone& backbone, const TrainOptions& options,
                const FoundBefore& before, const Context& context) {
  const TrainingSet& set = material.set();
  const auto count = [&](SampleSet which) { return static_cast<std::int64_t>(set.count(which)); };
  RunWork work{.views = count(SampleSet::kUnlabelled) + count(SampleSet::kTest) +
                        count(SampleSet::kCalibration),
               .fresh_views = !material.bank_plan()};
  if (before.classes || before.settings || before.confidence || options.look_at_data ||
      options.set_foreign_aside)
    work.views += count(SampleSet::kLabelled);
  for (const auto& bank : {material.bank_plan(), material.strong_bank_plan()})
    if (bank) work.views += bank->layout.views * static_cast<std::int64_t>(set.train().size());
  const auto batch = static_cast<std::int64_t>(material.make_sampler({}, 0).batch_size());
  const auto add_steps = [&](const MethodOptions& method, std::int64_t steps) {
    work.steps += steps;
    work.step_views += steps * method.views_per_step(batch);
  };
  const std::int64_t per_epoch = material.steps_per_epoch();
  if (const auto stage = stage_before(options))
    add_steps(*stage->method, stage->epochs * per_epoch);
  add_steps(*options.method, options.epochs() * per_epoch + steps_of_starts(material, options));
  if (before.classes)
    add_steps(*options.method, estimate_steps(material, backbone, estimate_of(options), context));
  if (before.settings) add_steps(*options.method, tuning_steps(material, options));
  if (before.confidence) add_steps(*options.method, confidence_steps(material, options));
  return work;
}

double about_seconds(const RunWork& work, const TrainingMaterial& material,
                     const Backbone& backbone) {
  const double per_view = seconds_per_view(material, backbone);
  double in_steps = static_cast<double>(work.step_views) * per_view *
                    (step_share(material, backbone) + (work.fresh_views ? 1 : 0));
  if (material.placement().device.is_cuda())
    in_steps = std::max(in_steps, static_cast<double>(work.steps) * kLeastGpuStep);
  return static_cast<double>(work.views) * per_view + in_steps;
}

}  // namespace protogcd
