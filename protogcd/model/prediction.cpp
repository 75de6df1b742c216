#include "protogcd/model/prediction.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/sha256.h"
#include "protogcd/data/output_files.h"

namespace protogcd {

namespace {

bool is_outlier(const ModelInfo& info, double score) {
  return info.outliers && score > info.outliers->threshold;
}

}  // namespace

void Predictions::add(const at::Tensor& cosines, const TrainedModel& model) {
  const ModelInfo& info = model.info();
  if (!cosines.isfinite().all().item<bool>()) {
    throw ModelFileError("the features of an image are not numbers",
                         fmt::format("the backbone or the model may be damaged; try {} float32",
                                     option_name("dtype")));
  }
  const at::Tensor scores = model.scores_of(cosines);
  const at::Tensor label = std::get<1>(scores.max(1));
  const at::Tensor best = cosines.gather(1, label.unsqueeze(1)).squeeze(1);
  const at::Tensor chances = model.posterior_of(scores);  // [B, K]
  const at::Tensor columns =
      at::stack({label.to(at::kDouble), chances.amax(1).to(at::kDouble), best.to(at::kDouble)})
          .to(at::kCPU)
          .contiguous();
  const at::Tensor rows = cosines.to(at::kCPU, at::kFloat).contiguous();  // [B, K]
  const OutlierScorer score = info.outlier_scorer();
  const auto values = columns.accessor<double, 2>();
  const auto k = static_cast<std::size_t>(rows.size(1));
  for (std::int64_t i = 0; i < columns.size(1); ++i) {
    labels.push_back(static_cast<std::int32_t>(values[0][i]));
    confidence.push_back(static_cast<float>(values[1][i]));
    typicality.push_back(static_cast<float>(values[2][i]));
    outlier_score.push_back(score(
        info.outlier_score(), {rows.const_data_ptr<float>() + static_cast<std::size_t>(i) * k, k}));
  }
  if (keep_posterior) {
    const at::Tensor kept = chances.to(at::kCPU, at::kFloat).contiguous();
    posterior.insert(posterior.end(), kept.const_data_ptr<float>(),
                     kept.const_data_ptr<float>() + kept.numel());
  }
  const at::Tensor sums = chances.sum(0, /*keepdim=*/false, at::kDouble).to(at::kCPU);
  marginal.resize(k);
  for (std::int64_t c = 0; c < sums.size(0); ++c) {
    marginal[static_cast<std::size_t>(c)] += sums.const_data_ptr<double>()[c];
  }
}

std::uint64_t Predictions::outliers(const ModelInfo& info) const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(outlier_score, [&](double score) { return is_outlier(info, score); }));
}

void Predictions::finish() {
  for (double& share : marginal) share /= static_cast<double>(std::max<std::size_t>(size(), 1));
}

void Predictions::assign(const std::vector<std::int32_t>& classes, const at::Tensor& cosines,
                         const TrainedModel& model) {
  const at::Tensor chosen = at::tensor(at::ArrayRef<std::int32_t>(classes), at::kInt)
                                .to(at::kLong)
                                .unsqueeze(1);  // [N, 1]
  const at::Tensor on_cpu = cosines.to(at::kCPU, at::kFloat);
  const at::Tensor probabilities = model.posterior_of(model.scores_of(on_cpu));
  const auto picked = [&](const at::Tensor& rows) {
    const at::Tensor column = rows.gather(1, chosen).squeeze(1).contiguous();
    const auto* first = column.const_data_ptr<float>();
    return std::vector<float>(first, first + column.numel());
  };
  labels = classes;
  confidence = picked(probabilities);
  typicality = picked(on_cpu);
}

Predictions predict_all(const TrainedModel& model, EvaluationTokens& tokens,
                        const Context& context) {
  Predictions predictions;
  tokens.for_each(context, [&](const TrunkTokens& batch, std::size_t) {
    predictions.add(model.cosines(batch), model);
  });
  predictions.finish();
  return predictions;
}

PredictedImage Predictions::row(std::string path, std::size_t index, const ModelInfo& info) const {
  const std::int32_t label = labels[index];
  const double score = outlier_score[index];
  PredictedImage image{.path = std::move(path),
                       .class_name = info.classes[static_cast<std::size_t>(label)],
                       .is_new = info.is_new(label),
                       .confidence = confidence[index],
                       .typicality = typicality[index],
                       .outlier_score = score};
  if (info.outliers) image.is_outlier = is_outlier(info, score);
  if (!info.stability.empty()) image.stability = info.stability[static_cast<std::size_t>(label)];
  return image;
}

PredictSummary predict_images(const TrainedModel& model, const SourceTable& sources,
                              SkippedFiles& skipped, const Context& context,
                              const std::function<void(const PredictedBatch&)>& use,
                              const std::optional<Shard>& shard) {
  const LoaderOptions loader = model.center_loader(context.threads);
  const auto [first, end] = range_of(shard, sources.size(), loader.batch);
  std::vector<std::uint32_t> list(end - first);
  std::iota(list.begin(), list.end(), static_cast<std::uint32_t>(first));
  PredictSummary summary{.per_class = std::vector<std::uint64_t>(model.info().classes.size())};
  const auto start = std::chrono::steady_clock::now();
  Progress progress("predict", list.size(), "images", context.progress());
  ImageLoader images(sources, ImageList::center_views(list), loader, skipped);
  std::size_t done = 0;
  while (const ImageBatch* batch = images.next()) {
    Predictions predictions;
    predictions.keep_posterior = true;
    predictions.add(model.cosines(model.trunk().run(batch->pixels)), model);
    use({.sources = batch->sources, .predictions = predictions});
    summary.outliers += predictions.outliers(model.info());
    for (const std::int32_t label : predictions.labels)
      ++summary.per_class[static_cast<std::size_t>(label)];
    summary.images += predictions.size();
    progress.add(batch->end - done);
    done = batch->end;
    if (context.interrupted())
      throw InterruptedError(fmt::format("stopped after {} images", summary.images));
  }
  progress.add(list.size() - done);
  summary.skipped = skipped.count();
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

namespace {

/// Everything that a row of the table depends on, by name.
std::map<std::string, std::string> identity_of_predictions(const TrainedModel& model,
                                                           const SourceTable& sources,
                                                           const PredictOptions& options) {
  const ModelInfo& info = model.info();
  Sha256 digest;  // of the model without the place of its backbone, which machines may differ in
  ModelInfo anywhere = info;
  anywhere.backbone_file.clear();
  digest.update(anywhere.to_json());
  const Placement& placement = model.placement();
  return {{"model", hexadecimal(digest.finish())},
          {"list of images", list_digest(sources)},
          {"dtype", placement.arithmetic()},
          {"device", placement.device.is_cuda() ? "cuda" : "cpu"},
          {"choice of probabilities", options.probabilities}};
}

}  // namespace

PredictSummary write_predictions(const TrainedModel& model, const SourceTable& sources,
                                 const PredictOptions& options, const BadImagePolicy& policy,
                                 const Context& context) {
  const OutputFiles files =
      OutputFiles::of_predictions(options.shard ? options.shard->file(options.out) : options.out);
  const auto [first, end] =
      range_of(options.shard, sources.size(), model.center_loader(context.threads).batch);
  ShardNote note{.kind = "predictions",
                 .shard = options.shard.value_or(Shard{}),
                 .identity = identity_of_predictions(model, sources, options),
                 .images = end - first};
  if (options.shard && options.resume && !options.overwrite &&
      is_finished_shard(files.output, note)) {
    return {.per_class = {}, .out = files.output, .was_finished = true};
  }
  check_output_file(files.output,
                    options.overwrite || may_replace_shard(options.shard, files.output), "out");
  std::filesystem::remove(ShardNote::path_of(files.output));
  SkippedFiles skipped(policy, end - first);
  PredictionWriter writer(files.output, model.info(), options.probabilities);
  PredictSummary summary;
  try {
    summary = predict_images(
        model, sources, skipped, context,
        [&](const PredictedBatch& batch) {
          for (std::size_t i = 0; i < batch.sources.size(); ++i)
            writer.row(comparable_path(sources.path(batch.sources[i])), batch.predictions, i);
        },
        options.shard);
  } catch (const InterruptedError& error) {
    if (options.shard) throw;
    writer.commit();
    throw InterruptedError(
        fmt::format("{}, which are in {}", error.marked(), options.out.string()));
  }
  writer.commit();
  summary.out = files.output;
  // Of shards, the last lists the files of kinds that cannot be read, as they stand at the end.
  const bool lists_unreadable = !options.shard || options.shard->is_last();
  skipped.write_if_any(files.skipped, sources, lists_unreadable);
  summary.skipped = skipped.listed(sources, lists_unreadable);
  if (!options.shard) {
    skipped.check(sources,
                  fmt::format("the other {} are in {}", summary.images, options.out.string()));
    return summary;
  }
  note.skipped = skipped.count();
  note.add_file("output", files.output);
  note.add_file("skipped", files.skipped);
  note.write(files.output);
  return summary;
}

}  // namespace protogcd
