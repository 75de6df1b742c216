// Training images, decoded once and kept in memory at the size that crops are taken from: 8-bit
// pixels, as far as the room given for them reaches.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/data/skipped.h"
#include "protogcd/data/source_table.h"
#include "protogcd/image/decode.h"
#include "protogcd/image/image_look.h"
#include "protogcd/image/image_reader.h"

namespace protogcd {

/// Reads an image, a file, a box of one or a record, and resizes it to a short side; one per
/// thread.
class ResizedReader {
 public:
  ResizedReader(const SourceTable& sources, const DecodeOptions& decode)
      : sources_(sources), decode_(decode), reader_(decode) {}

  MaybeBad read(std::uint32_t source, int short_side, Image& output);
  /// The centre view alone, which takes less work.
  MaybeBad read_center(std::uint32_t source, const ViewSize& view, Image& output);
  /// As it is stored, not resized.
  ImageOrBad read_whole(std::uint32_t source);
  /// Of the image read last, before it was resized.
  ImageSize stored_size() const { return stored_size_; }

 private:
  bool is_whole_file(std::uint32_t source) const {
    return !sources_.is_record(source) && !sources_.box(source);
  }
  MaybeBad read_stored(std::uint32_t source, int short_side, std::optional<int> crop,
                       Image& output);

  const SourceTable& sources_;
  DecodeOptions decode_;
  ImageReader reader_;
  Resizer resizer_;
  ImageSize stored_size_;
};

class ImageCache {
 public:
  ImageCache(std::size_t sources, std::uint64_t max_bytes)
      : images_(sources), max_bytes_(max_bytes) {}

  /// nullptr where the image is not kept.
  const Image* find(std::uint32_t source) const {
    const Image& image = images_[source];
    return image.pixels.empty() ? nullptr : &image;
  }
  /// Keeps a copy if there is room. Threads may offer different images at once.
  void offer(std::uint32_t source, const Image& image);
  std::uint64_t bytes() const { return bytes_.load(); }

 private:
  std::vector<Image> images_;
  std::uint64_t max_bytes_;
  std::atomic<std::uint64_t> bytes_{0};
};

/// Reads every image of the list once: what cannot be read is noted in `skipped`, the rest is
/// offered to the cache. After it, no step of training meets a surprise. Where there is room for
/// every source in `looks`, what the images look like is noted there.
void read_all_images(const SourceTable& sources, std::span<const std::uint32_t> list,
                     int short_side, const DecodeOptions& decode, ImageCache& cache,
                     SkippedFiles& skipped, const Context& context,
                     std::span<ImageLook> looks = {});

}  // namespace protogcd
