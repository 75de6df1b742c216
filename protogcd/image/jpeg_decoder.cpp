// JPEG through libjpeg's plain interface: accurate DCT and fancy upsampling, as Pillow uses it.
//
// libjpeg reports errors by a function that must not return: each step below sets a jump and calls
// libjpeg in a frame that owns nothing, so that the jump skips no destructor.
//
// What is damaged? As with Pillow, a stream that ends before its end marker is (also one that only
// lacks the marker), and so is whatever libjpeg calls an error. Its warnings (a damaged bit in the
// entropy-coded data, stray bytes between segments) leave an image to look at and are tolerated:
// ImageNet and CUB contain such files, and published results were computed on them.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

#include "protogcd/image/decoders.h"
#include "protogcd/image/samples.h"
// jpeglib.h needs <cstdio> before it.
#include <jpeglib.h>

namespace protogcd {
namespace {

/// Rows handed to libjpeg at once; it fills as many as one group of blocks gives (at most 4).
constexpr int kRowsPerCall = 16;

/// Decoding a window treats its borders as image borders, where upsampling chroma has no neighbour
/// to look at; so one more block is decoded on every side, and the window itself is exact.
constexpr int kWindowMargin = 16;

constexpr int kFullScale = 8;

/// Of an image as large as may be; encoders write about 10.
constexpr std::int64_t kMostWholeScans = 16;

struct ErrorManager {
  jpeg_error_mgr base;  // first: libjpeg hands out a pointer to it
  std::jmp_buf jump;
  char reason[JMSG_LENGTH_MAX];
};

[[noreturn]] void fail(j_common_ptr info, const char* reason) {
  auto* errors = reinterpret_cast<ErrorManager*>(info->err);
  std::snprintf(errors->reason, sizeof errors->reason, "%s", reason);
  std::longjmp(errors->jump, 1);
}

[[noreturn]] void on_jpeg_error(j_common_ptr info) {
  char message[JMSG_LENGTH_MAX];
  info->err->format_message(info, message);
  char reason[JMSG_LENGTH_MAX];
  std::snprintf(reason, sizeof reason, "damaged JPEG: %.*s", JMSG_LENGTH_MAX - 32, message);
  fail(info, reason);
}

void on_message(j_common_ptr, int) {}
void on_output(j_common_ptr) {}

[[noreturn]] void fail_truncated(j_decompress_ptr info) {
  fail(reinterpret_cast<j_common_ptr>(info), "truncated: the file ends before the image does");
}

void source_begin(j_decompress_ptr) {}
boolean source_fill(j_decompress_ptr info) {
  fail_truncated(info);
}
void source_skip(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  if (static_cast<std::size_t>(count) > info->src->bytes_in_buffer) fail_truncated(info);
  info->src->next_input_byte += count;
  info->src->bytes_in_buffer -= static_cast<std::size_t>(count);
}
void source_end(j_decompress_ptr) {}

/// Files store ink inverted (Adobe's convention, which Pillow assumes of all): `stored` holds
/// 255 - ink, [width, 4].
void convert_cmyk_row(const std::uint8_t* stored, std::uint8_t* rgb, int width) {
  for (int x = 0; x < width; ++x, stored += 4, rgb += 3) light_to_rgb(stored, rgb);
}

/// The smallest n of 1, 2, 4 and 8 for which n/8 of the size still has the short side wanted. The
/// others are no gain: libjpeg has vectorised transforms for these alone (6/8 of a 500x375 photo
/// takes half as long again as the whole).
int choose_scale(std::int64_t short_side, int wanted) {
  if (wanted <= 0) return kFullScale;
  int scale = 1;
  while (scale < kFullScale && (short_side * scale + 7) / 8 < wanted) scale *= 2;
  return scale;
}

/// libjpeg's state, made anew for every image: kept, it would lend the tables of one file to a
/// damaged next one.
class JpegReader {
 public:
  jpeg_decompress_struct info{};
  ErrorManager errors{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  int max_scans = 0;
  bool created = false;
  std::vector<std::uint8_t> spare_row;  ///< a CMYK row, or one that nobody asked for

  JpegReader();
  ~JpegReader() { jpeg_destroy_decompress(&info); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  void begin(std::span<const std::byte> bytes);
  bool read_header();
  bool start();
  bool crop_columns(unsigned& left, unsigned& width);
  bool skip_rows(int count);
  bool read_rgb_rows(std::uint8_t* pixels, std::size_t pitch, int count);
  bool read_cmyk_rows(std::uint8_t* pixels, int width, int count);
  bool finish();
  bool read_window(const ImageBox& wanted, PartialImage& output);
  BadImage bad() const { return {errors.reason}; }
};

JpegReader::JpegReader() {
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = on_jpeg_error;
  errors.base.emit_message = on_message;
  errors.base.output_message = on_output;
  source.init_source = source_begin;
  source.fill_input_buffer = source_fill;
  source.skip_input_data = source_skip;
  source.resync_to_restart = jpeg_resync_to_restart;
  source.term_source = source_end;
  progress.progress_monitor = [](j_common_ptr common) {
    const auto* decompress = reinterpret_cast<j_decompress_ptr>(common);
    const auto* reader = static_cast<const JpegReader*>(common->client_data);
    if (decompress->input_scan_number > reader->max_scans) fail(common, "too many JPEG scans");
  };
  if (setjmp(errors.jump) != 0) return;
  jpeg_create_decompress(&info);
  info.client_data = this;
  info.src = &source;
  info.progress = &progress;
  created = true;
}

void JpegReader::begin(std::span<const std::byte> bytes) {
  source.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
  source.bytes_in_buffer = bytes.size();
}

bool JpegReader::read_header() {
  if (setjmp(errors.jump) != 0) return false;
  jpeg_read_header(&info, TRUE);
  return true;
}

bool JpegReader::start() {
  if (setjmp(errors.jump) != 0) return false;
  info.out_color_space = info.num_components == 4 ? JCS_CMYK : JCS_RGB;
  info.dct_method = JDCT_ISLOW;
  info.do_fancy_upsampling = TRUE;
  jpeg_start_decompress(&info);
  return true;
}

bool JpegReader::crop_columns([[maybe_unused]] unsigned& left, [[maybe_unused]] unsigned& width) {
#ifdef LIBJPEG_TURBO_VERSION_NUMBER
  if (setjmp(errors.jump) != 0) return false;
  jpeg_crop_scanline(&info, &left, &width);
#endif
  return true;
}

bool JpegReader::skip_rows([[maybe_unused]] int count) {
#ifdef LIBJPEG_TURBO_VERSION_NUMBER
  if (setjmp(errors.jump) != 0) return false;
  jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(count));
#endif
  return true;
}

bool JpegReader::read_rgb_rows(std::uint8_t* pixels, std::size_t pitch, int count) {
  if (setjmp(errors.jump) != 0) return false;
  const JDIMENSION first = info.output_scanline, end = first + static_cast<JDIMENSION>(count);
  while (info.output_scanline < end) {
    JSAMPROW rows[kRowsPerCall];
    const JDIMENSION left = std::min<JDIMENSION>(kRowsPerCall, end - info.output_scanline);
    for (JDIMENSION i = 0; i < left; ++i) {
      rows[i] = pixels + pitch * (info.output_scanline - first + i);
    }
    jpeg_read_scanlines(&info, rows, left);
  }
  return true;
}

bool JpegReader::read_cmyk_rows(std::uint8_t* pixels, int width, int count) {
  if (setjmp(errors.jump) != 0) return false;
  for (int y = 0; y < count; ++y) {
    JSAMPROW row = spare_row.data();
    jpeg_read_scanlines(&info, &row, 1);
    convert_cmyk_row(row, pixels + std::size_t{3} * y * width, width);
  }
  return true;
}

bool JpegReader::finish() {
  if (setjmp(errors.jump) != 0) return false;
  jpeg_finish_decompress(&info);
  return true;
}

/// Decodes the columns and rows around `wanted`. The rest of the stream is still parsed, up to its
/// last row, so that a truncated file is found out.
bool JpegReader::read_window(const ImageBox& wanted, PartialImage& output) {
  const ImageSize full = output.full;
  auto left = static_cast<unsigned>(std::max(0, wanted.left - kWindowMargin));
  unsigned width =
      static_cast<unsigned>(std::min(full.width, wanted.right() + kWindowMargin)) - left;
  if (!crop_columns(left, width)) return false;
  const int top = std::max(0, wanted.top - kWindowMargin);
  const int bottom = std::min(full.height, wanted.bottom() + kWindowMargin);
  output.box = {static_cast<int>(left), top, static_cast<int>(width), bottom - top};
  output.pixels.reshape({output.box.width, output.box.height});
  const std::size_t pitch = std::size_t{3} * width;
  spare_row.resize(pitch);
  if (top > 0 && !skip_rows(top)) return false;
  if (!read_rgb_rows(output.pixels.pixels.data(), pitch, output.box.height)) return false;
  if (bottom == full.height) return true;
  if (full.height - bottom > 1 && !skip_rows(full.height - bottom - 1)) return false;
  return read_rgb_rows(spare_row.data(), pitch, 1);
}

}  // namespace

MaybeBad decode_jpeg(std::span<const std::byte> bytes, const DecodeOptions& options,
                     [[maybe_unused]] const WantedBox* wanted, PartialImage& output) {
  JpegReader reader;
  if (!reader.created) return reader.bad();
  auto& info = reader.info;
  reader.max_scans = options.max_scans;
  reader.begin(bytes);
  if (!reader.read_header()) return reader.bad();
  if (auto bad = check_image_size(info.image_width, info.image_height, options)) return bad;
  // Every scan goes over all pixels: a hundred over the largest image would take minutes.
  const std::int64_t pixels = std::int64_t{info.image_width} * info.image_height;
  reader.max_scans = static_cast<int>(
      std::min<std::int64_t>(options.max_scans, kMostWholeScans * (options.max_pixels / pixels)));
  info.scale_num = static_cast<unsigned>(
      choose_scale(std::min(info.image_width, info.image_height), options.fast_short_side));
  info.scale_denom = kFullScale;
  if (!reader.start()) return reader.bad();

  output.full = {static_cast<int>(info.output_width), static_cast<int>(info.output_height)};
#ifdef LIBJPEG_TURBO_VERSION_NUMBER
  // Progressive files are all in memory by now, little is left to save; and where their last scans
  // are missing, libjpeg smooths over blocks that a window would not have.
  if (wanted != nullptr && info.num_components != 4 && info.scale_num == kFullScale &&
      !info.progressive_mode) {
    if (!reader.read_window((*wanted)(output.full), output)) return reader.bad();
    return reader.finish() ? MaybeBad{} : reader.bad();
  }
#endif
  output.box = {0, 0, output.full.width, output.full.height};
  output.pixels.reshape(output.full);
  bool read = false;
  if (info.num_components == 4) {
    reader.spare_row.resize(std::size_t{4} * output.full.width);
    read =
        reader.read_cmyk_rows(output.pixels.pixels.data(), output.full.width, output.full.height);
  } else {
    read = reader.read_rgb_rows(output.pixels.pixels.data(), std::size_t{3} * output.full.width,
                                output.full.height);
  }
  return read && reader.finish() ? MaybeBad{} : reader.bad();
}

}  // namespace protogcd
