// Images to files. The same pixels give the same bytes on every run.
#pragma once

#include <filesystem>
#include <string>

#include "protogcd/image/image.h"

namespace protogcd {

/// An 8-bit RGB PNG.
std::string encode_png(const Image& image);
/// The file appears whole or not at all; FileError names it if it cannot be written.
void write_png(const std::filesystem::path& path, const Image& image);

struct JpegOptions {
  int quality = 90;  ///< 1 to 100
  /// Columns and rows of pixels per chroma sample: 2x2 is what cameras write.
  int chroma_width = 2;
  int chroma_height = 2;
  bool progressive = false;
};

std::string encode_jpeg(const Image& image, const JpegOptions& options = {});

}  // namespace protogcd
