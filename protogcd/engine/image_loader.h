// Images to network input, batch after batch: decoded, resized, cropped and normalised on threads
// of its own while the caller computes.
//
//   ImageLoader loader(sources, list, options, skipped);
//   while (const ImageBatch* batch = loader.next()) use(batch->pixels);
#pragma once

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "protogcd/core/random.h"
#include "protogcd/core/thread_pool.h"
#include "protogcd/data/skipped.h"
#include "protogcd/data/source_table.h"
#include "protogcd/engine/image_cache.h"
#include "protogcd/image/decode.h"
#include "protogcd/image/resize.h"
#include "protogcd/image/transform.h"
#include "protogcd/nn/vit_config.h"

namespace protogcd {

struct LoaderOptions {
  ViewSize view;
  Normalization normalization;
  DecodeOptions decode;
  std::size_t batch = 16;
  std::size_t threads = 1;
  std::size_t ahead = 2;              ///< batches made ready beyond the one in use
  std::size_t views = 1;              ///< rows that each image gives
  const ImageCache* cache = nullptr;  ///< images found there are not read again
  /// What becomes of an image as it is read, before it is resized; for centre views alone. Called
  /// from several threads; images of the cache are not asked for.
  std::function<Image(const Image&, std::uint32_t source)> change = {};
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

/// One image of the list: its centre view, or views drawn at random from this key (the first of
/// them has the key's own `view`, each further one the next).
struct ImageRequest {
  std::uint32_t source = 0;
  std::optional<RandomKey> draw;
};

/// The list, made as it is needed: an epoch of a million draws need not be stored.
struct ImageList {
  std::size_t size = 0;
  std::function<ImageRequest(std::size_t)> at;  ///< called from several threads

  /// Centre views; the numbers must outlive the list.
  static ImageList center_views(std::span<const std::uint32_t> sources);
};

struct ImageBatch {
  at::Tensor pixels;  ///< [views * B, 3, crop, crop] float32; row v * B + i is view v of image i
  std::vector<std::uint32_t> sources;  ///< [B], in the order of the list
  std::size_t end = 0;                 ///< position in the list after this batch's images
};

/// Batch k holds the images list[k * batch] .. list[(k + 1) * batch - 1], less the bad ones, in
/// this order: what is in a batch does not depend on threads. Memory is that of `ahead` + 1
/// batches and one image per thread, whatever the length of the list.
class ImageLoader {
 public:
  /// `sources`, `skipped` and what the list refers to must outlive the loader.
  ImageLoader(const SourceTable& sources, ImageList list, const LoaderOptions& options,
              SkippedFiles& skipped);
  ~ImageLoader();
  ImageLoader(const ImageLoader&) = delete;
  ImageLoader& operator=(const ImageLoader&) = delete;

  /// The next batch that has an image, good until the next call; nullptr at the end of the list.
  /// Bad images are noted in `skipped`, in the list's order, which throws where its policy bears no
  /// more; with several views an image has to be good (DataError names it), as every batch is
  /// whole. Errors of the threads are thrown here.
  const ImageBatch* next();

 private:
  struct Slot;
  struct Worker;
  class Upload;

  void schedule(Slot& slot);
  void load(Slot& slot, std::size_t index);
  MaybeBad read(Worker& worker, const ImageRequest& request, Slot& slot, std::size_t index) const;
  MaybeBad read_changed(Worker& worker, std::uint32_t source) const;
  void put(const Image& image, const ImageBox& box, bool flip, Slot& slot, std::size_t row) const;
  void finish(Slot& slot);

  const SourceTable& sources_;
  const ImageList list_;
  const LoaderOptions options_;
  const Normalizer normalizer_;
  SkippedFiles& skipped_;
  std::unique_ptr<Upload> upload_;  ///< where batches go to a GPU
  ImageBatch batch_;
  std::vector<std::unique_ptr<Slot>> slots_;  ///< a ring
  std::size_t scheduled_ = 0;                 ///< images of the list handed to the threads
  std::size_t current_ = 0;                   ///< slot of the next batch
  bool started_ = false;

  std::mutex mutex_;  ///< of what the threads share: idle_, stopping_, pending of every slot
  std::condition_variable loaded_;
  std::vector<std::unique_ptr<Worker>> idle_;
  bool stopping_ = false;
  ThreadPool pool_;  ///< last, so that its threads end first
};

}  // namespace protogcd
