// Bytes as a safetensors file: any input is accepted or refused with a ModelFileError, and no entry
// leaves the bytes.
#include <cstdint>
#include <span>

#include "fuzz/structured.h"
#include "protogcd/core/error.h"
#include "protogcd/core/safetensors.h"

PROTOGCD_MUTATED_BY(mutate_safetensors)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const protogcd::SafetensorsFile file(bytes, "fuzz.safetensors");
    unsigned sum = 0;
    for (const auto& entry : file.entries()) {
      for (const std::byte byte : entry.bytes) sum += std::to_integer<unsigned>(byte);
    }
    if (sum == 0xFFFFFFFF) return 1;  // keeps the reads
  } catch (const protogcd::ModelFileError&) {
  }
  return 0;
}
