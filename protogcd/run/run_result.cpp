#include "protogcd/run/run_result.h"

#include <fmt/core.h>

#include <cmath>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"

namespace protogcd {
namespace {

constexpr int kResultFormat = 1;

nlohmann::json to_json(const FoundClass& found) {
  nlohmann::json json = {{"name", found.name},
                         {"is_new", found.is_new},
                         {"images", found.images},
                         {"confidence", found.confidence}};
  if (!found.truth.empty()) {
    json["truth"] = found.truth;
    json["truth_share"] = found.truth_share;
  }
  if (found.stability) json["stability"] = *found.stability;
  return json;
}

FoundClass found_class_from_json(const nlohmann::json& json) {
  std::optional<double> stability;
  if (json.contains("stability")) stability = json.at("stability").get<double>();
  return {.name = json.at("name").get<std::string>(),
          .is_new = json.at("is_new").get<bool>(),
          .images = count_at<std::size_t>(json, "images"),
          .confidence = json.at("confidence").get<double>(),
          .truth = json.value("truth", ""),
          .truth_share = json.value("truth_share", 0.0),
          .stability = stability};
}

nlohmann::json to_json(const FindingCounts& found) {
  nlohmann::json json;
  for (const FindingKind kind : kFindingKinds) json[std::string(name_of(kind))] = found.of(kind);
  if (!found.labels_unchecked.empty()) json["labels_unchecked"] = found.labels_unchecked;
  if (!found.duplicates_unchecked.empty())
    json["duplicates_unchecked"] = found.duplicates_unchecked;
  return json;
}

FindingCounts finding_counts_from_json(const nlohmann::json& json) {
  FindingCounts found;
  for (const FindingKind kind : kFindingKinds)
    found.of(kind) = kind == FindingKind::kForeign  // which 0.1.0 did not look for
                         ? count_at(json, name_of(kind).data(), std::size_t{0})
                         : count_at<std::size_t>(json, name_of(kind).data());
  found.labels_unchecked = json.value("labels_unchecked", "");
  found.duplicates_unchecked = json.value("duplicates_unchecked", "");
  return found;
}

nlohmann::json to_json(const Accuracy& percent) {
  return {{"all", percent.all}, {"old", percent.old_classes}, {"new", percent.new_classes}};
}

struct MeanAndDeviation {
  double mean = 0, deviation = 0;
};

MeanAndDeviation spread_of(std::span<const RunResult> runs, double Accuracy::*which) {
  const auto percent = [&](const RunResult& run) {
    return 100 * (run.on_unlabelled.accuracy.*which);
  };
  const auto count = static_cast<double>(runs.size());
  double sum = 0, squares = 0;
  for (const RunResult& run : runs) sum += percent(run);
  const double average = sum / count;
  for (const RunResult& run : runs) squares += (percent(run) - average) * (percent(run) - average);
  return {.mean = average, .deviation = runs.size() < 2 ? 0 : std::sqrt(squares / (count - 1))};
}

void write_json(const std::filesystem::path& file, const nlohmann::json& json) {
  // Names of files need not be UTF-8; a replacement character keeps the object valid.
  write_file_atomically(file,
                        json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace

double outliers_by_chance(const RunResult& result) {
  return (1 - result.outlier_keep) * static_cast<double>(result.unlabelled);
}

std::string outliers_in_words(const RunResult& result, const OptionSpelling& spelling) {
  if (result.outliers == 0) return {};
  const double percent = 100 * result.outlier_keep;
  if (result.calibrated_on == 0) {
    return fmt::format(
        "to look at: the {} least typical of the unlabelled images, which are {:.0f}% of them by "
        "definition; {} would tell how many are strange",
        result.outliers, 100 - percent,
        spelling ? spelling("calibration_share") : "calibration_share");
  }
  return fmt::format(
      "outliers: {} unlabelled images are less typical than {:.0f}% of {} labelled images that "
      "training did not see; if all were of known kinds, at most about {:.0f} would be",
      result.outliers, percent, result.calibrated_on, outliers_by_chance(result));
}

std::string suspect_in_words(const RunResult& result) {
  if (!(result.frozen_accuracy < kLowFrozenAccuracy)) return {};
  return fmt::format(
      "by the backbone's own features only {:.0f}% of the labelled images are nearest to images of "
      "their class: it does not see what tells these classes apart, and what is found below may be "
      "groups of like colours and shapes. Another backbone will help most",
      100 * result.frozen_accuracy);
}

nlohmann::json to_json(const RunResult& result) {
  nlohmann::json json = to_json(result.on_unlabelled);
  json[kFormatKey] = kResultFormat;
  json["out"] = result.out.string();
  json["k"] = result.k;
  json["k_new"] = result.k - result.k_old;
  if (result.dropped > 0) json["dropped"] = result.dropped;
  if (result.estimate) json["estimate"] = result.estimate->to_json();
  if (result.tuning) json["tuning"] = result.tuning->to_json();
  if (result.from) json["from"] = result.from->to_json();
  if (result.confidence) json["confidence_calibration"] = result.confidence->to_json();
  if (!std::isnan(result.calibration_error)) {
    json["calibration_error"] = {{"before", result.calibration_error_before},
                                 {"after", result.calibration_error}};
  }
  json["images"] = {{"labelled", result.labelled},
                    {"unlabelled", result.unlabelled},
                    {"test", result.test},
                    {"skipped", result.skipped}};
  json["outliers"] = result.outliers;
  json["outlier_threshold"] = {{"kept", result.outlier_keep},
                               {"held_out_images", result.calibrated_on}};
  if (!std::isnan(result.frozen_accuracy)) json["frozen_accuracy"] = result.frozen_accuracy;
  if (result.findings) json["findings"] = to_json(*result.findings);
  json["epochs"] = result.epochs;
  if (result.by_epoch) add_to_json(*result.by_epoch, json);
  json["seconds"] = result.seconds;
  if (result.host_mib > 0)
    json["peak_memory"] = {{"host_mib", result.host_mib}, {"gpu_mib", result.gpu_mib}};
  if (!result.next.empty()) json["next"] = result.next;
  json["classes"] = nlohmann::json::array();
  for (const FoundClass& found : result.classes) json["classes"].push_back(to_json(found));
  json["test"] = result.on_test ? to_json(*result.on_test) : nlohmann::json("none");
  return json;
}

RunResult run_result_from_json(const nlohmann::json& json) {
  const nlohmann::json& images = json.at("images");
  RunResult result{.k = count_at(json, "k"),
                   .k_old = count_at(json, "k") - count_at(json, "k_new"),
                   .dropped = count_at(json, "dropped", std::int64_t{0}),
                   .labelled = count_at<std::size_t>(images, "labelled"),
                   .unlabelled = count_at<std::size_t>(images, "unlabelled"),
                   .test = count_at<std::size_t>(images, "test"),
                   .skipped = count_at<std::size_t>(images, "skipped"),
                   .epochs = count_at(json, "epochs"),
                   .seconds = json.at("seconds"),
                   .on_unlabelled = evaluation_from_json(json),
                   .on_test = std::nullopt,
                   .classes = {},
                   .outliers = count_at(json, "outliers", std::uint64_t{0}),
                   .out = json.value("out", "")};
  const nlohmann::json threshold = json.value("outlier_threshold", nlohmann::json::object());
  result.outlier_keep = threshold.value("kept", result.outlier_keep);
  result.calibrated_on = count_at(threshold, "held_out_images", std::size_t{0});
  const nlohmann::json memory = json.value("peak_memory", nlohmann::json::object());
  result.host_mib = count_at(memory, "host_mib", std::uint64_t{0});
  result.gpu_mib = count_at(memory, "gpu_mib", std::uint64_t{0});
  result.next = json.value("next", "");
  result.frozen_accuracy = json.value("frozen_accuracy", result.frozen_accuracy);
  if (json.contains("findings")) result.findings = finding_counts_from_json(json.at("findings"));
  if (json.contains("estimate")) result.estimate = ClassNumber::from_json(json.at("estimate"));
  if (json.contains("tuning")) result.tuning = Tuning::from_json(json.at("tuning"));
  if (json.contains("from")) result.from = TakenFrom::from_json(json.at("from"));
  if (json.contains("confidence_calibration"))
    result.confidence = Confidence::from_json(json.at("confidence_calibration"));
  if (json.contains("calibration_error")) {
    result.calibration_error_before = json.at("calibration_error").at("before");
    result.calibration_error = json.at("calibration_error").at("after");
  }
  const auto on_test = json.find("test");
  if (on_test != json.end() && on_test->is_object())
    result.on_test = evaluation_from_json(*on_test);
  result.by_epoch = epoch_comparison_from_json(json);
  for (const auto& found : json.at("classes"))
    result.classes.push_back(found_class_from_json(found));
  return result;
}

RunSpread spread_of(std::span<const RunResult> runs) {
  RunSpread spread;
  for (double Accuracy::*which : {&Accuracy::all, &Accuracy::old_classes, &Accuracy::new_classes}) {
    const MeanAndDeviation one = spread_of(runs, which);
    spread.mean.*which = one.mean;
    spread.deviation.*which = one.deviation;
  }
  return spread;
}

nlohmann::json to_json(std::span<const RunResult> runs) {
  const RunSpread spread = spread_of(runs);
  nlohmann::json json = to_json(spread.mean);
  json[kFormatKey] = kResultFormat;
  json["mean"] = to_json(spread.mean);
  json["std"] = to_json(spread.deviation);
  json["runs"] = nlohmann::json::array();
  for (const RunResult& run : runs) json["runs"].push_back(to_json(run));
  return json;
}

void write_result(const std::filesystem::path& file, const RunResult& result) {
  write_json(file, to_json(result));
}

void write_result(const std::filesystem::path& file, std::span<const RunResult> runs) {
  write_json(file, to_json(runs));
}

RunResult read_result(const std::filesystem::path& file) {
  try {
    const auto json = parse_json(read_text_file(file));
    check_format(json, kResultFormat, file.string());
    return run_result_from_json(json);
  } catch (const nlohmann::json::exception& error) {
    throw ModelFileError(fmt::format("{}: {}", file.string(), error.what()));
  } catch (const DataError& error) {
    throw ModelFileError(fmt::format("{}: {}", file.string(), error.marked()));
  }
}

}  // namespace protogcd
