#include "protogcd/image/decode.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>

#include "protogcd/core/text.h"
#include "protogcd/image/decoders.h"
#include "protogcd/image/exif.h"

namespace protogcd {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What an unknown file seems to be: a saved error page is the usual case.
std::string describe_unknown(std::span<const std::byte> bytes) {
  const std::string supported = join(supported_image_formats(), ", ");
  const std::string_view text = text_of(bytes.first(std::min<std::size_t>(bytes.size(), 512)));
  const auto start = trim(text);
  if (bytes.empty()) return "empty file";
  const auto starts = [&](std::string_view prefix) { return text.starts_with(prefix); };
  std::string seems;
  if (start.starts_with('<')) {
    seems = " (it looks like HTML or XML, perhaps a saved error page)";
  } else if (starts("8BPS")) {
    seems = " (it is a Photoshop file)";
  } else if (starts({"\0\0\0\x0CjP  ", 8})) {
    seems = " (it is a JPEG 2000)";
  } else if (starts("\xFF\x0A") || starts({"\0\0\0\x0CJXL ", 8})) {
    seems = " (it is a JPEG XL)";
  } else if (text.size() >= 12 && text.substr(4, 4) == "ftyp") {
    seems = " (it looks like a video)";
  }
  return fmt::format("not an image of a known format ({}){}", supported, seems);
}

const char* kind_of_file(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

MaybeBad check_file_size(std::uint64_t bytes, std::uint64_t max_bytes) {
  if (bytes <= max_bytes) return std::nullopt;
  return BadImage{fmt::format("a file of {}, more than the limit of {}", human_bytes(bytes),
                              human_bytes(max_bytes))};
}

/// Closes a descriptor when it goes.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

MaybeBad check_image_size(std::int64_t width, std::int64_t height, const DecodeOptions& options) {
  if (width <= 0 || height <= 0) return BadImage{fmt::format("size {}x{}", width, height)};
  if (width > options.max_pixels / height) {
    return BadImage{
        fmt::format("{}x{} pixels, more than the limit of {}", width, height, options.max_pixels)};
  }
  // Decoders hold some rows of more bytes than the output has, whatever its height.
  constexpr std::int64_t kLongestSide = 1'000'000;
  if (width > kLongestSide || height > kLongestSide)
    return BadImage{
        fmt::format("{}x{} pixels, a side longer than {}", width, height, kLongestSide)};
  return std::nullopt;
}

MaybeBad decode_any(std::span<const std::byte> bytes, const DecodeOptions& options,
                    const WantedBox* wanted, PartialImage& output) {
  // Also of bytes that were not read from a file: those of an archive are mapped.
  if (auto bad = check_file_size(bytes.size(), options.max_file_bytes)) return bad;
  const ImageFormat format = detect_image_format(bytes);
  const bool turns = options.apply_orientation || format == ImageFormat::kTiff;  // as Pillow does
  const int orientation = turns ? exif_orientation(bytes, format) : 1;
  MaybeBad bad;
  try {
    switch (format) {
      case ImageFormat::kJpeg:
        bad = decode_jpeg(bytes, options, orientation == 1 ? wanted : nullptr, output);
        break;
      case ImageFormat::kPng:
        bad = decode_png(bytes, options, output.pixels);
        break;
      case ImageFormat::kWebp:
        bad = decode_webp(bytes, options, output.pixels);
        break;
      case ImageFormat::kTiff:
        bad = decode_tiff(bytes, options, output.pixels);
        break;
      case ImageFormat::kBmp:
        bad = decode_bmp(bytes, options, output.pixels);
        break;
      case ImageFormat::kGif:
        bad = decode_gif(bytes, options, output.pixels);
        break;
      case ImageFormat::kHeif:
        bad = decode_heif(bytes, options, output.pixels);
        break;
      case ImageFormat::kUnknown:
        bad = BadImage{describe_unknown(bytes)};
    }
    if (bad) return bad;
    output.pixels = turn_upright(std::move(output.pixels), orientation);
  } catch (const std::bad_alloc&) {
    return BadImage{"not enough memory for its pixels"};
  }
  if (format != ImageFormat::kJpeg || orientation != 1) {
    output.full = output.pixels.size();
    output.box = {0, 0, output.full.width, output.full.height};
  }
  return std::nullopt;
}

ImageOrBad decode_image(std::span<const std::byte> bytes, const DecodeOptions& options) {
  PartialImage output;
  if (auto bad = decode_any(bytes, options, nullptr, output)) return std::move(*bad);
  return std::move(output.pixels);
}

ImageOrBad read_image(const std::filesystem::path& path, const DecodeOptions& options) {
  std::vector<std::byte> bytes;
  if (auto bad = read_image_file(path, options.max_file_bytes, bytes)) return std::move(*bad);
  return decode_image(bytes, options);
}

MaybeBad read_image_file(const std::filesystem::path& path, std::uint64_t max_bytes,
                         std::vector<std::byte>& buffer) {
  // O_NONBLOCK: opening a pipe nobody writes to would wait for ever. Reading rather than mapping:
  // a mapped file that somebody shortens meanwhile would kill the program.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (file.number < 0) return BadImage{fmt::format("cannot open: {}", std::strerror(errno))};
  struct stat status {};
  if (::fstat(file.number, &status) != 0) {
    return BadImage{fmt::format("cannot read: {}", std::strerror(errno))};
  }
  if (!S_ISREG(status.st_mode)) {
    return BadImage{fmt::format("{}, not a file", kind_of_file(status.st_mode))};
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (auto bad = check_file_size(size, max_bytes)) return bad;
  try {
    buffer.resize(size);
  } catch (const std::bad_alloc&) {
    return BadImage{fmt::format("not enough memory for a file of {}", human_bytes(size))};
  }
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const ssize_t count = ::read(file.number, buffer.data() + filled, buffer.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return BadImage{fmt::format("cannot read: {}", std::strerror(errno))};
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  buffer.resize(filled);
  return std::nullopt;
}

}  // namespace protogcd
