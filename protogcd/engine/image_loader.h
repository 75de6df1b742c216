// Images to network input, batch after batch: an ImageStream whose rows become tensors, on the CPU
// or on a GPU.
//
//   ImageLoader loader(sources, list, options, skipped);
//   while (const ImageBatch* batch = loader.next()) use(batch->pixels);
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "protogcd/data/image_stream.h"
#include "protogcd/nn/vit_config.h"

namespace protogcd {

struct LoaderOptions : StreamOptions {
  /// Where batches are handed out. To a GPU travel 8-bit pixels from pinned memory, while it
  /// computes; they become network input there.
  at::Device device = at::kCPU;
};

/// How image files become pixels, beyond what the backbone asks for.
struct ReadingOptions {
  bool apply_orientation = true;  ///< turn images upright as their EXIF data says
  bool fast_decode = false;       ///< JPEG at a reduced size: faster, not exact
};

/// What a backbone's preprocessing asks for.
LoaderOptions loader_options(const Preprocessing& pixels, const ReadingOptions& reading,
                             std::int64_t batch, std::size_t threads, at::Device device);

struct ImageBatch {
  at::Tensor pixels;  ///< [views * B, 3, crop, crop] float32; row v * B + i is view v of image i
  std::vector<std::uint32_t> sources;  ///< [B], in the order of the list
  std::size_t end = 0;                 ///< position in the list after this batch's images
};

/// Batches are those of ImageStream, and memory is that of its buffers.
class ImageLoader {
 public:
  /// `sources`, `skipped` and what the list refers to must outlive the loader.
  ImageLoader(const SourceTable& sources, ImageList list, const LoaderOptions& options,
              SkippedFiles& skipped);
  ~ImageLoader();
  ImageLoader(const ImageLoader&) = delete;
  ImageLoader& operator=(const ImageLoader&) = delete;

  /// The next batch that has an image, good until the next call; nullptr at the end of the list.
  /// Throws as ImageStream does.
  const ImageBatch* next();

 private:
  struct Buffer;
  class Upload;

  std::unique_ptr<Upload> upload_;  ///< where batches go to a GPU
  std::vector<Buffer> buffers_;
  Buffer* in_use_ = nullptr;  ///< the last batch's
  ImageBatch batch_;
  std::unique_ptr<ImageStream> stream_;  ///< last, so that its threads end before the buffers do
};

}  // namespace protogcd
