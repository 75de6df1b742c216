// Bytes as an .npy array: any input is accepted or refused with a DataError, and an accepted one
// has as many bytes as its shape needs.
#include <cstdint>
#include <span>

#include "protogcd/core/error.h"
#include "protogcd/core/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const protogcd::NpyFile file(std::as_bytes(std::span(data, size)), "fuzz.npy");
    const auto& array = file.array();
    if (protogcd::checked_byte_count(array.shape, array.type) != array.bytes.size()) {
      __builtin_trap();
    }
    if (file.integers().size() != array.element_count()) __builtin_trap();
  } catch (const protogcd::DataError&) {
  }
  return 0;
}
