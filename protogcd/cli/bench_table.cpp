#include "protogcd/cli/bench_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/cli/terminal.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"

namespace protogcd::cli {

Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {values[values.size() / 2], values.front(), values.back()};
}

void show_bench_table(const std::vector<std::string>& columns,
                      const std::vector<std::vector<std::string>>& rows,
                      const std::filesystem::path& csv, const Session& session) {
  if (!csv.empty()) {
    CsvWriter writer(csv, columns);
    for (const auto& row : rows) writer.row(row);
    writer.commit();
  }
  if (session.json()) {
    nlohmann::json results = nlohmann::json::array();
    for (const auto& row : rows) {
      nlohmann::json object;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const auto value = parse_real(row[i]);
        if (!row[i].empty())
          object[columns[i]] = value ? nlohmann::json(*value) : nlohmann::json(row[i]);
      }
      results.push_back(object);
    }
    session.print_json({{"results", results}});
    return;
  }
  say_data(join(columns, ",") + "\n");
  for (const auto& row : rows) {
    std::vector<std::string> fields;
    for (const auto& field : row) fields.push_back(csv_field(field));
    say_data(join(fields, ",") + "\n");
  }
}

}  // namespace protogcd::cli
