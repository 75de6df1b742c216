// HEIC and AVIF through libheif, where the build has it: the primary image, turned and cropped as
// the file says, 8 bits.
#include "protogcd/image/decoders.h"

#ifdef PROTOGCD_WITH_HEIF
#include <fmt/core.h>
#include <libheif/heif.h>

#include <cstring>
#include <memory>
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

}  // namespace

MaybeBad decode_heif(std::span<const std::byte> bytes, const DecodeOptions& options,
                     Image& output) {
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
