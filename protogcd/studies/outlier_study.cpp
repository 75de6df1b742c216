#include "protogcd/studies/outlier_study.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

struct Column {
  const char* key;    ///< in JSON and CSV
  const char* title;  ///< for people
  double OutlierMeasures::*value;
};

constexpr Column kColumns[] = {{"fpr95", "FPR95", &OutlierMeasures::fpr95_in},
                               {"auroc", "AUROC", &OutlierMeasures::auroc},
                               {"aupr_in", "AUPR-IN", &OutlierMeasures::aupr_in},
                               {"aupr_out", "AUPR-OUT", &OutlierMeasures::aupr_out},
                               {"fpr95_out", "FPR95-OUT", &OutlierMeasures::fpr95_out}};

std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : one_line(text)) cell += c == '|' ? std::string("\\|") : std::string(1, c);
  return cell;
}

nlohmann::ordered_json in_percent(const OutlierMeasures& measures) {
  nlohmann::ordered_json json;
  for (const Column& column : kColumns) json[column.key] = 100 * measures.*column.value;
  return json;
}

}  // namespace

OutlierStudy study_outliers(const ModelInfo& info, const at::Tensor& inside,
                            const std::vector<NamedCosines>& outliers,
                            const OutlierStudyOptions& options) {
  OutlierStudy study;
  for (const NamedCosines& set : outliers) study.sets.push_back(set.name);
  for (const OutlierScore score : options.scores) {
    OutlierRow row{.score = score, .sets = {}, .mean = {}};
    const auto known = outlier_scores(info, score, inside);
    for (const NamedCosines& set : outliers) {
      row.sets.push_back(measure_sampled(known, outlier_scores(info, score, set.cosines),
                                         options.sampling, options.repeats, options.seed));
    }
    for (const Column& column : kColumns) {
      for (const SampledMeasures& set : row.sets)
        row.mean.*column.value += set.mean.*column.value / static_cast<double>(row.sets.size());
    }
    study.rows.push_back(std::move(row));
  }
  return study;
}

nlohmann::json OutlierStudy::to_json() const {
  nlohmann::json json = nlohmann::json::object();
  for (const OutlierRow& row : rows) {
    nlohmann::json& score = json[std::string(name_of(row.score))];
    score["mean"] = in_percent(row.mean);
    for (std::size_t i = 0; i < sets.size(); ++i) {
      nlohmann::json set = in_percent(row.sets[i].mean);
      set["deviation"] = in_percent(row.sets[i].deviation);
      set["repeats"] = row.sets[i].repeats;
      set["known_images"] = row.sets[i].inside;
      set["outliers"] = row.sets[i].outside;
      score["sets"][sets[i]] = std::move(set);
    }
  }
  return json;
}

std::string OutlierStudy::to_csv() const {
  std::string csv = "score,set,known_images,outliers,repeats";
  for (const Column& column : kColumns) csv += fmt::format(",{0},{0}_deviation", column.key);
  csv += "\n";
  for (const OutlierRow& row : rows) {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      const SampledMeasures& set = row.sets[i];
      csv += fmt::format("{},{},{},{},{}", name_of(row.score), csv_field(sets[i]), set.inside,
                         set.outside, set.repeats);
      for (const Column& column : kColumns) {
        csv += fmt::format(",{:.4f},{:.4f}", 100 * set.mean.*column.value,
                           100 * set.deviation.*column.value);
      }
      csv += "\n";
    }
    csv += fmt::format("{},mean,,,", name_of(row.score));
    for (const Column& column : kColumns)
      csv += fmt::format(",{:.4f},", 100 * row.mean.*column.value);
    csv += "\n";
  }
  return csv;
}

std::string OutlierStudy::to_markdown() const {
  std::string text;
  for (const OutlierRow& row : rows) {
    text += fmt::format("{}| {} |", text.empty() ? "" : "\n", name_of(row.score));
    for (const Column& column : kColumns) text += fmt::format(" {} |", column.title);
    text += "\n|---|";
    for (std::size_t i = 0; i < std::size(kColumns); ++i) text += "---:|";
    text += "\n";
    for (std::size_t i = 0; i < sets.size(); ++i) {
      text += fmt::format("| {} |", markdown_cell(sets[i]));
      for (const Column& column : kColumns) {
        const double mean = row.sets[i].mean.*column.value;
        text += row.sets[i].repeats > 1 ? fmt::format(" {:.2f} ± {:.2f} |", 100 * mean,
                                                      100 * row.sets[i].deviation.*column.value)
                                        : fmt::format(" {:.2f} |", 100 * mean);
      }
      text += "\n";
    }
    text += "| mean |";
    for (const Column& column : kColumns)
      text += fmt::format(" {:.2f} |", 100 * row.mean.*column.value);
    text += "\n";
  }
  return text;
}

}  // namespace protogcd
