#include "protogcd/image/encode.h"

#include <png.h>
#include <zlib.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
// jpeglib.h needs <cstdio> before it, and jerror.h jpeglib.h.
#include <jpeglib.h>

#include <jerror.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"

namespace protogcd {
namespace {

void check_not_empty(const Image& image) {
  if (image.width <= 0 || image.height <= 0) throw InternalError("encoding an empty image");
}

void append_bytes(png_structp png, png_bytep bytes, std::size_t count) {
  static_cast<std::string*>(png_get_io_ptr(png))
      ->append(reinterpret_cast<const char*>(bytes), count);
}

/// libpng in a frame that owns nothing, since its errors jump.
bool write_png_rows(png_structp png, png_infop info, const Image& image, std::string& bytes) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_write_fn(png, &bytes, append_bytes, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width),
               static_cast<png_uint_32>(image.height), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  // All that libpng would choose for itself is said here, so that the bytes do not change.
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_PAETH);
  png_set_compression_level(png, 6);
  png_set_compression_strategy(png, Z_FILTERED);
  png_set_compression_mem_level(png, 8);
  png_write_info(png, info);
  for (int y = 0; y < image.height; ++y) png_write_row(png, image.at(0, y));
  png_write_end(png, info);
  return true;
}

struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf jump;
};

struct JpegOutput {
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  ~JpegOutput() { std::free(bytes); }
};

bool write_jpeg(jpeg_compress_struct& info, JpegErrors& errors, const Image& image,
                const JpegOptions& options, JpegOutput& output) {
  if (setjmp(errors.jump) != 0) return false;
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &output.bytes, &output.size);
  info.image_width = static_cast<JDIMENSION>(image.width);
  info.image_height = static_cast<JDIMENSION>(image.height);
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, options.quality, TRUE);
  info.comp_info[0].h_samp_factor = options.chroma_width;
  info.comp_info[0].v_samp_factor = options.chroma_height;
  if (options.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<std::uint8_t*>(image.at(0, static_cast<int>(info.next_scanline)));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

}  // namespace

std::string encode_png(const Image& image) {
  check_not_empty(image);
  std::string bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  const bool written = info != nullptr && write_png_rows(png, info, image, bytes);
  png_destroy_write_struct(&png, &info);
  // From pixels in memory to bytes in memory: nothing else can be missing.
  if (!written) throw std::bad_alloc();
  return bytes;
}

void write_png(const std::filesystem::path& path, const Image& image) {
  write_file_atomically(path, encode_png(image));
}

std::string encode_jpeg(const Image& image, const JpegOptions& options) {
  check_not_empty(image);
  jpeg_compress_struct info{};
  JpegErrors errors{};
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = [](j_common_ptr common) {
    std::longjmp(reinterpret_cast<JpegErrors*>(common->err)->jump, 1);
  };
  errors.base.output_message = [](j_common_ptr) {};
  JpegOutput output;
  const bool written = write_jpeg(info, errors, image, options, output);
  jpeg_destroy_compress(&info);
  if (!written && errors.base.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
  if (!written) throw InternalError("libjpeg could not encode an image");
  return {reinterpret_cast<const char*>(output.bytes), output.size};
}

}  // namespace protogcd
