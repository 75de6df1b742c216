#include "protogcd/api/model.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <numeric>
#include <utility>
#include <variant>

#include "protogcd/core/thread_pool.h"
#include "protogcd/data/skipped.h"
#include "protogcd/data/source_table.h"
#include "protogcd/data/user_data.h"
#include "protogcd/image/decode.h"
#include "protogcd/model/model.h"
#include "protogcd/model/model_outputs.h"
#include "protogcd/model/prediction.h"
#include "protogcd/nn/device.h"

namespace protogcd {
namespace {

/// What a list of images comes to: sources, which of the list each is, and those that are none.
struct ImageList {
  SourceTable sources;
  std::vector<std::size_t> positions;  ///< of the sources in the list
  std::vector<std::string> names;      ///< of images in memory, by source; others have a path
  std::vector<UnreadImage> unread;

  std::string name(std::uint32_t source) const {
    return names.empty() ? sources.path(source) : names[source];
  }
};

ImageList list_of(SourceTable sources) {
  ImageList list{.sources = std::move(sources), .positions = {}, .names = {}, .unread = {}};
  list.positions.resize(list.sources.size());
  std::iota(list.positions.begin(), list.positions.end(), std::size_t{0});
  return list;
}

ImageList list_of(const std::vector<std::filesystem::path>& images) {
  ImageList list;
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (images[i].has_filename()) {
      list.sources.add_path(images[i]);
      list.positions.push_back(i);
    } else {
      list.unread.push_back({images[i].string(), "not the name of a file"});
    }
  }
  return list;
}

/// The pixels of an image as a container of one record.
std::shared_ptr<const RecordFile> record_of(const ImageInMemory& image,
                                            std::span<const std::uint8_t> pixels, ImageSize size,
                                            std::shared_ptr<const void> owner) {
  auto record = std::make_shared<RecordFile>();
  record->path = image.name;
  record->bytes = std::as_bytes(pixels);
  record->owner = std::move(owner);
  record->width = size.width;
  record->height = size.height;
  record->count = 1;
  record->record_stride = pixels.size();
  record->channel_stride = 1;
  record->column_stride = 3;
  record->row_stride = std::size_t{3} * static_cast<std::size_t>(size.width);
  record->labels = {0};
  return record;
}

ImageList list_of(std::span<const ImageInMemory> images, const ReadingOptions& reading,
                  std::size_t threads) {
  std::vector<ImageOrBad> decoded(images.size());
  ThreadPool(threads).for_each(images.size(), [&](std::size_t i) {
    const ImageInMemory& image = images[i];
    const auto expected =
        static_cast<std::size_t>(3 * ImageSize{image.width, image.height}.pixels());
    if (image.pixels.empty()) {
      decoded[i] = decode_image(image.encoded, {.apply_orientation = reading.apply_orientation});
    } else if (image.width < 1 || image.height < 1 || image.pixels.size() != expected) {
      decoded[i] = BadImage{fmt::format("{} bytes are no {}x{} pixels", image.pixels.size(),
                                        image.width, image.height)};
    }
  });
  ImageList list;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const ImageInMemory& image = images[i];
    if (const auto* bad = std::get_if<BadImage>(&decoded[i])) {
      list.unread.push_back({image.name, bad->reason});
      continue;
    }
    std::shared_ptr<const RecordFile> record;
    if (!image.pixels.empty()) {
      record = record_of(image, image.pixels, {image.width, image.height}, nullptr);
    } else {
      const auto own = std::make_shared<const Image>(std::get<Image>(std::move(decoded[i])));
      record = record_of(image, own->pixels, own->size(), own);
    }
    list.sources.add_record(list.sources.add_container(std::move(record)), 0);
    list.positions.push_back(i);
    list.names.push_back(image.name);
  }
  return list;
}

/// A library says which images could not be read; how many are too many is for its host to say.
SkippedFiles patient(const SourceTable& sources) {
  return {BadImagePolicy::parse("skip", "100%"), sources.size()};
}

void add_unread(std::vector<UnreadImage>& unread, const SkippedFiles& skipped,
                const ImageList& list) {
  for (const SkippedFile& file : skipped.files())
    unread.push_back({list.name(file.source), file.reason});
  for (const UnreadableFile& file : list.sources.unreadable())
    unread.push_back({file.path, file.reason});
}

PredictedImages predict_list(ImageList list, bool probabilities, const TrainedModel& model,
                             const Context& context) {
  const ComputeSettings settings(context);
  PredictedImages result{
      .images = {}, .positions = {}, .probabilities = {}, .unread = std::move(list.unread)};
  SkippedFiles skipped = patient(list.sources);
  predict_images(model, list.sources, skipped, context, [&](const PredictedBatch& batch) {
    for (std::size_t i = 0; i < batch.sources.size(); ++i) {
      const std::uint32_t source = batch.sources[i];
      result.images.push_back(batch.predictions.row(list.name(source), i, model.info()));
      result.positions.push_back(list.positions[source]);
      if (!probabilities) continue;
      const auto posterior = batch.predictions.posterior_of(i);
      result.probabilities.insert(result.probabilities.end(), posterior.begin(), posterior.end());
    }
  });
  add_unread(result.unread, skipped, list);
  return result;
}

EmbeddedImages embed_list(ImageList list, const TrainedModel& model, const Context& context) {
  const ComputeSettings settings(context);
  EmbeddedImages result{.paths = {},
                        .positions = {},
                        .width = model.info().width,
                        .values = {},
                        .unread = std::move(list.unread)};
  SkippedFiles skipped = patient(list.sources);
  for_each_feature(model, list.sources, skipped, context,
                   [&](std::span<const std::uint32_t> read, const at::Tensor& features) {
                     for (const std::uint32_t source : read) {
                       result.paths.push_back(list.name(source));
                       result.positions.push_back(list.positions[source]);
                     }
                     const at::Tensor rows = features.to(at::kCPU, at::kFloat).contiguous();
                     const auto* first = rows.const_data_ptr<float>();
                     result.values.insert(result.values.end(), first, first + rows.numel());
                   });
  add_unread(result.unread, skipped, list);
  return result;
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

PredictedImages Model::predict(const std::vector<std::filesystem::path>& images,
                               bool probabilities) const {
  return predict_list(list_of(images), probabilities, *model_, context_);
}

PredictedImages Model::predict(std::span<const ImageInMemory> images, bool probabilities) const {
  return predict_list(list_of(images, model_->info().reading, context_.threads), probabilities,
                      *model_, context_);
}

PredictedImages Model::predict_folder(const std::filesystem::path& folder,
                                      bool probabilities) const {
  return predict_list(list_of(load_images(folder).sources), probabilities, *model_, context_);
}

EmbeddedImages Model::embed(const std::vector<std::filesystem::path>& images) const {
  return embed_list(list_of(images), *model_, context_);
}

EmbeddedImages Model::embed(std::span<const ImageInMemory> images) const {
  return embed_list(list_of(images, model_->info().reading, context_.threads), *model_, context_);
}

void Model::speak_to(const Context& host) {
  context_.log = host.log;
  context_.progress_sink = host.progress_sink;
  context_.stop = host.stop;
}

}  // namespace protogcd
