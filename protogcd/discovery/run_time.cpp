#include "protogcd/discovery/run_time.h"

#include <ATen/ATen.h>

#include <chrono>

namespace protogcd {
namespace {

// A step trains one block on stored tokens, for the CLS token alone, and a head: so much of what
// the frozen blocks take for the same views (docs/training.md has the runs it was measured on).
constexpr double kStepShare = 1.0 / 30;
constexpr double kLeastGpuStep = 0.003;  // seconds: launches, whatever their size

double seconds_per_view(const TrainingMaterial& material, const Backbone& backbone) {
  const at::Device device = material.placement().device;
  const std::int64_t batch = device.is_cuda() ? material.placement().trunk_batch() : 4;
  const std::int64_t side = backbone.preprocessing.size;
  const at::Tensor views =
      at::zeros({batch, 3, side, side}, at::TensorOptions(device).dtype(at::kFloat));
  double seconds = 0;
  for (int run = 0; run < 2; ++run) {  // the first one takes memory and reads weights
    const auto start = std::chrono::steady_clock::now();
    const TrunkTokens tokens = material.trunk()->run(views);
    const at::Tensor& some = tokens.raw.defined() ? tokens.raw : tokens.normalised;
    static_cast<void>(some.flatten()[0].item<double>());  // waits for the device
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return seconds / static_cast<double>(batch);
}

}  // namespace

double about_seconds(const RunWork& work, const TrainingMaterial& material,
                     const Backbone& backbone) {
  const double per_view = seconds_per_view(material, backbone);
  double per_step = static_cast<double>(work.views_per_step) * per_view *
                    (kStepShare + (work.fresh_views ? 1 : 0));
  if (material.placement().device.is_cuda()) per_step = std::max(per_step, kLeastGpuStep);
  return static_cast<double>(work.views) * per_view + static_cast<double>(work.steps) * per_step;
}

}  // namespace protogcd
