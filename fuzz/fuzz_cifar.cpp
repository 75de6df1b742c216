// Bytes as a CIFAR batch (the first byte chooses which kind): any input is accepted or refused with
// a DataError, and every record of an accepted one can be loaded.
#include <cstdint>
#include <span>

#include "protogcd/core/error.h"
#include "protogcd/data/cifar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  const CifarKind kind = (data[0] & 1) != 0 ? CifarKind::kCifar100 : CifarKind::kCifar10;
  try {
    const RecordFile file = (data[0] & 2) != 0 ? parse_cifar_python(bytes, "fuzz", kind)
                                               : parse_cifar_binary(bytes, "fuzz.bin", kind);
    if (file.labels.size() != file.count) __builtin_trap();
    for (std::size_t i = 0; i < file.count; ++i) {
      if (file.load(i).pixels.size() != 3072) __builtin_trap();
    }
  } catch (const DataError&) {
  }
  return 0;
}
