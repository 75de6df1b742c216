// The decoders behind decode.h, one per format. Internal to this area.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "protogcd/image/decode.h"
#include "protogcd/image/image.h"

namespace protogcd {

/// Given the size of the whole image, the window that will be used.
using WantedBox = std::function<ImageBox(ImageSize)>;

/// A window of an image that may be larger.
struct PartialImage {
  ImageSize full;
  ImageBox box;  ///< what `pixels` holds; at least the window asked for
  Image pixels;
};

/// Refuses what the limits do not allow; the size comes from the file's header.
MaybeBad check_image_size(std::int64_t width, std::int64_t height, const DecodeOptions& options);

/// The image, or with `wanted` at least that window of it, the same pixels either way.
MaybeBad decode_jpeg(std::span<const std::byte> bytes, const DecodeOptions& options,
                     const WantedBox* wanted, PartialImage& output);
MaybeBad decode_png(std::span<const std::byte> bytes, const DecodeOptions& options, Image& output);
MaybeBad decode_bmp(std::span<const std::byte> bytes, const DecodeOptions& options, Image& output);
/// The first frame.
MaybeBad decode_gif(std::span<const std::byte> bytes, const DecodeOptions& options, Image& output);
/// Of an animation the first frame.
MaybeBad decode_webp(std::span<const std::byte> bytes, const DecodeOptions& options, Image& output);
/// The first page, as stored: not turned.
MaybeBad decode_tiff(std::span<const std::byte> bytes, const DecodeOptions& options, Image& output);
/// HEIC and AVIF: the primary image, upright.
MaybeBad decode_heif(std::span<const std::byte> bytes, const DecodeOptions& options, Image& output);

/// Whether the build, and for the last two the installed libheif, has what it takes.
bool reads_webp();
bool reads_tiff();
bool reads_heic();
bool reads_avif();

/// The decoder for these bytes. `output.box` is the whole image except for JPEG with `wanted`.
MaybeBad decode_any(std::span<const std::byte> bytes, const DecodeOptions& options,
                    const WantedBox* wanted, PartialImage& output);

}  // namespace protogcd
