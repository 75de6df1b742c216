// Text as a list of images: refused with a DataError, or every line is a source with a name.
#include <cstdint>
#include <sstream>

#include "protogcd/core/error.h"
#include "protogcd/data/image_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream text(std::string(reinterpret_cast<const char*>(data), size));
  try {
    protogcd::SourceTable sources;
    const auto listing = protogcd::list_images_of(text, "fuzz.txt", "folder", sources);
    if (listing.count != sources.size()) __builtin_trap();
    for (std::size_t i = 0; i < sources.size(); ++i)
      if (sources.name(i).empty() || sources.path(i).empty()) __builtin_trap();
  } catch (const protogcd::DataError&) {
  }
  return 0;
}
