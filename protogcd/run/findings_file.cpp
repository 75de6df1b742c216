#include "protogcd/run/findings_file.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

struct KindInWords {
  const char *name, *one, *several;
};

constexpr KindInWords kKindsInWords[] = {
    {"label-error", "labelled image looks like another class",
     "labelled images look like another class"},
    {"near-duplicate", "near-duplicate", "near-duplicates"},
    {"dark", "very dark image", "very dark images"},
    {"blurred", "blurred image", "blurred images"},
    {"tiny", "tiny image", "tiny images"},
    {"foreign", "image unlike all that is labelled", "images unlike all that is labelled"}};

}  // namespace

std::string_view name_of(FindingKind kind) {
  return kKindsInWords[static_cast<std::size_t>(kind)].name;
}

std::string in_words(const FindingCounts& counts) {
  std::vector<std::string> parts;
  for (const FindingKind kind : kFindingKinds) {
    const KindInWords& words = kKindsInWords[static_cast<std::size_t>(kind)];
    const std::size_t count = counts.of(kind);
    if (count > 0)
      parts.push_back(fmt::format("{} {}", count, count == 1 ? words.one : words.several));
  }
  return join(parts, ", ");
}

void write_findings(const std::filesystem::path& file, const std::vector<Finding>& findings) {
  CsvWriter writer(file, {"finding", "path", "set", "class", "other", "other_class", "score"});
  for (const Finding& one : findings) {
    writer.row({std::string(name_of(one.kind)), one.path, one.set, one.class_name, one.other,
                one.other_class, fmt::format("{:.4g}", one.score)});
  }
  writer.commit();
}

std::vector<Finding> read_findings(const std::filesystem::path& file) {
  const CsvTable table = CsvTable::read(file);
  const std::size_t kind = table.column("finding"), path = table.column("path"),
                    set = table.column("set"), given = table.column("class"),
                    other = table.column("other"), other_class = table.column("other_class"),
                    score = table.column("score");
  std::vector<Finding> findings;
  for (const CsvRow& row : table.rows()) {
    const auto* known = std::ranges::find(kFindingKinds, row.fields[kind], name_of);
    if (known == std::end(kFindingKinds)) {
      throw DataError(
          fmt::format("{}: '{}' is no kind of finding", table.where(row), row.fields[kind]));
    }
    const auto number = parse_real(row.fields[score]);
    if (!number)
      throw DataError(
          fmt::format("{}: score '{}' is no number", table.where(row), row.fields[score]));
    findings.push_back({.kind = *known,
                        .path = row.fields[path],
                        .set = row.fields[set],
                        .class_name = row.fields[given],
                        .other = row.fields[other],
                        .other_class = row.fields[other_class],
                        .score = *number});
  }
  return findings;
}

}  // namespace protogcd
