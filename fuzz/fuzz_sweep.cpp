// A sweep's file into cells, tables and chart: any input is accepted or refused with a
// configuration error.
#include <cstdint>
#include <string_view>

#include "fuzz/structured.h"
#include "protogcd/core/error.h"
#include "protogcd/sweep/results.h"

PROTOGCD_MUTATED_BY(mutate_lines)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  try {
    const SweepFile file =
        parse_sweep(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.toml");
    const std::vector<Cell> cells =
        plan_cells(file, "out", [](const SweepStep&) { return VerbTraits(); });
    if (cells.size() > 500) return 0;
    SweepResults results{.file = &file, .cells = &cells, .results = {}};
    for (std::size_t i = 0; i < cells.size(); ++i) {
      CellResult& result = results.results.emplace_back();
      result.state = static_cast<CellState>(i % 3);
      result.values.assign(file.columns.size(), static_cast<double>(i));
      shell_line(cells[i].steps.front().words);
    }
    to_csv(results);
    to_markdown(results);
    to_svg(results);
  } catch (const ConfigError&) {
    // Refused, as it should be.
  }
  return 0;
}
