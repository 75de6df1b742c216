// Images to network input, batch after batch: decoded, resized, cropped in the middle and
// normalised on threads of its own while the caller computes.
//
//   ImageLoader loader(sources, list, options, skipped);
//   while (const ImageBatch* batch = loader.next()) use(batch->pixels);
#pragma once

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "protogcd/core/thread_pool.h"
#include "protogcd/data/skipped.h"
#include "protogcd/data/source_table.h"
#include "protogcd/image/decode.h"
#include "protogcd/image/resize.h"
#include "protogcd/image/transform.h"

namespace protogcd {

struct LoaderOptions {
  ViewSize view;
  Normalization normalization;
  DecodeOptions decode;
  std::size_t batch = 16;
  std::size_t threads = 1;
  std::size_t ahead = 2;  ///< batches made ready beyond those in use
  std::size_t held =
      1;                ///< batches whose pixels stay good: the last one handed out, the one before
  bool pinned = false;  ///< pixels in memory that CUDA copies from on its own
};

struct ImageBatch {
  at::Tensor pixels;                   ///< [B, 3, crop, crop] float32
  std::vector<std::uint32_t> sources;  ///< [B], in the order of the list
  std::size_t end = 0;                 ///< position in the list after this batch's images
};

/// Batch k holds the images list[k * batch] .. list[(k + 1) * batch - 1], less the bad ones, in
/// this order: what is in a batch does not depend on threads. Memory is that of `ahead` + `held`
/// batches and one image per thread, whatever the length of the list.
class ImageLoader {
 public:
  /// `sources`, `list` and `skipped` must outlive the loader.
  ImageLoader(const SourceTable& sources, std::span<const std::uint32_t> list,
              const LoaderOptions& options, SkippedFiles& skipped);
  ~ImageLoader();
  ImageLoader(const ImageLoader&) = delete;
  ImageLoader& operator=(const ImageLoader&) = delete;

  /// The next batch that has an image, good until the next call (its pixels until as many calls as
  /// are `held`); nullptr at the end of the list.
  /// Bad images are noted in `skipped`, in the list's order, which throws where its policy bears no
  /// more. Errors of the threads are thrown here.
  const ImageBatch* next();

 private:
  struct Slot;
  struct Worker;

  /// The next images of the list, if there are any, are loaded into the slot.
  void schedule(Slot& slot);
  void load(Slot& slot, std::size_t index);
  MaybeBad read(Worker& worker, std::uint32_t source) const;
  void finish(Slot& slot);

  const SourceTable& sources_;
  const std::span<const std::uint32_t> list_;
  const LoaderOptions options_;
  const Normalizer normalizer_;
  SkippedFiles& skipped_;
  ImageBatch batch_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::size_t scheduled_ = 0;          ///< images of the list handed to the threads
  std::deque<Slot*> scheduled_slots_;  ///< in the order of the list
  std::deque<Slot*> held_slots_;       ///< handed out, the oldest first

  std::mutex mutex_;  ///< of what the threads share: idle_, stopping_, pending of every slot
  std::condition_variable loaded_;
  std::vector<std::unique_ptr<Worker>> idle_;
  bool stopping_ = false;
  ThreadPool pool_;  ///< last, so that its threads end first
};

}  // namespace protogcd
