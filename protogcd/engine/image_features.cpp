#include "protogcd/engine/image_features.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <optional>

#include "protogcd/core/error.h"
#include "protogcd/engine/embedder.h"
#include "protogcd/engine/placement.h"
#include "protogcd/nn/device.h"

namespace protogcd {

ImageFeatures image_features(const SourceTable& sources, std::span<const std::uint32_t> list,
                             Backbone backbone, const ReadingOptions& reading,
                             SkippedFiles& skipped, const Context& context) {
  const Placement placement = place(context);
  const ComputeSettings settings(context);
  const Preprocessing pixels = backbone.preprocessing;
  const std::int64_t width = backbone.config.width;
  const Embedder embedder(std::move(backbone), placement, false);
  ImageLoader images(
      sources, ImageList::center_views(list),
      loader_options(pixels, reading, placement.trunk_batch(), context.threads, placement.device),
      skipped);
  Progress progress("embed", list.size(), "images", context.progress());
  ImageFeatures features;
  std::vector<at::Tensor> parts;
  std::optional<Embedder::Pending> last;
  std::size_t position = 0;
  while (const ImageBatch* batch = images.next()) {
    if (context.interrupted()) {
      throw InterruptedError(
          fmt::format("interrupted after {} of {} images", position, list.size()),
          fmt::format("features can be kept: protogcd embed, then {}", option_name("embeddings")));
    }
    Embedder::Pending next = embedder.start(batch->pixels);
    if (last) parts.push_back(Embedder::wait(*last).features);
    last = std::move(next);
    const std::size_t begin = position;
    for (const std::uint32_t source : batch->sources) {
      while (list[position] != source) ++position;  // bad images
      features.positions.push_back(position++);
    }
    position = batch->end;
    progress.add(position - begin);
  }
  if (last) parts.push_back(Embedder::wait(*last).features);
  features.values = parts.empty() ? at::empty({0, width}, at::kFloat) : at::cat(parts);
  return features;
}

}  // namespace protogcd
