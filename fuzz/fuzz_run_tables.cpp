// The tables of a run (sections.h), each by itself: refused with an error of ours, or read, and
// what can be written again reads back as the same.
#include <cstdint>

#include "fuzz/sections.h"
#include "fuzz/structured.h"
#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/run/epoch_comparison.h"
#include "protogcd/run/findings_file.h"
#include "protogcd/run/label_next.h"
#include "protogcd/run/metrics_file.h"
#include "protogcd/run/predictions_table.h"
#include "protogcd/run/run_notes.h"

namespace {

using namespace protogcd;
namespace fs = std::filesystem;

void read_predictions(const fs::path& file) {
  const PredictionsTable table = PredictionsTable::read(file);
  for (std::size_t i = 0; i < table.size(); ++i) {
    table.path(i);
    table.class_name(i);
    table.is_new(i);
    table.is_outlier(i);
    table.confidence(i);
    table.typicality(i);
    table.outlier_score(i);
    for (std::size_t place = 0; place < table.likeliest(); ++place) {
      table.likely_class(i, place);
      table.probability(i, place);
    }
  }
}

void rewrite_findings(const fs::path& file) {
  const std::vector<Finding> findings = read_findings(file);
  write_findings(file, findings);
  const std::vector<Finding> again = read_findings(file);
  if (again.size() != findings.size()) __builtin_trap();
  for (std::size_t i = 0; i < again.size(); ++i) {
    if (again[i].kind != findings[i].kind || again[i].path != findings[i].path ||
        again[i].other_class != findings[i].other_class)
      __builtin_trap();
  }
}

void rewrite_label_next(const fs::path& file) {
  const std::vector<LabelNext> queue = read_label_next(file);
  write_label_next(file, queue);
  const std::vector<LabelNext> again = read_label_next(file);
  if (again.size() != queue.size()) __builtin_trap();
  for (std::size_t i = 0; i < again.size(); ++i)
    if (again[i].path != queue[i].path || again[i].why != queue[i].why) __builtin_trap();
}

void shorten_metrics(const fs::path& file) {
  constexpr std::int64_t kLimit = 2;
  const std::vector<nlohmann::json> metrics = read_metrics(file);
  try {
    compare_epochs(metrics);
  } catch (const nlohmann::json::exception&) {  // as it is documented
  }
  keep_metrics_before(file, kLimit);
  for (const nlohmann::json& line : read_metrics(file))
    if (line.at("epoch") >= kLimit) __builtin_trap();
}

void read_notes(const fs::path& file) {
  const RunNotes notes = read_run_notes(file);
  if (notes.settings && notes.environment.contains(kRunSettings)) __builtin_trap();
}

}  // namespace

PROTOGCD_MUTATED_BY(mutate_sections)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::pair<const char*, void (*)(const fs::path&)> kTables[] = {
      {"predictions.csv", read_predictions}, {"predictions.json", read_predictions},
      {"findings.csv", rewrite_findings},    {"label-next.csv", rewrite_label_next},
      {"metrics.jsonl", shorten_metrics},    {"run.json", read_notes}};
  std::vector<const char*> names;
  for (const auto& [name, read] : kTables) names.push_back(name);
  const fuzz::SectionFolder run(data, size, names);
  for (const auto& [name, read] : kTables) {
    if (!fs::exists(run / name)) continue;
    try {
      read(run / name);
    } catch (const DataError&) {
    } catch (const ModelFileError&) {
    }
  }
  return 0;
}
