// CSV text into a table: any input is accepted or refused with a DataError, and a table that was
// accepted is the same after it is written, whatever formulas it holds.
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/structured.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"

PROTOGCD_MUTATED_BY(mutate_csv)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  try {
    const auto table = CsvTable::parse({reinterpret_cast<const char*>(data), size}, "fuzz.csv");
    std::string text = "first";
    for (std::size_t i = 1; i < table.header().size(); ++i) text += ",more";
    text += '\n';
    for (const auto& row : table.rows()) {
      if (row.fields.size() != table.header().size()) __builtin_trap();
      std::string line = csv_field(row.fields[0]);
      for (std::size_t i = 1; i < row.fields.size(); ++i) {
        line += ',';
        line += csv_field(row.fields[i]);
      }
      text += (line.empty() ? "\"\"" : line) + '\n';
    }
    const auto again = CsvTable::parse(text, "again.csv");
    if (again.rows().size() != table.rows().size()) __builtin_trap();
    for (std::size_t i = 0; i < again.rows().size(); ++i)
      if (again.rows()[i].fields != table.rows()[i].fields) __builtin_trap();
  } catch (const DataError&) {
  }
  return 0;
}
