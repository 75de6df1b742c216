#include "protogcd/run/label_next.h"

#include <fmt/core.h>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {

void write_label_next(const std::filesystem::path& file, const std::vector<LabelNext>& queue) {
  CsvWriter table(file, {"rank", "path", "class", "confidence", "why"});
  for (std::size_t i = 0; i < queue.size(); ++i) {
    table.row({std::to_string(i + 1), queue[i].path, queue[i].class_name,
               fmt::format("{:.6f}", queue[i].confidence), queue[i].why});
  }
  table.commit();
}

std::vector<LabelNext> read_label_next(const std::filesystem::path& file) {
  const CsvTable table = CsvTable::read(file);
  const std::size_t path = table.column("path"), class_name = table.column("class"),
                    confidence = table.column("confidence"), why = table.column("why");
  std::vector<LabelNext> queue;
  for (const CsvRow& row : table.rows()) {
    const auto sure = parse_real(row.fields[confidence]);
    if (!sure) {
      throw DataError(fmt::format("{}:{}: confidence '{}' is not a number", file.string(), row.line,
                                  row.fields[confidence]));
    }
    queue.push_back({row.fields[path], row.fields[class_name], *sure, row.fields[why]});
  }
  return queue;
}

}  // namespace protogcd
