// CSV text into a table: any input is accepted or refused with a DataError.
#include <cstdint>
#include <string_view>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto table =
        protogcd::CsvTable::parse({reinterpret_cast<const char*>(data), size}, "fuzz.csv");
    for (const auto& row : table.rows()) {
      if (row.fields.size() != table.header().size()) __builtin_trap();
    }
  } catch (const protogcd::DataError&) {
  }
  return 0;
}
