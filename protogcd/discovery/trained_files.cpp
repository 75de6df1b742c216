#include "protogcd/discovery/trained_files.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

#include "protogcd/discovery/label_queue.h"
#include "protogcd/discovery/report_files.h"
#include "protogcd/nn/head.h"
#include "protogcd/run/label_next.h"

namespace protogcd {
namespace {

// In predictions.csv: as many as the page shows of an image.
constexpr const char* kShownProbabilities = "3";

at::Tensor features_before(const TrainedFiles& files) {
  const Placement& placement = files.material.placement();
  const auto untrained =
      make_trained_blocks(files.backbone.vit, files.model.info().first_trained_block,
                          placement.trained, placement.device);
  std::vector<at::Tensor> parts;
  for (const SampleSet set : {SampleSet::kUnlabelled, SampleSet::kAside}) {
    const at::NoGradGuard no_grad;
    files.material.for_each_rows(
        set, files.context, [&](const TrunkTokens& tokens) { return untrained->forward(tokens); },
        [&](const at::Tensor& rows) { parts.push_back(unit_rows(rows).to(at::kCPU, at::kHalf)); });
  }
  return at::cat(parts);
}

}  // namespace

void write_predictions(const TrainedFiles& files) {
  const TrainingSet& set = files.material.set();
  const std::vector<Sample> images = set.to_predict();
  PredictionWriter writer(files.folder.predictions(), files.model.info(), kShownProbabilities);
  for (std::size_t i = 0; i < images.size(); ++i)
    writer.row(comparable_path(set.sources().path(images[i].source)), files.predictions, i);
  writer.commit();
}

void write_label_queue(const TrainedFiles& files, const at::Tensor& features) {
  if (!features.defined()) return;
  const TrainingSet& set = files.material.set();
  const std::vector<Sample> images = set.to_predict();
  const ModelInfo& info = files.model.info();
  std::vector<std::size_t> labelled(static_cast<std::size_t>(info.k()));
  for (const SampleSet known : {SampleSet::kLabelled, SampleSet::kCalibration}) {
    for (const Sample& sample : set.of(known)) ++labelled[static_cast<std::size_t>(sample.truth)];
  }
  std::vector<LabelNext> rows;
  for (const auto& [image, why] : label_queue(features, files.predictions, info, labelled)) {
    const PredictedImage found = files.predictions.row(
        comparable_path(set.sources().path(images[image].source)), image, info);
    rows.push_back({found.path, found.class_name, found.confidence, why});
  }
  write_label_next(files.folder.label_next(), rows);
}

void write_report_files(const TrainedFiles& files, const at::Tensor& features,
                        bool with_attention) {
  if (!features.defined()) return;
  const TrainingSet& set = files.material.set();
  write_embeddings(files.folder.embeddings(),
                   {.before = features_before(files),
                    .after = features,
                    .prototypes = unit_rows(files.model.prototypes().centres),
                    .truths = truths_of(set.to_predict()),
                    .classes = set.dataset().classes});
  if (!with_attention) return;
  try {
    write_attention(files.folder.attention(), files.backbone, files.model, set,
                    attention_examples(files.predictions, files.model.info()), files.context);
  } catch (const std::exception& error) {
    files.context.log.warning(fmt::format("no attention maps for the report: {}", error.what()));
  }
}

}  // namespace protogcd
