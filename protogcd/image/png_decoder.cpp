// PNG through libpng. Its errors jump too: as in jpeg_decoder.cpp, each step runs in a frame that
// owns nothing. Anything libpng calls an error (a wrong checksum, missing data) is a bad image.
#include <fmt/core.h>
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "protogcd/image/decoders.h"

namespace protogcd {
namespace {

/// One byte of deflate data cannot stand for more than this many.
constexpr std::uint64_t kMostExpansion = 1032;

struct PngReader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const std::byte> rest;
  char reason[160] = "not enough memory";

  explicit PngReader(std::span<const std::byte> bytes) : rest(bytes) {}
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  bool read_header();
  bool read_pixels(Image& output);
};

[[noreturn]] void on_png_error(png_structp png, png_const_charp message) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  if (std::strcmp(message, "end") == 0 || std::strstr(message, "Not enough image data")) {
    std::snprintf(reader->reason, sizeof reader->reason,
                  "truncated: the file ends before the image does");
  } else {
    std::snprintf(reader->reason, sizeof reader->reason, "damaged PNG: %.120s", message);
  }
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep target, std::size_t count) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (count > reader->rest.size()) png_error(png, "end");
  std::memcpy(target, reader->rest.data(), count);
  reader->rest = reader->rest.subspan(count);
}

bool PngReader::read_header() {
  png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_png_error, on_warning);
  if (png == nullptr) return false;
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  info = png_create_info_struct(png);
  if (info == nullptr) return false;
  png_set_read_fn(png, this, read_bytes);
  // Only what makes pixels is looked at: no text or colour profile is unpacked, transparency is
  // not applied. Sizes are checked by the caller.
  static const png_byte transparency[] = "tRNS";
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, transparency, 1);
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(png, info);
  return true;
}

bool PngReader::read_pixels(Image& output) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  const int kind = png_get_color_type(png, info);
  if (kind == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (kind == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
  png_set_scale_16(png);
  png_set_strip_alpha(png);
  png_set_gray_to_rgb(png);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (png_get_rowbytes(png, info) != std::size_t{3} * output.width) {
    png_error(png, "unexpected row size");
  }
  for (int pass = 0; pass < passes; ++pass) {
    for (int y = 0; y < output.height; ++y) png_read_row(png, output.at(0, y), nullptr);
  }
  return true;
}

}  // namespace

MaybeBad decode_png(std::span<const std::byte> bytes, const DecodeOptions& options, Image& output) {
  PngReader reader(bytes);
  if (!reader.read_header()) return BadImage{reader.reason};
  const std::int64_t width = png_get_image_width(reader.png, reader.info);
  const std::int64_t height = png_get_image_height(reader.png, reader.info);
  if (auto bad = check_image_size(width, height, options)) return bad;
  const std::uint64_t raw = png_get_rowbytes(reader.png, reader.info) * height;
  if (raw / kMostExpansion > bytes.size()) {
    return BadImage{
        fmt::format("truncated: {} bytes cannot hold {}x{} pixels", bytes.size(), width, height)};
  }
  output.reshape({static_cast<int>(width), static_cast<int>(height)});
  if (!reader.read_pixels(output)) return BadImage{reader.reason};
  return std::nullopt;
}

}  // namespace protogcd
