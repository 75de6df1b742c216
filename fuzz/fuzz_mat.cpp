// Bytes as a MATLAB v5 file: any input is accepted or refused with a DataError, and numbers are as
// many as the dimensions say.
#include <cstdint>
#include <span>

#include "protogcd/core/error.h"
#include "protogcd/data/matlab.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  try {
    const MatlabFile file(std::as_bytes(std::span(data, size)), "fuzz.mat");
    unsigned sum = 0;
    for (const auto& array : file.arrays()) {
      for (const std::byte byte : array.bytes) sum += std::to_integer<unsigned>(byte);
      if (array.kind == MatlabArray::Kind::kNumeric &&
          array.bytes.size() + array.numbers.size() != array.element_count()) {
        __builtin_trap();
      }
      if (array.kind == MatlabArray::Kind::kStruct && array.element_count() > 0) {
        const MatlabArray* name = array.field(array.element_count() - 1, "fname");
        if (name != nullptr) sum += static_cast<unsigned>(name->text.size());
      }
    }
    if (sum == 0xFFFFFFFF) return 1;  // keeps the reads
    file.at("annotations");
  } catch (const DataError&) {
  }
  return 0;
}
