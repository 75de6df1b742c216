// Which kinds of image files there are, by name, extension and first bytes, and which of them this
// build reads. What lists or names formats asks here.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace protogcd {

enum class ImageFormat { kUnknown, kJpeg, kPng, kWebp, kTiff, kBmp, kGif, kHeif };

/// From the first bytes; names of files are not asked. kHeif stands for HEIC and AVIF.
ImageFormat detect_image_format(std::span<const std::byte> bytes);

struct ImageKind {
  std::string name;                          ///< "jpeg"
  std::vector<std::string_view> extensions;  ///< lower case, without the dot
  std::string obstacle;                      ///< why this build does not read it; empty if it does
};

/// All kinds by whose extensions a file is taken for an image, those that can be read first.
const std::vector<ImageKind>& image_kinds();

/// "jpg" of "a.b.JPG"; empty for a name without one.
std::string lower_extension(std::string_view file_name);

/// By the extension, in any case; null for other files.
const ImageKind* kind_of_file_name(std::string_view file_name);

/// Names of the kinds that this build reads: "jpeg", "png", ...
std::vector<std::string> supported_image_formats();

/// Extensions of those: "jpg, jpeg, png, ...".
std::string supported_extensions();

}  // namespace protogcd
