// TIFF through libtiff, where the build has it: the first page, strips or tiles, 1 to 16 bits. Its
// messages go to the file's own handler, and what it allocates at once is limited.
#include "protogcd/image/decoders.h"

#ifdef PROTOGCD_WITH_TIFF
#include <fmt/core.h>
#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "protogcd/image/samples.h"
#include "protogcd/image/tiff_directory.h"
#endif

namespace protogcd {

#ifdef PROTOGCD_WITH_TIFF
bool reads_tiff() {
  return true;
}

namespace {

/// A file in memory as libtiff reads it, and the first error it met.
struct TiffMemory {
  std::span<const std::byte> bytes;
  std::uint64_t position = 0;
  char error[160] = "";
};

tmsize_t read_tiff_bytes(thandle_t handle, void* to, tmsize_t count) {
  auto& memory = *static_cast<TiffMemory*>(handle);
  if (memory.position >= memory.bytes.size() || count <= 0) return 0;
  const std::size_t part =
      std::min<std::size_t>(static_cast<std::size_t>(count), memory.bytes.size() - memory.position);
  std::memcpy(to, memory.bytes.data() + memory.position, part);
  memory.position += part;
  return static_cast<tmsize_t>(part);
}

tmsize_t refuse_to_write(thandle_t, void*, tmsize_t) {
  return 0;
}

toff_t seek_in_tiff(thandle_t handle, toff_t offset, int from) {
  auto& memory = *static_cast<TiffMemory*>(handle);
  const std::uint64_t base = from == SEEK_CUR   ? memory.position
                             : from == SEEK_END ? memory.bytes.size()
                                                : 0;
  memory.position = base + offset;
  return memory.position;
}

int close_nothing(thandle_t) {
  return 0;
}

toff_t tiff_bytes(thandle_t handle) {
  return static_cast<TiffMemory*>(handle)->bytes.size();
}

/// libtiff reads through the pointer only: nothing is opened for writing.
int map_tiff(thandle_t handle, void** base, toff_t* size) {
  const auto& memory = *static_cast<TiffMemory*>(handle);
  *base = const_cast<std::byte*>(memory.bytes.data());
  *size = memory.bytes.size();
  return 1;
}

void unmap_nothing(thandle_t, void*, toff_t) {}

int keep_tiff_error(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  auto& memory = *static_cast<TiffMemory*>(user);
  if (memory.error[0] == '\0') {
    std::vsnprintf(memory.error, sizeof memory.error, format, arguments);
  }
  return 1;  // nobody else is told
}

int drop_tiff_warning(TIFF*, void*, const char*, const char*, va_list) {
  return 1;
}

struct TiffCloser {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using OpenTiff = std::unique_ptr<TIFF, TiffCloser>;

OpenTiff open_tiff(TiffMemory& memory) {
  constexpr tmsize_t kMostBytesAtOnce = tmsize_t{256} << 20;
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  if (options == nullptr) return nullptr;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, kMostBytesAtOnce);
  TIFFOpenOptionsSetErrorHandlerExtR(options, keep_tiff_error, &memory);
  TIFFOpenOptionsSetWarningHandlerExtR(options, drop_tiff_warning, nullptr);
  OpenTiff tiff(TIFFClientOpenExt("image", "r", &memory, read_tiff_bytes, refuse_to_write,
                                  seek_in_tiff, close_nothing, tiff_bytes, map_tiff, unmap_nothing,
                                  options));
  TIFFOpenOptionsFree(options);
  return tiff;
}

BadImage bad_tiff(const TiffMemory& memory) {
  const std::string_view error = memory.error;
  for (const char* sign : {"ead error", "not read", "ot enough data", "equired data", "Can not",
                           "Cannot read", "beyond end"}) {
    if (error.find(sign) != std::string_view::npos) {
      return {"truncated: the file ends before the image does"};
    }
  }
  return {error.empty() ? "damaged TIFF" : fmt::format("damaged TIFF: {}", error)};
}

struct TiffPage {
  std::uint32_t width = 0, height = 0;
  std::uint16_t bits = 1, samples = 1, photometric = PHOTOMETRIC_MINISWHITE;
  std::uint16_t planes = PLANARCONFIG_CONTIG, compression = COMPRESSION_NONE;
  bool premultiplied = false;  ///< the sample after the colours is an alpha they were multiplied by
  RgbPalette palette{};

  int colours() const {
    if (photometric == PHOTOMETRIC_SEPARATED) return 4;
    return photometric == PHOTOMETRIC_RGB || photometric == PHOTOMETRIC_YCBCR ? 3 : 1;
  }
  /// Colours that are not in the file as RGB, other than by JPEG.
  bool needs_conversion() const {
    return photometric == PHOTOMETRIC_YCBCR && compression != COMPRESSION_JPEG;
  }
};

MaybeBad check_tiff_compression(std::uint16_t compression) {
  constexpr std::array<std::uint16_t, 11> kRead = {
      COMPRESSION_NONE, COMPRESSION_CCITTRLE, COMPRESSION_CCITTFAX3, COMPRESSION_CCITTFAX4,
      COMPRESSION_LZW,  COMPRESSION_JPEG,     COMPRESSION_DEFLATE,   COMPRESSION_ADOBE_DEFLATE,
      COMPRESSION_LZMA, COMPRESSION_PACKBITS, COMPRESSION_ZSTD};
  if (std::ranges::find(kRead, compression) != kRead.end() && TIFFIsCODECConfigured(compression)) {
    return std::nullopt;
  }
  return BadImage{fmt::format("a TIFF of compression {}, which is not read", compression)};
}

const BadImage kNoTiffPalette{"damaged TIFF: its palette cannot be read"};

MaybeBad read_tiff_palette(TIFF* tiff, TiffPage& page) {
  std::uint16_t* maps[3] = {};
  if (!TIFFGetField(tiff, TIFFTAG_COLORMAP, &maps[0], &maps[1], &maps[2])) {
    return kNoTiffPalette;
  }
  for (std::size_t i = 0; i < std::size_t{1} << page.bits; ++i) {
    for (int channel = 0; channel < 3; ++channel) {
      page.palette[i][channel] = static_cast<std::uint8_t>(maps[channel][i] >> 8);
    }
  }
  return std::nullopt;
}

/// Whether the kind of pixels is one that the decoder knows.
MaybeBad check_tiff_pixels(const TiffPage& page, std::uint16_t sample_format) {
  constexpr const char* kWayOut = "convert it to 8 or 16 bits";
  if (sample_format == SAMPLEFORMAT_IEEEFP || sample_format == SAMPLEFORMAT_COMPLEXIEEEFP) {
    return BadImage{
        fmt::format("a TIFF of floating point numbers, which is not read: {}", kWayOut)};
  }
  if (sample_format == SAMPLEFORMAT_INT || sample_format == SAMPLEFORMAT_COMPLEXINT) {
    return BadImage{fmt::format("a TIFF of signed numbers, which is not read: {}", kWayOut)};
  }
  const bool grey =
      page.photometric == PHOTOMETRIC_MINISWHITE || page.photometric == PHOTOMETRIC_MINISBLACK;
  const bool palette = page.photometric == PHOTOMETRIC_PALETTE;
  const bool several = page.photometric == PHOTOMETRIC_RGB ||
                       page.photometric == PHOTOMETRIC_SEPARATED ||
                       page.photometric == PHOTOMETRIC_YCBCR;
  if (!grey && !palette && !several) {
    return BadImage{fmt::format("a TIFF of colours {}, which is not read: convert it to RGB",
                                page.photometric)};
  }
  const bool few_bits = page.bits == 1 || page.bits == 2 || page.bits == 4;
  const bool fits = page.bits == 8 || (few_bits && !several) ||
                    (page.bits == 16 && !palette && page.photometric != PHOTOMETRIC_YCBCR);
  constexpr int kMostSamples = 16;
  if (!fits || page.samples < page.colours() || page.samples > kMostSamples) {
    return BadImage{fmt::format("a TIFF of {} samples of {} bits, which is not read: {}",
                                page.samples, page.bits, kWayOut)};
  }
  return std::nullopt;
}

MaybeBad read_tiff_page(TIFF* tiff, TiffPage& page, const DecodeOptions& options) {
  std::uint16_t sample_format = SAMPLEFORMAT_UINT, extra_count = 0;
  std::uint16_t* extra_kinds = nullptr;
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &page.width);
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &page.height);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &page.bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &page.samples);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &page.planes);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &page.compression);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &sample_format);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_EXTRASAMPLES, &extra_count, &extra_kinds);
  TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &page.photometric);
  if (page.photometric == PHOTOMETRIC_YCBCR && page.samples == 1) {
    page.photometric = PHOTOMETRIC_MINISBLACK;
  }
  if (auto bad = check_image_size(page.width, page.height, options)) return bad;
  if (auto bad = check_tiff_compression(page.compression)) return bad;
  if (auto bad = check_tiff_pixels(page, sample_format)) return bad;
  page.premultiplied =
      extra_count > 0 && extra_kinds[0] == EXTRASAMPLE_ASSOCALPHA && page.colours() < page.samples;
  if (page.photometric == PHOTOMETRIC_PALETTE) {
    if (auto bad = read_tiff_palette(tiff, page)) return bad;
  }
  if (page.photometric == PHOTOMETRIC_YCBCR && page.compression == COMPRESSION_JPEG) {
    TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  }
  return std::nullopt;
}

/// Samples of a row to 8 bits each; those that number a palette's colours keep their value.
void unpack_tiff_samples(const TiffPage& page, const std::uint8_t* row, std::size_t count,
                         std::uint8_t* samples) {
  if (page.bits == 8) {
    std::memcpy(samples, row, count);
  } else if (page.bits == 16) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint16_t value = 0;  // libtiff has put it into the machine's order
      std::memcpy(&value, row + 2 * i, 2);
      samples[i] = scale_16_bits(value);
    }
  } else {
    const int per_byte = 8 / page.bits, mask = (1 << page.bits) - 1;
    const int scale = page.photometric == PHOTOMETRIC_PALETTE ? 1 : 255 / mask;
    for (std::size_t i = 0; i < count; ++i) {
      const int shift = 8 - page.bits * (1 + static_cast<int>(i % per_byte));
      samples[i] = static_cast<std::uint8_t>((row[i / per_byte] >> shift & mask) * scale);
    }
  }
}

void divide_by_alpha(std::uint8_t* rgb, int alpha) {
  for (int channel = 0; channel < 3; ++channel) {
    rgb[channel] =
        alpha == 0 ? 0 : static_cast<std::uint8_t>(std::min(255, rgb[channel] * 255 / alpha));
  }
}

/// [width, step] samples to RGB.
void convert_tiff_row(const TiffPage& page, const std::uint8_t* samples, int step, int width,
                      std::uint8_t* rgb) {
  for (int x = 0; x < width; ++x, samples += step, rgb += 3) {
    switch (page.photometric) {
      case PHOTOMETRIC_MINISWHITE:
      case PHOTOMETRIC_MINISBLACK: {
        const bool inverted = page.photometric == PHOTOMETRIC_MINISWHITE;
        std::fill_n(rgb, 3, static_cast<std::uint8_t>(inverted ? 255 - samples[0] : samples[0]));
        break;
      }
      case PHOTOMETRIC_PALETTE:
        std::ranges::copy(page.palette[samples[0]], rgb);
        break;
      case PHOTOMETRIC_SEPARATED: {
        std::uint8_t light[4];
        for (int i = 0; i < 4; ++i) light[i] = static_cast<std::uint8_t>(255 - samples[i]);
        light_to_rgb(light, rgb);
        break;
      }
      default:
        std::copy_n(samples, 3, rgb);
    }
    if (page.premultiplied) divide_by_alpha(rgb, samples[page.colours()]);
  }
}

/// Strips and tiles, which are the same but for their calls.
struct TiffBlocks {
  TIFF* tiff;
  bool tiled;
  std::uint32_t width = 0, height = 0;
  std::uint64_t row_bytes = 0, bytes = 0;

  explicit TiffBlocks(TIFF* file, const TiffPage& page)
      : tiff(file), tiled(TIFFIsTiled(file) != 0) {
    if (tiled) {
      TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &width);
      TIFFGetField(tiff, TIFFTAG_TILELENGTH, &height);
      row_bytes = TIFFTileRowSize64(tiff);
      bytes = TIFFTileSize64(tiff);
    } else {
      width = page.width;
      TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &height);
      height = std::min(height, page.height);
      row_bytes = TIFFScanlineSize64(tiff);
      bytes = TIFFVStripSize64(tiff, height);
    }
  }

  /// `rows` of the block with that upper left corner; of a tile all are read.
  bool read(std::uint32_t x, std::uint32_t y, std::uint16_t plane, std::uint32_t rows,
            std::vector<std::uint8_t>& buffer) const {
    const auto wanted = static_cast<tmsize_t>(tiled ? bytes : rows * row_bytes);
    const tmsize_t got =
        tiled ? TIFFReadEncodedTile(tiff, TIFFComputeTile(tiff, x, y, 0, plane), buffer.data(),
                                    wanted)
              : TIFFReadEncodedStrip(tiff, TIFFComputeStrip(tiff, y, plane), buffer.data(), wanted);
    return got == wanted;
  }
};

MaybeBad read_tiff_blocks(TIFF* tiff, const TiffPage& page, const TiffMemory& memory,
                          const DecodeOptions& options, Image& output) {
  const TiffBlocks blocks(tiff, page);
  const bool separate = page.planes == PLANARCONFIG_SEPARATE;
  const int planes = separate ? page.colours() + (page.premultiplied ? 1 : 0) : 1;
  const int step = separate ? planes : page.samples;
  const std::uint64_t row_samples = std::uint64_t{blocks.width} * (separate ? 1 : page.samples);
  if (blocks.width == 0 || blocks.height == 0 || blocks.bytes == 0 ||
      blocks.row_bytes < (row_samples * page.bits + 7) / 8 ||
      blocks.bytes < blocks.row_bytes * blocks.height) {
    return bad_tiff(memory);
  }
  // A tile may be larger than the image that it is for; of each plane one is held.
  const auto most_bytes = static_cast<std::uint64_t>(options.max_pixels) * 4;
  if (blocks.bytes > most_bytes / static_cast<std::uint64_t>(planes)) {
    return BadImage{fmt::format("a TIFF whose parts have {} bytes, more than the limit of {}",
                                blocks.bytes, most_bytes / static_cast<std::uint64_t>(planes))};
  }
  output.reshape({static_cast<int>(page.width), static_cast<int>(page.height)});
  std::vector<std::vector<std::uint8_t>> buffers(planes, std::vector<std::uint8_t>(blocks.bytes));
  std::vector<std::uint8_t> samples(std::size_t{blocks.width} * step), plane_samples(blocks.width);
  for (std::uint32_t top = 0; top < page.height; top += blocks.height) {
    const std::uint32_t rows = std::min(blocks.height, page.height - top);
    for (std::uint32_t left = 0; left < page.width; left += blocks.width) {
      const std::uint32_t columns = std::min(blocks.width, page.width - left);
      for (int plane = 0; plane < planes; ++plane) {
        if (!blocks.read(left, top, static_cast<std::uint16_t>(plane), rows, buffers[plane])) {
          return bad_tiff(memory);
        }
      }
      for (std::uint32_t row = 0; row < rows; ++row) {
        for (int plane = 0; plane < planes; ++plane) {
          const std::uint8_t* from = buffers[plane].data() + row * blocks.row_bytes;
          if (planes == 1) {
            unpack_tiff_samples(page, from, std::size_t{columns} * step, samples.data());
          } else {
            unpack_tiff_samples(page, from, columns, plane_samples.data());
            for (std::size_t x = 0; x < columns; ++x) samples[x * step + plane] = plane_samples[x];
          }
        }
        convert_tiff_row(page, samples.data(), step, static_cast<int>(columns),
                         output.at(static_cast<int>(left), static_cast<int>(top + row)));
      }
    }
  }
  return std::nullopt;
}

/// Subsampled YCbCr and the like, by libtiff's own conversion, as Pillow has it.
MaybeBad read_converted_tiff(TIFF* tiff, const TiffPage& page, const TiffMemory& memory,
                             Image& output) {
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);  // turned later
  std::vector<std::uint32_t> raster(std::size_t{page.width} * page.height);
  if (!TIFFReadRGBAImageOriented(tiff, page.width, page.height, raster.data(), ORIENTATION_TOPLEFT,
                                 1)) {
    return bad_tiff(memory);
  }
  output.reshape({static_cast<int>(page.width), static_cast<int>(page.height)});
  for (std::size_t i = 0; i < raster.size(); ++i) {
    std::uint8_t* rgb = output.pixels.data() + 3 * i;
    rgb[0] = static_cast<std::uint8_t>(TIFFGetR(raster[i]));
    rgb[1] = static_cast<std::uint8_t>(TIFFGetG(raster[i]));
    rgb[2] = static_cast<std::uint8_t>(TIFFGetB(raster[i]));
  }
  return std::nullopt;
}

}  // namespace

MaybeBad decode_tiff(std::span<const std::byte> bytes, const DecodeOptions& options,
                     Image& output) {
  TiffMemory memory{.bytes = bytes};
  const OpenTiff tiff = open_tiff(memory);
  if (!tiff) return bad_tiff(memory);
  TiffPage page;
  if (auto bad = read_tiff_page(tiff.get(), page, options)) return bad;
  // Indices whose palette is missing are brightnesses to libtiff.
  if (tiff_value(bytes, TiffTag::kPhotometric) == PHOTOMETRIC_PALETTE &&
      page.photometric != PHOTOMETRIC_PALETTE) {
    return kNoTiffPalette;
  }
  return page.needs_conversion() ? read_converted_tiff(tiff.get(), page, memory, output)
                                 : read_tiff_blocks(tiff.get(), page, memory, options, output);
}
#else
bool reads_tiff() {
  return false;
}

MaybeBad decode_tiff(std::span<const std::byte>, const DecodeOptions&, Image&) {
  return BadImage{"a TIFF image, which this build does not read (it was built without libtiff)"};
}
#endif

}  // namespace protogcd
