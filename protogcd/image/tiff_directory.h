// The directories of a TIFF or BigTIFF file, read by hand: for what is asked before anything is
// decoded (size, orientation, further pages), in EXIF data, and in builds without libtiff.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

namespace protogcd {

/// Tags as the TIFF specification numbers them.
enum class TiffTag : std::uint16_t {
  kNewSubfileType = 254,
  kImageWidth = 256,
  kImageLength = 257,
  kPhotometric = 262,
  kOrientation = 274,
};

/// The value of a tag of the first directory that holds a whole number of 16 or 32 bits.
std::optional<std::uint32_t> tiff_value(std::span<const std::byte> file, TiffTag tag);

/// Whether the file holds more than one image. Smaller copies and masks of the first are no pages.
/// Only directories are read; of a file that is no TIFF or damaged the answer is no.
bool has_several_tiff_pages(const std::filesystem::path& path);
bool has_several_tiff_pages(std::span<const std::byte> file);

}  // namespace protogcd
