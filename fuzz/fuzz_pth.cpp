// Bytes as a PyTorch file: any input is accepted or refused with a ModelFileError, nothing is
// executed, and no tensor leaves the bytes or grows out of proportion to them.
#include <cstdint>
#include <span>

#include "fuzz/structured.h"
#include "protogcd/core/error.h"
#include "protogcd/core/pth_file.h"

PROTOGCD_MUTATED_BY(mutate_pth)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const protogcd::PthFile file(bytes, "fuzz.pth");
    unsigned sum = 0;
    std::size_t copied = 0;
    for (const auto& entry : file.entries()) {
      if (protogcd::checked_byte_count(entry.shape, entry.type) != entry.bytes.size()) {
        __builtin_trap();
      }
      const bool inside =
          entry.bytes.data() >= bytes.data() && entry.bytes.data() <= bytes.data() + size;
      if (!inside) copied += entry.bytes.size();
      // The ends are enough for the sanitizer, and many tensors may share one storage.
      if (!entry.bytes.empty()) {
        sum += std::to_integer<unsigned>(entry.bytes.front()) +
               std::to_integer<unsigned>(entry.bytes.back());
      }
    }
    if (copied > 2 * size) __builtin_trap();
    if (sum == 0xFFFFFFFF) return 1;  // keeps the reads
  } catch (const protogcd::ModelFileError&) {
  }
  return 0;
}
