#include "protogcd/data/image_sizes.h"

#include <algorithm>
#include <vector>

#include "protogcd/image/decode.h"
#include "protogcd/image/image_size.h"

namespace protogcd {

std::optional<SizedSource> first_larger_image(const SourceTable& sources, int short_side) {
  std::vector<std::byte> file;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    std::optional<ImageSize> size;
    if (sources.is_record(i)) {
      size = sources.load_record(i).size();
    } else if (const auto box = sources.box(i)) {
      size = ImageSize{box->width, box->height};
    } else if (const auto packed = sources.packed(i)) {
      size = image_size(*packed);
    } else if (!read_image_file(sources.path(i), DecodeOptions().max_file_bytes, file)) {
      size = image_size(file);
    }
    if (size && std::min(size->width, size->height) > short_side) return SizedSource{i, *size};
  }
  return std::nullopt;
}

bool look_like_photographs(const SourceTable& sources) {
  constexpr std::size_t kAsked = 32;
  std::vector<std::byte> file;
  for (std::size_t i = 0; i < sources.size();
       i += std::max<std::size_t>(1, sources.size() / kAsked)) {
    if (sources.is_record(i)) return true;
    if (const auto packed = sources.packed(i)) {
      if (detect_image_format(*packed) == ImageFormat::kJpeg) return true;
    } else if (!read_image_file(sources.file(i), DecodeOptions().max_file_bytes, file) &&
               detect_image_format(file) == ImageFormat::kJpeg) {
      return true;
    }
  }
  return false;
}

}  // namespace protogcd
