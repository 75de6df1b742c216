#include "protogcd/model/model_outputs.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

#include <numeric>

#include "protogcd/core/error.h"
#include "protogcd/nn/head.h"

namespace protogcd {
namespace {

at::Tensor joined(const std::vector<at::Tensor>& parts, std::int64_t columns,
                  const std::string& name) {
  if (parts.empty()) return at::empty({0, columns}, at::kFloat);
  const at::Tensor rows = at::cat(parts);
  if (!rows.isfinite().all().item<bool>()) {
    throw DataError(fmt::format("{}: the features of an image are not numbers", name),
                    fmt::format("the backbone or the model may be damaged; try {} float32",
                                option_name("dtype")));
  }
  return rows;
}

}  // namespace

ModelOutputs outputs_of(const TrainedModel& model, EvaluationTokens& tokens,
                        const std::string& name, const Context& context) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> features, cosines;
  tokens.for_each_rows(
      context, [&](const TrunkTokens& batch) { return model.features(batch); },
      [&](const at::Tensor& raw) {
        features.push_back(unit_rows(raw).to(at::kCPU, at::kFloat));
        cosines.push_back(model.cosines_of(raw).to(at::kCPU, at::kFloat));
      });
  return {joined(features, model.info().width, name), joined(cosines, model.info().k(), name)};
}

void for_each_feature(
    const TrainedModel& model, const SourceTable& sources, SkippedFiles& skipped,
    const Context& context,
    const std::function<void(std::span<const std::uint32_t>, const at::Tensor&)>& use,
    const std::string& task) {
  std::vector<std::uint32_t> list(sources.size());
  std::iota(list.begin(), list.end(), 0u);
  Progress progress(task, list.size(), "images", context.progress());
  ImageLoader images(sources, ImageList::center_views(list), model.center_loader(context.threads),
                     skipped);
  std::size_t done = 0;
  while (const ImageBatch* batch = images.next()) {
    if (context.interrupted()) throw InterruptedError("stopped while images were read");
    use(batch->sources, unit_rows(model.features(model.trunk().run(batch->pixels))));
    progress.add(batch->end - done);
    done = batch->end;
  }
  progress.add(list.size() - done);
}

at::Tensor cosines_of(const TrainedModel& model, const ImageSet& set, SkippedFiles& skipped,
                      const Context& context) {
  std::vector<std::uint32_t> list(set.sources.size());
  std::iota(list.begin(), list.end(), 0u);
  Progress progress(set.name, list.size(), "images", context.progress());
  ImageLoader images(set.sources, ImageList::center_views(list),
                     model.center_loader(context.threads), skipped);
  std::vector<at::Tensor> parts;
  std::size_t done = 0;
  while (const ImageBatch* batch = images.next()) {
    if (context.interrupted()) throw InterruptedError("stopped while images were scored");
    parts.push_back(model.cosines(model.trunk().run(batch->pixels)).to(at::kCPU, at::kFloat));
    progress.add(batch->end - done);
    done = batch->end;
  }
  progress.add(list.size() - done);
  return joined(parts, model.info().k(), set.name);
}

}  // namespace protogcd
