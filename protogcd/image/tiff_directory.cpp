#include "protogcd/image/tiff_directory.h"

#include <fstream>
#include <functional>
#include <vector>

#include "protogcd/image/file_bytes.h"

namespace protogcd {
namespace {

/// Up to that many bytes of a file from an offset on; fewer where it ends.
using TiffSource = std::function<std::vector<std::byte>(std::uint64_t offset, std::size_t count)>;

/// A count of 2 bytes and entries of 12 in TIFF, of 8 and 20 in BigTIFF.
struct TiffLayout {
  bool big_endian = false, big_tiff = false;

  std::size_t offset_bytes() const { return big_tiff ? 8 : 4; }
  std::size_t count_bytes() const { return big_tiff ? 8 : 2; }
  std::size_t entry_bytes() const { return big_tiff ? 20 : 12; }
};

struct ParsedDirectory {
  TiffLayout layout;
  std::vector<std::byte> entries;
  std::uint64_t next = 0;  ///< offset of the following directory, 0 for none

  std::optional<std::uint32_t> value(TiffTag tag) const {
    const FileBytes bytes(entries);
    for (std::size_t entry = 0; entry < entries.size(); entry += layout.entry_bytes()) {
      if (bytes.number(entry, 2, layout.big_endian) != static_cast<std::uint16_t>(tag)) continue;
      constexpr std::uint64_t kShort = 3, kLong = 4;
      const auto type = bytes.number(entry + 2, 2, layout.big_endian);
      if (type != kShort && type != kLong) return std::nullopt;
      const auto value = bytes.number(entry + 4 + layout.offset_bytes(), type == kShort ? 2 : 4,
                                      layout.big_endian);
      return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
    }
    return std::nullopt;
  }
};

/// The layout and the first directory's offset.
std::optional<std::pair<TiffLayout, std::uint64_t>> tiff_header(const TiffSource& source) {
  const auto header = source(0, 16);
  const FileBytes bytes(header);
  TiffLayout layout{.big_endian = bytes.has_text(0, "MM")};
  if (!layout.big_endian && !bytes.has_text(0, "II")) return std::nullopt;
  const auto magic = bytes.number(2, 2, layout.big_endian);
  layout.big_tiff = magic == 43u;
  if (magic != 42u && !layout.big_tiff) return std::nullopt;
  const auto first =
      bytes.number(layout.big_tiff ? 8 : 4, layout.offset_bytes(), layout.big_endian);
  if (!first) return std::nullopt;
  return std::pair{layout, *first};
}

/// A directory that the file's end cuts off keeps its whole entries, as photos' EXIF data may.
std::optional<ParsedDirectory> directory_at(const TiffSource& source, const TiffLayout& layout,
                                            std::uint64_t offset) {
  const auto count = FileBytes(source(offset, layout.count_bytes()))
                         .number(0, layout.count_bytes(), layout.big_endian);
  constexpr std::uint64_t kMostEntries = 65535;
  if (!count || *count > kMostEntries) return std::nullopt;
  const std::size_t bytes = *count * layout.entry_bytes();
  ParsedDirectory directory{
      .layout = layout,
      .entries = source(offset + layout.count_bytes(), bytes + layout.offset_bytes())};
  directory.next = FileBytes(directory.entries)
                       .number(bytes, layout.offset_bytes(), layout.big_endian)
                       .value_or(0);
  if (directory.entries.size() > bytes) directory.entries.resize(bytes);
  return directory;
}

TiffSource tiff_source(std::span<const std::byte> file) {
  return [file](std::uint64_t offset, std::size_t count) {
    const auto part = FileBytes(file).part(offset, count);
    return std::vector<std::byte>(part.begin(), part.end());
  };
}

bool has_several_pages(const TiffSource& source) {
  const auto header = tiff_header(source);
  if (!header) return false;
  auto directory = directory_at(source, header->first, header->second);
  constexpr int kMostCopies =
      32;  // a pyramid has fewer; directories may follow one another in a ring
  for (int i = 0; i < kMostCopies && directory && directory->next != 0; ++i) {
    directory = directory_at(source, header->first, directory->next);
    constexpr std::uint32_t kSmallerCopy = 1, kMask = 4;
    const bool is_page = directory && (directory->value(TiffTag::kNewSubfileType).value_or(0) &
                                       (kSmallerCopy | kMask)) == 0;
    if (is_page) return true;
  }
  return false;
}

}  // namespace

std::optional<std::uint32_t> tiff_value(std::span<const std::byte> file, TiffTag tag) {
  const TiffSource source = tiff_source(file);
  const auto header = tiff_header(source);
  if (!header) return std::nullopt;
  const auto directory = directory_at(source, header->first, header->second);
  return directory ? directory->value(tag) : std::nullopt;
}

bool has_several_tiff_pages(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return has_several_pages([&](std::uint64_t offset, std::size_t count) {
    std::vector<std::byte> bytes(count);
    file.clear();
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
    bytes.resize(static_cast<std::size_t>(file.gcount()));
    return bytes;
  });
}

bool has_several_tiff_pages(std::span<const std::byte> file) {
  return has_several_pages(tiff_source(file));
}

}  // namespace protogcd
