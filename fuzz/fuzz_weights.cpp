// Bytes as a weight file of a kind that nobody named: read, or refused with a ModelFileError that
// says what it is instead.
#include <cstdint>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/scratch_folder.h"
#include "protogcd/core/weight_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  static const ScratchFolder folder;
  const auto file = folder / "weights";
  write_file_atomically(file, {reinterpret_cast<const char*>(data), size});
  try {
    const WeightFile weights = open_weight_file(file);
    for (const auto& entry : weights.entries)
      if (checked_byte_count(entry.shape, entry.type) != entry.bytes.size()) __builtin_trap();
    if (weight_format_name(weights.format).empty()) __builtin_trap();
  } catch (const ModelFileError& error) {
    if (std::string_view(error.what()).empty()) __builtin_trap();
  }
  return 0;
}
