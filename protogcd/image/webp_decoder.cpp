// WebP through libwebp, where the build has it. Of an animation the first frame is read.
#include "protogcd/image/decoders.h"

#ifdef PROTOGCD_WITH_WEBP
#include <fmt/core.h>
#include <webp/decode.h>

#include <cstring>
#endif

namespace protogcd {

#ifdef PROTOGCD_WITH_WEBP
bool reads_webp() {
  return true;
}

namespace {

using Bytes = std::span<const std::byte>;

const std::uint8_t* raw(Bytes bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

std::uint32_t little_endian(Bytes bytes, std::size_t offset, int count) {
  std::uint32_t value = 0;
  for (int i = count - 1; i >= 0; --i) {
    value = value << 8 | std::to_integer<std::uint32_t>(bytes[offset + static_cast<unsigned>(i)]);
  }
  return value;
}

/// The first frame's own chunks, if that frame covers the whole canvas; empty otherwise.
Bytes first_frame(Bytes file, const WebPBitstreamFeatures& canvas) {
  constexpr std::size_t kFrameHeader = 16;
  std::size_t offset = 12;
  while (file.size() - offset >= 8) {
    const std::size_t length = little_endian(file, offset + 4, 4);
    const std::size_t left = file.size() - offset - 8;
    if (length > left) return {};
    if (std::memcmp(file.data() + offset, "ANMF", 4) == 0) {
      if (length < kFrameHeader) return {};
      const Bytes frame = file.subspan(offset + 8, length);
      const bool covers = little_endian(frame, 0, 3) == 0 && little_endian(frame, 3, 3) == 0 &&
                          little_endian(frame, 6, 3) + 1 == std::uint32_t(canvas.width) &&
                          little_endian(frame, 9, 3) + 1 == std::uint32_t(canvas.height);
      return covers ? frame.subspan(kFrameHeader) : Bytes{};
    }
    offset += 8 + std::min(left, length + (length & 1));
  }
  return {};
}

BadImage bad_webp(VP8StatusCode status) {
  if (status == VP8_STATUS_NOT_ENOUGH_DATA || status == VP8_STATUS_SUSPENDED) {
    return {"truncated: the file ends before the image does"};
  }
  if (status == VP8_STATUS_OUT_OF_MEMORY) return {"not enough memory for its pixels"};
  return {"damaged WebP"};
}

}  // namespace

MaybeBad decode_webp(Bytes bytes, const DecodeOptions& options, Image& output) {
  // libwebp shows what it has of a cut file; the container says how long it ought to be.
  if (little_endian(bytes, 4, 4) > bytes.size() - 8) return bad_webp(VP8_STATUS_NOT_ENOUGH_DATA);
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) return BadImage{"libwebp of another version"};
  auto status = WebPGetFeatures(raw(bytes), bytes.size(), &config.input);
  if (status != VP8_STATUS_OK) return bad_webp(status);
  if (config.input.has_animation) {
    const ImageSize canvas{config.input.width, config.input.height};
    bytes = first_frame(bytes, config.input);
    if (bytes.empty()) return BadImage{"an animated WebP whose first frame is not a whole image"};
    status = WebPGetFeatures(raw(bytes), bytes.size(), &config.input);
    if (status != VP8_STATUS_OK) return bad_webp(status);
    if (ImageSize{config.input.width, config.input.height} != canvas) {
      return BadImage{"damaged WebP"};
    }
  }
  if (auto bad = check_image_size(config.input.width, config.input.height, options)) return bad;
  output.reshape({config.input.width, config.input.height});
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = output.pixels.data();
  config.output.u.RGBA.stride = 3 * output.width;
  config.output.u.RGBA.size = output.pixels.size();
  status = WebPDecode(raw(bytes), bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) return bad_webp(status);
  return std::nullopt;
}
#else
bool reads_webp() {
  return false;
}

MaybeBad decode_webp(std::span<const std::byte>, const DecodeOptions&, Image&) {
  return BadImage{"a WebP image, which this build does not read (it was built without libwebp)"};
}
#endif

}  // namespace protogcd
