#include "protogcd/api/model.h"

#include <ATen/ATen.h>

#include "protogcd/data/skipped.h"
#include "protogcd/data/source_table.h"
#include "protogcd/data/user_data.h"
#include "protogcd/model/model.h"
#include "protogcd/model/model_outputs.h"
#include "protogcd/model/prediction.h"
#include "protogcd/nn/device.h"

namespace protogcd {
namespace {

/// Paths that can name no file go to `unread`.
SourceTable table_of(const std::vector<std::filesystem::path>& images,
                     std::vector<UnreadImage>& unread) {
  SourceTable sources;
  for (const auto& image : images) {
    if (image.has_filename()) {
      sources.add_path(image);
    } else {
      unread.push_back({image.string(), "not the name of a file"});
    }
  }
  return sources;
}

/// A library says which images could not be read; how many are too many is for its host to say.
SkippedFiles patient(const SourceTable& sources) {
  return {BadImagePolicy::parse("skip", "100%"), sources.size()};
}

void add_unread(std::vector<UnreadImage>& unread, const SkippedFiles& skipped,
                const SourceTable& sources) {
  for (const SkippedFile& file : skipped.files())
    unread.push_back({sources.path(file.source), file.reason});
  for (const UnreadableFile& file : sources.unreadable())
    unread.push_back({file.path, file.reason});
}

void predict_into(PredictedImages& result, const TrainedModel& model, const SourceTable& sources,
                  const Context& context) {
  const ComputeSettings settings(context);
  SkippedFiles skipped = patient(sources);
  predict_images(model, sources, skipped, context, [&](const PredictedBatch& batch) {
    for (std::size_t i = 0; i < batch.sources.size(); ++i) {
      result.images.push_back(
          batch.predictions.row(sources.path(batch.sources[i]), i, model.info()));
    }
  });
  add_unread(result.unread, skipped, sources);
}

}  // namespace

Model::Model(std::unique_ptr<const TrainedModel> model, const Context& context)
    : model_(std::move(model)), context_(context) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

Model Model::load(const std::filesystem::path& run, const Context& context,
                  const std::filesystem::path& backbone) {
  return {std::make_unique<const TrainedModel>(load_model(run, backbone, context)), context};
}

const std::vector<std::string>& Model::classes() const {
  return model_->info().classes;
}

std::int64_t Model::old_classes() const {
  return model_->info().old_classes;
}

PredictedImages Model::predict(const std::vector<std::filesystem::path>& images) const {
  PredictedImages result;
  predict_into(result, *model_, table_of(images, result.unread), context_);
  return result;
}

PredictedImages Model::predict_folder(const std::filesystem::path& folder) const {
  PredictedImages result;
  predict_into(result, *model_, load_images(folder).sources, context_);
  return result;
}

EmbeddedImages Model::embed(const std::vector<std::filesystem::path>& images) const {
  const ComputeSettings settings(context_);
  EmbeddedImages result;
  const SourceTable sources = table_of(images, result.unread);
  SkippedFiles skipped = patient(sources);
  result.width = model_->info().width;
  for_each_feature(*model_, sources, skipped, context_,
                   [&](std::span<const std::uint32_t> read, const at::Tensor& features) {
                     for (const std::uint32_t source : read)
                       result.paths.push_back(sources.path(source));
                     const at::Tensor rows = features.to(at::kCPU, at::kFloat).contiguous();
                     const auto* first = rows.const_data_ptr<float>();
                     result.values.insert(result.values.end(), first, first + rows.numel());
                   });
  add_unread(result.unread, skipped, sources);
  return result;
}

}  // namespace protogcd
