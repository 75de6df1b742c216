// HEIC and AVIF through libheif, where the build has it: the primary image, turned and cropped as
// the file says, 8 bits.
#include "protogcd/image/decoders.h"

#ifdef PROTOGCD_WITH_HEIF
#include <fmt/core.h>
#include <libheif/heif.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "protogcd/image/file_bytes.h"
#endif

namespace protogcd {

#ifdef PROTOGCD_WITH_HEIF
bool reads_heic() {
  return heif_have_decoder_for_format(heif_compression_HEVC) != 0;
}

bool reads_avif() {
  return heif_have_decoder_for_format(heif_compression_AV1) != 0;
}

namespace {

/// Frees what libheif hands out.
struct HeifRelease {
  void operator()(heif_context* context) const { heif_context_free(context); }
  void operator()(heif_image_handle* handle) const { heif_image_handle_release(handle); }
  void operator()(heif_image* image) const { heif_image_release(image); }
  void operator()(heif_decoding_options* options) const { heif_decoding_options_free(options); }
};
template <class Kind>
using HeifOwned = std::unique_ptr<Kind, HeifRelease>;

BadImage bad_heif(const heif_error& error) {
  if (error.subcode == heif_suberror_End_of_data) {
    return {"truncated: the file ends before the image does"};
  }
  if (error.code == heif_error_Memory_allocation_error) return {"not enough memory for its pixels"};
  if (error.subcode == heif_suberror_Unsupported_codec) {
    return {"a HEIC or AVIF image whose codec the installed libheif does not have"};
  }
  return {fmt::format("damaged HEIC or AVIF: {}", error.message)};
}

using HeifBytes = std::span<const std::byte>;

std::uint64_t heif_number(HeifBytes bytes, std::size_t at, std::size_t count) {
  return FileBytes(bytes).number(at, count, /*big_endian=*/true).value_or(0);
}

/// The boxes that fill the bytes: a size, a name of four letters and what is in it.
template <class Use>
void for_each_heif_box(HeifBytes bytes, const Use& use) {
  while (bytes.size() >= 8) {
    std::uint64_t size = heif_number(bytes, 0, 4);
    const std::size_t head = size == 1 ? 16 : 8;
    if (size == 1) size = heif_number(bytes, 8, 8);
    if (size == 0 || size > bytes.size()) size = bytes.size();
    if (size < head) return;
    use(std::string_view(reinterpret_cast<const char*>(bytes.data()) + 4, 4),
        bytes.subspan(head, size - head));
    bytes = bytes.subspan(size);
  }
}

/// Images that are made of others (grid, overlay, identity), and of which.
struct MadeOfImages {
  /// The largest image of the smallest tiles that cameras and encoders make has fewer.
  static constexpr std::size_t kMostParts = 65536;

  std::set<std::uint64_t> items;
  bool overlay = false;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;

  void read_meta(HeifBytes meta) {
    for_each_heif_box(meta.subspan(std::min<std::size_t>(4, meta.size())),
                      [&](std::string_view name, HeifBytes box) {
                        const std::uint64_t version = heif_number(box, 0, 1);
                        const std::size_t skipped = name == "iref" ? 4 : version == 0 ? 6 : 8;
                        if ((name != "iinf" && name != "iref") || box.size() < skipped) return;
                        for_each_heif_box(box.subspan(skipped),
                                          [&](std::string_view inner, HeifBytes entry) {
                                            if (name == "iinf") read_item(entry);
                                            if (name == "iref" && inner == "dimg")
                                              read_parts(entry, version == 0 ? 2 : 4);
                                          });
                      });
  }
  bool has_too_many() const { return parts.size() > kMostParts || items.size() > kMostParts; }
  void read_item(HeifBytes entry) {
    if (has_too_many()) return;
    const std::size_t id_bytes = heif_number(entry, 0, 1) == 2 ? 2 : 4;
    const FileBytes bytes(entry);
    for (const char* kind : {"grid", "iovl", "iden"})
      if (bytes.has_text(6 + id_bytes, kind)) items.insert(heif_number(entry, 4, id_bytes));
    overlay |= bytes.has_text(6 + id_bytes, "iovl");
  }
  void read_parts(HeifBytes entry, std::size_t id_bytes) {
    const std::uint64_t whole = heif_number(entry, 0, id_bytes);
    const std::uint64_t count = heif_number(entry, id_bytes, 2);
    for (std::uint64_t i = 0; i < count && !has_too_many(); ++i) {
      const std::size_t begin = id_bytes * (i + 1) + 2;
      if (begin + id_bytes > entry.size()) return;  // the count is only a claim
      parts.emplace_back(whole, heif_number(entry, begin, id_bytes));
    }
  }
};

/// libheif decodes an image as often as another is made of it: one laid over itself sixty thousand
/// times, twenty images of two each a million times. Cameras make one grid of coded images.
MaybeBad refuse_many_decodings(HeifBytes file) {
  MadeOfImages made;
  for_each_heif_box(file, [&](std::string_view name, HeifBytes box) {
    if (name == "meta") made.read_meta(box);
  });
  if (made.has_too_many())
    return BadImage{fmt::format("a HEIC or AVIF of more than {} parts", MadeOfImages::kMostParts)};
  if (made.overlay || std::ranges::any_of(made.parts, [&](const auto& part) {
        return made.items.contains(part.first) && made.items.contains(part.second);
      }))
    return BadImage{"a HEIC or AVIF of overlaid or nested images, which is not read"};
  return std::nullopt;
}

}  // namespace

MaybeBad decode_heif(std::span<const std::byte> bytes, const DecodeOptions& options,
                     Image& output) {
  if (auto bad = refuse_many_decodings(bytes)) return bad;
  const HeifOwned<heif_context> context(heif_context_alloc());
  heif_context_set_max_decoding_threads(context.get(), 0);  // images are read by many threads
  heif_error error = heif_context_read_from_memory_without_copy(context.get(), bytes.data(),
                                                                bytes.size(), nullptr);
  if (error.code != heif_error_Ok) return bad_heif(error);
  heif_image_handle* raw_handle = nullptr;
  error = heif_context_get_primary_image_handle(context.get(), &raw_handle);
  const HeifOwned<heif_image_handle> handle(raw_handle);
  if (error.code != heif_error_Ok) return bad_heif(error);
  if (auto bad = check_image_size(heif_image_handle_get_width(raw_handle),
                                  heif_image_handle_get_height(raw_handle), options)) {
    return bad;
  }
  if (auto bad = check_image_size(heif_image_handle_get_ispe_width(raw_handle),
                                  heif_image_handle_get_ispe_height(raw_handle), options)) {
    return bad;
  }
  const HeifOwned<heif_decoding_options> decoding(heif_decoding_options_alloc());
  decoding->convert_hdr_to_8bit = 1;
  heif_image* raw_image = nullptr;
  error = heif_decode_image(raw_handle, &raw_image, heif_colorspace_RGB,
                            heif_chroma_interleaved_RGB, decoding.get());
  const HeifOwned<heif_image> image(raw_image);
  if (error.code != heif_error_Ok) return bad_heif(error);
  const ImageSize size{heif_image_get_width(raw_image, heif_channel_interleaved),
                       heif_image_get_height(raw_image, heif_channel_interleaved)};
  if (auto bad = check_image_size(size.width, size.height, options)) return bad;
  int stride = 0;
  const std::uint8_t* plane =
      heif_image_get_plane_readonly(raw_image, heif_channel_interleaved, &stride);
  if (plane == nullptr || stride < 3 * size.width) return BadImage{"damaged HEIC or AVIF"};
  output.reshape(size);
  for (int y = 0; y < size.height; ++y) {
    std::memcpy(output.at(0, y), plane + static_cast<std::ptrdiff_t>(y) * stride,
                std::size_t{3} * static_cast<std::size_t>(size.width));
  }
  return std::nullopt;
}
#else
bool reads_heic() {
  return false;
}

bool reads_avif() {
  return false;
}

MaybeBad decode_heif(std::span<const std::byte>, const DecodeOptions&, Image&) {
  return BadImage{
      "a HEIC or AVIF image, which this build does not read (it was built without libheif)"};
}
#endif

}  // namespace protogcd
