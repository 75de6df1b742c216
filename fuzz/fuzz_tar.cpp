// Bytes as a tar file of images: refused with a DataError, or every image lies within it and has a
// label that there is and a name that leads nowhere else.
#include <cstdint>
#include <span>

#include "fuzz/structured.h"
#include "protogcd/core/error.h"
#include "protogcd/data/packed_images.h"

PROTOGCD_MUTATED_BY(mutate_tar)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const protogcd::PackedImages packed(bytes, "fuzz.tar");
    for (std::size_t i = 0; i < packed.images().size(); ++i) {
      const auto& image = packed.images()[i];
      const std::string_view name = packed.name(i);
      if (name.empty() || name.starts_with('/') || name.starts_with('.')) __builtin_trap();
      if (image.label >= static_cast<std::int32_t>(packed.label_names().size())) __builtin_trap();
      if (!image.bytes.empty() && (image.bytes.data() < bytes.data() ||
                                   image.bytes.data() + image.bytes.size() > bytes.data() + size))
        __builtin_trap();
    }
  } catch (const protogcd::DataError&) {
  }
  return 0;
}
