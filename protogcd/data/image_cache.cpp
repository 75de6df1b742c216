#include "protogcd/data/image_cache.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/core/thread_pool.h"

namespace protogcd {

MaybeBad ResizedReader::read(std::uint32_t source, int short_side, Image& output) {
  if (!is_whole_file(source)) return read_stored(source, short_side, std::nullopt, output);
  const auto packed = sources_.packed(source);
  MaybeBad bad = packed ? reader_.decode_resized(*packed, short_side, output)
                        : reader_.read_resized(sources_.path(source), short_side, output);
  stored_size_ = reader_.decoded_size();
  return bad;
}

MaybeBad ResizedReader::read_center(std::uint32_t source, const ViewSize& view, Image& output) {
  if (!is_whole_file(source)) return read_stored(source, view.short_side, view.crop, output);
  if (const auto packed = sources_.packed(source))
    return reader_.decode_center_view(*packed, view, output);
  return reader_.read_center_view(sources_.path(source), view, output);
}

ImageOrBad ResizedReader::read_whole(std::uint32_t source) {
  if (sources_.is_record(source)) return sources_.load_record(source);
  if (const auto box = sources_.box(source)) {
    Image part;
    if (auto bad = reader_.read_part(sources_.file(source), *box, part)) return std::move(*bad);
    return part;
  }
  DecodeOptions exact = decode_;
  exact.fast_short_side = 0;
  if (const auto packed = sources_.packed(source)) return decode_image(*packed, exact);
  return read_image(sources_.path(source), exact);
}

MaybeBad ResizedReader::read_stored(std::uint32_t source, int short_side, std::optional<int> crop,
                                    Image& output) {
  ImageOrBad whole = read_whole(source);
  if (auto* bad = std::get_if<BadImage>(&whole)) return std::move(*bad);
  const Image& image = std::get<Image>(whole);
  stored_size_ = image.size();
  const auto target = size_with_short_side(image.size(), short_side);
  if (!target || (!crop && target->pixels() > kMaxResizedPixels)) {
    return BadImage{fmt::format("{}x{} is too elongated to be resized to a short side of {}",
                                image.width, image.height, short_side)};
  }
  const ImageBox box =
      crop ? center_crop_box(*target, *crop) : ImageBox{0, 0, target->width, target->height};
  resizer_.resize(image, image.size(), {0, 0, image.width, image.height}, *target, box, output);
  return std::nullopt;
}

void ImageCache::offer(std::uint32_t source, const Image& image) {
  const std::uint64_t size = image.pixels.size();
  if (bytes_.fetch_add(size) + size > max_bytes_) {
    bytes_.fetch_sub(size);
    return;
  }
  images_[source] = image;
}

void read_all_images(const SourceTable& sources, std::span<const std::uint32_t> list,
                     int short_side, const DecodeOptions& decode, ImageCache& cache,
                     SkippedFiles& skipped, const Context& context, std::span<ImageLook> looks) {
  constexpr std::size_t kImagesPerTask = 32;  // they share a reader and its buffers
  Progress progress("read", list.size(), "images", context.progress());
  ThreadPool pool(context.threads);
  pool.for_each((list.size() + kImagesPerTask - 1) / kImagesPerTask, [&](std::size_t task) {
    if (context.interrupted()) {
      throw InterruptedError("stopped while reading images", "repeat the command to start again");
    }
    ResizedReader reader(sources, decode);
    Image image;
    const std::size_t end = std::min(list.size(), (task + 1) * kImagesPerTask);
    for (std::size_t i = task * kImagesPerTask; i < end; ++i) {
      if (const auto bad = reader.read(list[i], short_side, image)) {
        skipped.add(sources, list[i], bad->reason);
      } else {
        cache.offer(list[i], image);
        if (!looks.empty()) looks[list[i]] = look_at(image, reader.stored_size());
      }
    }
    progress.add(end - task * kImagesPerTask);
  });
}

}  // namespace protogcd
