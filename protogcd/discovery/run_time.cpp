#include "protogcd/discovery/run_time.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <limits>

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

double about_seconds(const RunWork& work, const TrainingMaterial& material,
                     const Backbone& backbone) {
  const double per_view = seconds_per_view(material, backbone);
  double per_step = static_cast<double>(work.views_per_step) * per_view *
                    (step_share(material, backbone) + (work.fresh_views ? 1 : 0));
  if (material.placement().device.is_cuda()) per_step = std::max(per_step, kLeastGpuStep);
  return static_cast<double>(work.views) * per_view + static_cast<double>(work.steps) * per_step;
}

}  // namespace protogcd
