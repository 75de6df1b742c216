#include "protogcd/run/corrections.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/text.h"
#include "protogcd/data/source_table.h"
#include "protogcd/run/predictions_table.h"
#include "protogcd/run/run_files.h"

namespace protogcd {
namespace {

struct RankedImage {
  std::string file;  ///< comparable
  double typicality;
};

/// The run's unlabelled images.
struct PredictedImages {
  std::map<std::string, std::vector<RankedImage>> by_class;
  std::map<std::string, std::string> files;  ///< path as in predictions.csv -> comparable
};

PredictedImages read_predictions(const std::filesystem::path& run) {
  const PredictionsTable table = PredictionsTable::read(run / run_files::kPredictions);
  PredictedImages images;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::string file = comparable_path(run / table.path(i));
    images.files[table.path(i)] = file;
    images.by_class[table.class_name(i)].push_back({file, table.typicality(i)});
  }
  return images;
}

double median(const std::vector<RankedImage>& images) {
  std::vector<double> values;
  for (const RankedImage& image : images) values.push_back(image.typicality);
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

class Corrections {
 public:
  Corrections(const std::filesystem::path& file, PredictedImages images)
      : table_(CsvTable::read(file)), images_(std::move(images)) {
    const std::size_t action = table_.column("action"), path = table_.column("path"),
                      name = table_.column("class"), target = table_.column("target");
    for (const CsvRow& row : table_.rows())
      read(row, row.fields[action], row.fields[path], row.fields[name], row.fields[target]);
  }

  /// Which file gets which label.
  std::map<std::string, std::string> labels() const {
    std::map<std::string, std::string> labels;
    for (const auto& [name, row] : accepted_) {
      const auto& images = images_.by_class.at(name);
      const double least = median(images);
      for (const RankedImage& image : images) {
        if (image.typicality >= least && !wrong_.contains({name, image.file}))
          labels[image.file] = final_name(name, *row);
      }
    }
    for (const auto& [file, accepted] : confirmed_)
      labels[file] = final_name(accepted.first, *accepted.second);
    return labels;
  }

 private:
  void read(const CsvRow& row, const std::string& action, const std::string& path,
            const std::string& name, const std::string& target) {
    if (!images_.by_class.contains(name)) {
      throw DataError(
          fmt::format("{}: the run has no images of class '{}'", table_.where(row), name));
    }
    const bool needs_target = action == "rename" || action == "merge";
    if (needs_target && trim(target).empty())
      throw DataError(fmt::format("{}: {} needs a target", table_.where(row), action));
    if (action == "rename") {
      renamed_[name] = std::string(trim(target));
    } else if (action == "merge") {
      merged_[name] = target;
    } else if (action == "wrong") {
      wrong_.insert({name, file_of(row, path)});
    } else if (action == "accept" && path.empty()) {
      accepted_[name] = &row;
    } else if (action == "accept") {
      confirmed_[file_of(row, path)] = {name, &row};
    } else {
      throw DataError(fmt::format("{}: action '{}' is not rename, merge, wrong or accept",
                                  table_.where(row), action));
    }
  }

  const std::string& file_of(const CsvRow& row, const std::string& path) const {
    const auto found = images_.files.find(path);
    if (found == images_.files.end())
      throw DataError(fmt::format("{}: the run has no image '{}'", table_.where(row), path));
    return found->second;
  }

  /// What the images of a class are called in the end.
  std::string final_name(std::string name, const CsvRow& row) const {
    for (std::size_t steps = 0; merged_.contains(name); ++steps) {
      if (steps > merged_.size()) {
        throw DataError(
            fmt::format("{}: class '{}' is merged in a circle", table_.where(row), name));
      }
      name = merged_.at(name);
    }
    const auto renamed = renamed_.find(name);
    return renamed == renamed_.end() ? name : renamed->second;
  }

  const CsvTable table_;
  const PredictedImages images_;
  std::map<std::string, std::string> renamed_, merged_;
  std::set<std::pair<std::string, std::string>> wrong_;  ///< class and file
  std::map<std::string, const CsvRow*> accepted_;
  std::map<std::string, std::pair<std::string, const CsvRow*>> confirmed_;  ///< by file
};

}  // namespace

CorrectionSummary apply_corrections(Dataset& dataset, const std::filesystem::path& corrections,
                                    const std::filesystem::path& run) {
  const auto labels = Corrections(corrections, read_predictions(run)).labels();
  // Old classes stay as they are; accepted ones follow, then those that only hidden labels name.
  std::vector<std::string> classes(
      dataset.classes.begin(),
      dataset.classes.begin() + static_cast<std::ptrdiff_t>(dataset.old_classes));
  CorrectionSummary summary;
  std::map<std::uint32_t, std::string> label_of;  // by source
  for (const Sample& sample : dataset.samples) {
    if (sample.set != SampleSet::kUnlabelled) continue;
    const auto found = labels.find(comparable_path(dataset.sources.path(sample.source)));
    if (found == labels.end()) continue;
    label_of[sample.source] = found->second;
    if (std::ranges::find(classes, found->second) == classes.end()) {
      classes.push_back(found->second);
      summary.new_classes.push_back(found->second);
    }
  }
  const std::size_t old_classes = classes.size();
  for (const std::string& name : dataset.classes) {
    if (std::ranges::find(classes, name) == classes.end()) classes.push_back(name);
  }
  const auto number_of = [&](const std::string& name) {
    return static_cast<std::int32_t>(std::ranges::find(classes, name) - classes.begin());
  };
  std::vector<std::int32_t> numbers;
  for (const std::string& name : dataset.classes) numbers.push_back(number_of(name));
  for (Sample& sample : dataset.samples) {
    if (sample.label >= 0) sample.label = numbers[static_cast<std::size_t>(sample.label)];
    if (sample.truth >= 0) sample.truth = numbers[static_cast<std::size_t>(sample.truth)];
    const auto found = label_of.find(sample.source);
    if (sample.set != SampleSet::kUnlabelled || found == label_of.end()) continue;
    sample.set = SampleSet::kLabelled;
    sample.label = sample.truth = number_of(found->second);
    ++summary.labelled;
  }
  dataset.classes = std::move(classes);
  dataset.old_classes = old_classes;
  dataset.order_by_set();
  return summary;
}

}  // namespace protogcd
