// Views of images as rows of pixels, batch after batch: read, resized and cropped on threads of its
// own, into buffers of the caller's, while the caller computes.
//
//   ImageStream stream(sources, list, options, buffers, skipped);
//   while (const StreamBatch* batch = stream.next()) use(buffers[batch->buffer], batch->rows);
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "protogcd/core/random.h"
#include "protogcd/core/thread_pool.h"
#include "protogcd/data/image_cache.h"
#include "protogcd/data/skipped.h"
#include "protogcd/data/source_table.h"
#include "protogcd/image/decode.h"
#include "protogcd/image/resize.h"
#include "protogcd/image/strong_view.h"
#include "protogcd/image/transform.h"

namespace protogcd {

struct StreamOptions {
  ViewSize view;
  Normalization normalization;
  DecodeOptions decode;
  std::size_t batch = 16;
  std::size_t threads = 1;
  std::size_t ahead = 2;  ///< batches made ready beyond the one in use
  std::size_t views = 1;  ///< rows that each image gives
  /// Views that are drawn are strong ones by this recipe; nothing: crops, perhaps mirrored.
  std::optional<StrongViewOptions> strong = {};
  const ImageCache* cache = nullptr;  ///< images found there are not read again
  /// What becomes of an image as it is read, before it is resized; for centre views alone. Called
  /// from several threads; images of the cache are not asked for.
  std::function<Image(const Image&, std::uint32_t source)> change = {};
};

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

/// Network input, a row [3, crop, crop], or 8-bit pixels, a row [crop, crop, 3].
using PixelRows = std::variant<std::span<float>, std::span<std::uint8_t>>;

/// What a stream asks its caller for: so many buffers, each of so many rows of so many numbers.
struct StreamRoom {
  std::size_t buffers = 0, rows = 0, row_size = 0;

  StreamRoom(const ImageList& list, const StreamOptions& options);
};

struct StreamBatch {
  std::size_t buffer = 0;              ///< which of the caller's
  std::size_t rows = 0;                ///< at its beginning; row v * B + i is view v of image i
  std::vector<std::uint32_t> sources;  ///< [B], in the order of the list
  std::size_t end = 0;                 ///< position in the list after this batch's images
};

/// Batch k holds the images list[k * batch] .. list[(k + 1) * batch - 1], less the bad ones, in
/// this order: what is in a batch does not depend on threads. No more than `ahead` + 1 batches are
/// begun before the first of them is done with; memory is one image per thread, whatever the length
/// of the list.
class ImageStream {
 public:
  /// `sources`, `skipped`, what the list refers to and the buffers' memory must outlive the stream.
  ImageStream(const SourceTable& sources, ImageList list, const StreamOptions& options,
              std::vector<PixelRows> buffers, SkippedFiles& skipped);
  /// Images whose turn has not come are left; waits for those that are being read.
  ~ImageStream();
  ImageStream(const ImageStream&) = delete;
  ImageStream& operator=(const ImageStream&) = delete;

  /// The next batch that has an image; nullptr at the end of the list. The buffer of the batch
  /// before it is written again from here on. Bad images are noted in `skipped`, in the list's
  /// order, which throws where its policy bears no more; with several views an image has to be good
  /// (DataError names it), as every batch is whole. Errors of the threads are thrown here.
  const StreamBatch* next();

 private:
  struct Slot;
  struct Worker;

  void schedule(Slot& slot);
  void load(Slot& slot, std::size_t index);
  MaybeBad read(Worker& worker, const ImageRequest& request, const Slot& slot,
                std::size_t index) const;
  void put_drawn(Worker& worker, const Image& image, RandomStream random, const Slot& slot,
                 std::size_t row) const;
  MaybeBad read_changed(Worker& worker, std::uint32_t source) const;
  void put(const Image& image, const ImageBox& box, bool flip, const Slot& slot,
           std::size_t row) const;
  void finish(Slot& slot);

  const SourceTable& sources_;
  const ImageList list_;
  const StreamOptions options_;
  const StreamRoom room_;
  const Normalizer normalizer_;
  SkippedFiles& skipped_;
  StreamBatch batch_;
  std::vector<std::unique_ptr<Slot>> slots_;  ///< a ring, one for each buffer
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
