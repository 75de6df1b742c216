#include "protogcd/run/corrections.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

constexpr std::array<std::string_view, 5> kActions = {"rename", "merge", "wrong", "accept", "move"};

double median_typicality(const std::vector<CorrectedRun::Image>& images) {
  std::vector<double> values;
  for (const CorrectedRun::Image& image : images) values.push_back(image.typicality);
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

struct CorrectionColumns {
  explicit CorrectionColumns(const CsvTable& table)
      : action(table.column("action")),
        path(table.column("path")),
        name(table.column("class")),
        target(table.column("target")) {}
  std::size_t action, path, name, target;
};

Correction correction_of(const CsvTable& table, const CsvRow& row, const CorrectionColumns& columns,
                         const CorrectedRun& run) {
  const std::string& path = row.fields[columns.path];
  Correction correction{.action = action_of(row.fields[columns.action], table.where(row)),
                        .file = {},
                        .class_name = row.fields[columns.name],
                        .target = std::string(trim(row.fields[columns.target]))};
  const auto fail = [&](const std::string& reason) {
    throw DataError(fmt::format("{}: {}", table.where(row), reason));
  };
  const auto known = run.classes.find(correction.class_name);
  if (known == run.classes.end())
    fail(fmt::format("the run has no images of class '{}'", correction.class_name));
  correction.is_new = known->second.is_new;
  const auto action = correction.action;
  const bool of_class = action == CorrectionAction::kRename || action == CorrectionAction::kMerge;
  if ((of_class || action == CorrectionAction::kMove) && correction.target.empty())
    fail(fmt::format("{} needs a target", action_name(action)));
  if (of_class || (action == CorrectionAction::kAccept && path.empty())) return correction;
  const auto file = run.files.find(path);
  if (file == run.files.end()) fail(fmt::format("the run has no image '{}'", path));
  correction.file = file->second;
  return correction;
}

}  // namespace

std::vector<std::string> CorrectedRun::Class::typical() const {
  std::vector<std::string> chosen;
  if (images.empty()) return chosen;
  const double least = median_typicality(images);
  for (const Image& image : images)
    if (image.typicality >= least) chosen.push_back(image.file);
  return chosen;
}

std::string_view action_name(CorrectionAction action) {
  return kActions[static_cast<std::size_t>(action)];
}

CorrectionAction action_of(std::string_view name, const std::string& where) {
  const auto found = std::ranges::find(kActions, name);
  if (found == kActions.end())
    throw DataError(
        fmt::format("{}: action '{}' is not one of {}", where, name, join(kActions, ", ")));
  return static_cast<CorrectionAction>(found - kActions.begin());
}

std::vector<Correction> read_corrections(const std::filesystem::path& file,
                                         const CorrectedRun& run) {
  const CsvTable table = CsvTable::read(file);
  const CorrectionColumns columns(table);
  std::vector<Correction> corrections;
  NamesOfRound names;
  for (const CsvRow& row : table.rows()) {
    corrections.push_back(correction_of(table, row, columns, run));
    names.add(corrections.back());
  }
  for (std::size_t i = 0; i < corrections.size(); ++i) {
    try {
      static_cast<void>(names.of(corrections[i].class_name));
    } catch (const std::length_error&) {
      throw DataError(fmt::format("{}: class '{}' is merged in a circle",
                                  table.where(table.rows()[i]), corrections[i].class_name));
    }
  }
  return corrections;
}

void NamesOfRound::add(const Correction& correction) {
  if (correction.action == CorrectionAction::kRename)
    renamed_[correction.class_name] = correction.target;
  if (correction.action == CorrectionAction::kMerge)
    merged_[correction.class_name] = correction.target;
}

std::string NamesOfRound::of(std::string name) const {
  for (std::size_t steps = 0; merged_.contains(name); ++steps) {
    if (steps > merged_.size()) throw std::length_error(name);
    name = merged_.at(name);
  }
  const auto renamed = renamed_.find(name);
  return renamed == renamed_.end() ? name : renamed->second;
}

}  // namespace protogcd
