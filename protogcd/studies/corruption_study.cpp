#include "protogcd/studies/corruption_study.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

nlohmann::json in_percent(const Accuracy& accuracy) {
  return {{"all", 100 * accuracy.all},
          {"old", 100 * accuracy.old_classes},
          {"new", 100 * accuracy.new_classes}};
}

std::string csv_row(const std::string& corruption, int severity, const Accuracy& accuracy) {
  return fmt::format("{},{},{:.4f},{:.4f},{:.4f}\n", corruption, severity, 100 * accuracy.all,
                     100 * accuracy.old_classes, 100 * accuracy.new_classes);
}

Evaluation evaluate_images(const TrainedModel& model, const SourceTable& sources,
                           std::span<const std::uint32_t> list,
                           std::span<const std::int32_t> truths, const LoaderOptions& loader,
                           const Context& context) {
  EvaluationTokens tokens(sources, {list.begin(), list.end()}, model.trunk(), loader, 0);
  return evaluate(predict_all(model, tokens, context), truths, model.info().old_classes);
}

/// Calls `cell` for every pair and says how far it is.
void for_each_cell(const CorruptionStudyOptions& options, const Context& context,
                   const std::function<void(const Corruption&, int)>& cell) {
  std::size_t done = 0;
  const std::size_t total = options.corruptions.size() * options.severities.size();
  for (const Corruption* corruption : options.corruptions) {
    for (const int severity : options.severities) {
      context.log.info(
          fmt::format("{} at severity {} ({} of {})", corruption->name, severity, ++done, total));
      cell(*corruption, severity);
    }
  }
}

}  // namespace

std::vector<int> CorruptionStudy::severities() const {
  std::set<int> found;
  for (const CorruptedAccuracy& cell : cells) found.insert(cell.severity);
  return {found.begin(), found.end()};
}

Accuracy CorruptionStudy::mean_at(int severity) const {
  Accuracy mean;
  double count = 0;
  for (const CorruptedAccuracy& cell : cells) {
    if (cell.severity != severity) continue;
    mean.all += cell.result.accuracy.all;
    mean.old_classes += cell.result.accuracy.old_classes;
    mean.new_classes += cell.result.accuracy.new_classes;
    ++count;
  }
  return {mean.all / count, mean.old_classes / count, mean.new_classes / count};
}

nlohmann::json CorruptionStudy::to_json() const {
  nlohmann::json json = {{"clean", in_percent(clean.accuracy)}};
  for (const CorruptedAccuracy& cell : cells) {
    json["corruptions"][cell.corruption][std::to_string(cell.severity)] =
        in_percent(cell.result.accuracy);
  }
  for (const int severity : severities())
    json["severities"][std::to_string(severity)] = in_percent(mean_at(severity));
  return json;
}

std::string CorruptionStudy::to_csv() const {
  std::string csv = "corruption,severity,all,old,new\n" + csv_row("none", 0, clean.accuracy);
  for (const CorruptedAccuracy& cell : cells)
    csv += csv_row(cell.corruption, cell.severity, cell.result.accuracy);
  for (const int severity : severities()) csv += csv_row("mean", severity, mean_at(severity));
  return csv;
}

std::string CorruptionStudy::to_markdown() const {
  const auto levels = severities();
  std::string text = fmt::format("| All, severity | {} |\n|---|", join(levels, " | "));
  for (std::size_t i = 0; i < levels.size(); ++i) text += "---:|";
  std::string row;
  for (const CorruptedAccuracy& cell : cells) {
    if (cell.corruption != row) text += fmt::format("\n| {} |", row = cell.corruption);
    text += fmt::format(" {:.1f} |", 100 * cell.result.accuracy.all);
  }
  text += "\n| mean |";
  for (const int severity : levels) text += fmt::format(" {:.1f} |", 100 * mean_at(severity).all);
  text += "\n\n| Severity | All | Old | New |\n|---:|---|---|---|\n";
  const auto percent = [](double share) {
    return std::isnan(share) ? std::string("–") : fmt::format("{:.1f}", 100 * share);
  };
  text += fmt::format("| 0 | {} | {} | {} |\n", percent(clean.accuracy.all),
                      percent(clean.accuracy.old_classes), percent(clean.accuracy.new_classes));
  for (const int severity : levels) {
    const Accuracy mean = mean_at(severity);
    const auto value = [](double now, double before) {
      if (std::isnan(now)) return std::string("–");
      return fmt::format("{:.1f} ({:+.1f})", 100 * now, 100 * (now - before));
    };
    text += fmt::format("| {} | {} | {} | {} |\n", severity, value(mean.all, clean.accuracy.all),
                        value(mean.old_classes, clean.accuracy.old_classes),
                        value(mean.new_classes, clean.accuracy.new_classes));
  }
  return text;
}

CorruptionStudy study_corruptions(const TrainedModel& model, Evaluation clean,
                                  const SourceTable& sources, std::span<const std::uint32_t> list,
                                  std::span<const std::int32_t> truths,
                                  const CorruptionStudyOptions& options, const Context& context) {
  LoaderOptions loader = model.center_loader(context.threads);
  CorruptionStudy study{.clean = clean, .cells = {}};
  for_each_cell(options, context, [&](const Corruption& corruption, int severity) {
    loader.change = [&corruption, severity, &context](const Image& image, std::uint32_t source) {
      RandomStream random({.seed = context.seed,
                           .purpose = RandomPurpose::kCorruption,
                           .epoch = static_cast<std::uint32_t>(&corruption - corruptions().data()),
                           .position = source,
                           .view = static_cast<std::uint8_t>(severity)});
      return corrupt(image, corruption, severity, random);
    };
    study.cells.push_back({std::string(corruption.name), severity,
                           evaluate_images(model, sources, list, truths, loader, context)});
  });
  return study;
}

CorruptionStudy study_corrupted_files(
    const TrainedModel& model, Evaluation clean,
    const std::function<ImageSet(const Corruption&, int severity)>& open,
    std::span<const std::int32_t> numbers, const CorruptionStudyOptions& options,
    const Context& context) {
  const LoaderOptions loader = model.center_loader(context.threads);
  CorruptionStudy study{.clean = clean, .cells = {}};
  for_each_cell(options, context, [&](const Corruption& corruption, int severity) {
    const ImageSet set = open(corruption, severity);
    std::vector<std::uint32_t> list(set.sources.size());
    std::iota(list.begin(), list.end(), 0u);
    std::vector<std::int32_t> truths;
    for (const std::int32_t id : set.class_ids) {
      if (id < 0 || static_cast<std::size_t>(id) >= numbers.size()) {
        throw DataError(fmt::format("{}: a label of {}, but the dataset has {} classes", set.name,
                                    id, numbers.size()));
      }
      truths.push_back(numbers[static_cast<std::size_t>(id)]);
    }
    study.cells.push_back({std::string(corruption.name), severity,
                           evaluate_images(model, set.sources, list, truths, loader, context)});
  });
  return study;
}

}  // namespace protogcd
