#include "protogcd/report/report_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "protogcd/analysis/accuracy.h"
#include "protogcd/analysis/tsne.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/core/text.h"
#include "protogcd/core/version.h"
#include "protogcd/report/base64.h"
#include "protogcd/report/sprites.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Json read_json(const fs::path& file) {
  try {
    return Json::parse(read_text_file(file));
  } catch (const Json::exception& error) {
    throw ModelFileError(fmt::format("{}: {}", file.string(), error.what()));
  }
}

Json number_or_null(const Json& object, const char* key) {
  return object.contains(key) && object.at(key).is_number() ? object.at(key) : Json(nullptr);
}

/// The unlabelled images, as predictions.csv lists them.
struct ImageColumns {
  std::vector<std::string> path;
  std::vector<std::int32_t> label, truth;
  std::vector<double> confidence, typicality, outlier_score;
  std::vector<bool> is_outlier;
};

double number_of(const CsvTable& table, const CsvRow& row, std::size_t column) {
  const auto value = parse_real(row.fields[column]);
  if (!value) {
    throw DataError(fmt::format("{}: '{}' is not a number", table.where(row), row.fields[column]));
  }
  return *value;
}

ImageColumns read_predictions(const fs::path& file, const std::vector<std::string>& classes) {
  const CsvTable table = CsvTable::read(file);
  std::map<std::string, std::int32_t> numbers;
  for (std::size_t k = 0; k < classes.size(); ++k)
    numbers[classes[k]] = static_cast<std::int32_t>(k);
  const std::size_t path = table.column("path"), label = table.column("class"),
                    confidence = table.column("confidence"),
                    typicality = table.column("typicality"), score = table.column("outlier_score"),
                    flag = table.column("is_outlier");
  ImageColumns images;
  for (const CsvRow& row : table.rows()) {
    const auto number = numbers.find(row.fields[label]);
    if (number == numbers.end()) {
      throw DataError(fmt::format("{}: class '{}' is not one of the model's", table.where(row),
                                  row.fields[label]));
    }
    images.path.push_back(row.fields[path]);
    images.label.push_back(number->second);
    images.confidence.push_back(number_of(table, row, confidence));
    images.typicality.push_back(number_of(table, row, typicality));
    images.outlier_score.push_back(number_of(table, row, score));
    images.is_outlier.push_back(row.fields[flag] == "1");
  }
  images.truth.assign(images.path.size(), -1);
  return images;
}

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 31u,
                      fraction = half & 1023u;
  if (exponent == 0) {
    const float value = std::ldexp(static_cast<float>(fraction), -24);
    return sign ? -value : value;
  }
  const std::uint32_t large = exponent == 31 ? 255u : exponent + 112;
  return std::bit_cast<float>(sign | large << 23 | fraction << 13);
}

template <class T>
std::vector<T> values_of(const TensorEntry& entry, const fs::path& file) {
  if (entry.bytes.size() != entry.element_count() * sizeof(T))
    throw ModelFileError(fmt::format("{}: '{}' has another type", file.string(), entry.name));
  std::vector<T> values(entry.element_count());
  std::ranges::copy(entry.bytes, std::as_writable_bytes(std::span(values)).begin());
  return values;
}

/// embeddings.safetensors of a run.
struct Embeddings {
  std::vector<std::int64_t> rows;
  std::vector<float> before, after, prototypes;  ///< [n, D], [n, D], [K, D]
  std::vector<std::int32_t> truths;              ///< [N]
  std::vector<std::string> truth_names;
  std::size_t width = 0;
};

std::optional<Embeddings> read_embeddings(const fs::path& file, std::size_t images,
                                          std::size_t classes) {
  if (!fs::exists(file)) return std::nullopt;
  const SafetensorsFile stored(file);
  Embeddings result;
  const auto halves = [&](const char* name) {
    std::vector<float> values;
    for (const std::uint16_t half : values_of<std::uint16_t>(stored.at(name), file))
      values.push_back(half_to_float(half));
    return values;
  };
  result.rows = values_of<std::int64_t>(stored.at("rows"), file);
  result.before = halves("before");
  result.after = halves("after");
  result.prototypes = values_of<float>(stored.at("prototypes"), file);
  result.truths = values_of<std::int32_t>(stored.at("truths"), file);
  try {
    result.truth_names =
        Json::parse(stored.metadata().at("classes")).get<std::vector<std::string>>();
  } catch (const std::exception& error) {
    throw ModelFileError(fmt::format("{}: classes: {}", file.string(), error.what()));
  }
  result.width = classes > 0 ? result.prototypes.size() / classes : 0;
  const auto last = static_cast<std::int64_t>(images);
  const bool fits =
      result.width > 0 && result.prototypes.size() == classes * result.width &&
      result.truths.size() == images && result.after.size() == result.rows.size() * result.width &&
      result.before.size() == result.after.size() &&
      std::ranges::all_of(result.rows, [&](std::int64_t row) { return row >= 0 && row < last; }) &&
      std::ranges::all_of(result.truths, [&](std::int32_t truth) {
        return truth < static_cast<std::int32_t>(result.truth_names.size());
      });
  if (!fits) {
    throw ModelFileError(
        fmt::format("{}: does not fit to the run's predictions and model", file.string()));
  }
  return result;
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double dot = 0, aa = 0, bb = 0;
  for (std::size_t d = 0; d < a.size(); ++d) {
    dot += double{a[d]} * b[d];
    aa += double{a[d]} * a[d];
    bb += double{b[d]} * b[d];
  }
  return dot / std::max(std::sqrt(aa * bb), 1e-12);
}

/// The three classes whose prototypes are nearest.
Json nearest_classes(const Embeddings& embeddings, std::size_t k, std::size_t classes) {
  constexpr std::size_t kShown = 3;
  const std::span<const float> all(embeddings.prototypes);
  const auto prototype = [&](std::size_t i) {
    return all.subspan(i * embeddings.width, embeddings.width);
  };
  std::vector<std::pair<double, std::size_t>> others;
  for (std::size_t i = 0; i < classes; ++i) {
    if (i != k) others.emplace_back(-cosine(prototype(k), prototype(i)), i);
  }
  std::ranges::sort(others);
  Json nearest = Json::array();
  for (std::size_t i = 0; i < std::min(kShown, others.size()); ++i)
    nearest.push_back({{"class", others[i].second}, {"cosine", -others[i].first}});
  return nearest;
}

Json classes_of(const Json& result, const ImageColumns& images,
                const std::optional<Embeddings>& embeddings) {
  const auto& found = result.at("classes");
  std::vector<double> typicality(found.size());
  for (std::size_t i = 0; i < images.label.size(); ++i)
    typicality[static_cast<std::size_t>(images.label[i])] += images.typicality[i];
  Json classes = Json::array();
  for (std::size_t k = 0; k < found.size(); ++k) {
    const Json& one = found[k];
    const double count = one.at("images");
    classes.push_back(
        {{"name", one.at("name")},
         {"is_new", one.at("is_new")},
         {"images", one.at("images")},
         {"confidence", one.at("confidence")},
         {"truth", one.value("truth", "")},
         {"truth_share", one.value("truth_share", 0.0)},
         {"compactness", count > 0 ? Json(typicality[k] / count) : Json(nullptr)},
         {"nearest", embeddings ? nearest_classes(*embeddings, k, found.size()) : Json::array()}});
  }
  return classes;
}

/// Rounded: a map needs no more, and the file is smaller.
Json coordinates(std::span<const float> points) {
  Json list = Json::array();
  for (const float value : points) list.push_back(std::round(value * 1000) / 1000);
  return list;
}

/// Images and prototypes are laid out together, so that stars stand among their images.
Json map_of(const Embeddings& embeddings, const Context& context) {
  if (embeddings.rows.empty()) return nullptr;
  const TsneOptions options{.seed = context.seed,
                            .threads = context.threads,
                            .keep_going = [&](int) { return !context.interrupted(); }};
  context.log.info(fmt::format("map of {} images", embeddings.rows.size()));
  std::vector<float> joined = embeddings.after;
  joined.insert(joined.end(), embeddings.prototypes.begin(), embeddings.prototypes.end());
  const auto after = tsne(joined, embeddings.width, options);
  const auto before = tsne(embeddings.before, embeddings.width, options);
  const std::span<const float> points(after);
  const std::size_t images = 2 * embeddings.rows.size();
  return {{"rows", embeddings.rows},
          {"before", coordinates(before)},
          {"after", coordinates(points.first(images))},
          {"prototypes", coordinates(points.subspan(images))}};
}

Json confusion_of(const ImageColumns& images, const std::vector<std::string>& truth_names,
                  std::size_t clusters) {
  const Confusion confusion(images.label, images.truth);
  if (confusion.samples() == 0) return nullptr;
  const MatchingOrder order = matching_order(confusion, clusters);
  Json names = Json::array(), counts = Json::array();
  for (const std::size_t of_class : order.classes) {
    names.push_back(truth_names[of_class]);
    Json row = Json::array();
    for (const std::size_t cluster : order.clusters)
      row.push_back(cluster < confusion.clusters() ? confusion.count(cluster, of_class) : 0);
    counts.push_back(std::move(row));
  }
  return {{"classes", names}, {"clusters", order.clusters}, {"counts", counts}};
}

Json epochs_of(const fs::path& file) {
  Json epochs = Json::array();
  if (!fs::exists(file)) return epochs;
  std::istringstream lines(read_text_file(file));
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("epoch") || !json.contains("train")) continue;
    Json loss = json.at("train");
    loss.erase("hard_share");
    loss.erase("marginal_old");
    const Json scores = json.value("unlabelled", Json::object());
    epochs.push_back({{"epoch", json.at("epoch")},
                      {"loss", loss},
                      {"all", number_or_null(scores, "all")},
                      {"old", number_or_null(scores, "old")},
                      {"new", number_or_null(scores, "new")}});
  }
  return epochs;
}

/// The number of classes that was estimated, with the score it was read from.
Json estimate_of(const Json& result) {
  if (!result.contains("estimate")) return nullptr;
  const Json& estimate = result.at("estimate");
  Json curve = Json::array();
  for (const Json& point : estimate.value("curve", Json::array())) {
    const Json silhouette = number_or_null(point, "silhouette"),
               accuracy = number_or_null(point, "frozen_accuracy"),
               score = number_or_null(point, "log_proto_score");
    if (silhouette.is_number() && accuracy.is_number()) {
      const double value =
          silhouette.get<double>() * std::pow(std::max(accuracy.get<double>(), 0.0), 0.25);
      curve.push_back({{"k", point.at("k")}, {"score", value}});
    } else if (score.is_number()) {
      curve.push_back({{"k", point.at("k")}, {"score", score}});
    }
  }
  const Json interval = estimate.value("interval", Json::array());
  const bool has_interval = interval.is_array() && interval.size() == 2;
  return {{"k", estimate.at("k")},
          {"low", has_interval ? interval[0] : estimate.at("k")},
          {"high", has_interval ? interval[1] : estimate.at("k")},
          {"words",
           fmt::format("Estimated: {} classes in all; the program is {} of it.",
                       estimate.at("k").get<std::int64_t>(), estimate.value("sure", "unsure"))},
          {"curve", curve}};
}

Json skipped_of(const fs::path& file) {
  Json list = Json::array();
  if (!fs::exists(file)) return list;
  const CsvTable table = CsvTable::read(file);
  const std::size_t path = table.column("path"), reason = table.column("reason");
  for (const CsvRow& row : table.rows())
    list.push_back({{"path", row.fields[path]}, {"reason", row.fields[reason]}});
  return list;
}

Json sprites_of(const Sprites& sprites) {
  Json sheets = Json::array();
  for (const std::string& sheet : sprites.sheets)
    sheets.push_back("data:image/jpeg;base64," + base64(sheet));
  return {{"tile", sprites.tile},
          {"columns", sprites.columns},
          {"per_sheet", sprites.per_sheet},
          {"sheets", sheets}};
}

Json summary_of(const Json& result, const fs::path& run) {
  const Json& images = result.at("images");
  const Json machine = fs::exists(run / "run.json") ? read_json(run / "run.json") : Json::object();
  const std::int64_t k = result.at("k"), k_new = result.at("k_new");
  return {{"labelled", images.at("labelled")},
          {"unlabelled", images.at("unlabelled")},
          {"test", images.at("test")},
          {"skipped", images.at("skipped")},
          {"k", k},
          {"k_old", k - k_new},
          {"k_new", k_new},
          {"outliers", result.value("outliers", 0)},
          {"all", number_or_null(result, "all")},
          {"old", number_or_null(result, "old")},
          {"new", number_or_null(result, "new")},
          {"seconds", result.at("seconds")},
          {"epochs", result.at("epochs")},
          {"device", machine.value("device", "") == "cuda" ? "on a GPU"
                     : machine.contains("threads")
                         ? fmt::format("on {} CPU threads", machine.value("threads", "?"))
                         : ""}};
}

}  // namespace

Json report_data(const fs::path& run, const Context& context) {
  for (const char* name : {"result.json", "predictions.csv", "model/model.json"}) {
    if (!fs::exists(run / name)) {
      throw ModelFileError(fmt::format("{}: there is no {} in it", run.string(), name),
                           "a report needs the folder of a finished run");
    }
  }
  const Json result = read_json(run / "result.json");
  const auto classes =
      read_json(run / "model/model.json").at("classes").get<std::vector<std::string>>();
  ImageColumns images = read_predictions(run / "predictions.csv", classes);
  const auto embeddings =
      read_embeddings(run / "embeddings.safetensors", images.path.size(), classes.size());
  if (embeddings) images.truth = embeddings->truths;
  std::vector<fs::path> files;
  for (const std::string& path : images.path) files.push_back((run / path).lexically_normal());
  const Sprites sprites = make_sprites(files, context);
  const auto truth_names = embeddings ? embeddings->truth_names : std::vector<std::string>{};
  const bool any_truth = std::ranges::any_of(images.truth, [](std::int32_t t) { return t >= 0; });
  Json data = {{"title", fs::absolute(run).lexically_normal().filename().string()},
               {"version", fmt::format("protogcd {}", kVersion)},
               {"summary", summary_of(result, run)},
               {"estimate", estimate_of(result)},
               {"classes", classes_of(result, images, embeddings)},
               {"truths", any_truth ? Json(truth_names) : Json::array()},
               {"sprites", sprites_of(sprites)},
               {"map", embeddings ? map_of(*embeddings, context) : Json(nullptr)},
               {"epochs", epochs_of(run / "metrics.jsonl")},
               {"confusion", confusion_of(images, truth_names, classes.size())},
               {"skipped", skipped_of(run / "skipped.csv")},
               {"config", fs::exists(run / "config.toml") ? read_text_file(run / "config.toml")
                                                          : std::string()}};
  data["images"] = {{"path", images.path},
                    {"class", images.label},
                    {"confidence", images.confidence},
                    {"typicality", images.typicality},
                    {"outlier_score", images.outlier_score},
                    {"is_outlier", images.is_outlier},
                    {"truth", images.truth},
                    {"thumbnail", sprites.places}};
  return data;
}

}  // namespace protogcd
