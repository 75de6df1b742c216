// The results of a benchmark: the spread of its runs, and rows of a table: to a file, as JSON, or
// on stdout.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "protogcd/cli/verb.h"

namespace protogcd::cli {

struct Spread {
  double median = 0, low = 0, high = 0;
};

/// Of at least one value.
Spread spread_of(std::vector<double> values);

/// Every row has a text for every column. `csv` may be empty. In JSON numbers are numbers, and
/// empty texts are left out.
void show_bench_table(const std::vector<std::string>& columns,
                      const std::vector<std::vector<std::string>>& rows,
                      const std::filesystem::path& csv, const Session& session);

}  // namespace protogcd::cli
