#include "protogcd/report/report_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <sstream>

#include "protogcd/analysis/accuracy.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"
#include "protogcd/core/version.h"
#include "protogcd/data/stored_images.h"
#include "protogcd/image/encode.h"
#include "protogcd/report/base64.h"
#include "protogcd/report/findings_data.h"
#include "protogcd/report/page_images.h"
#include "protogcd/report/sprites.h"
#include "protogcd/run/metrics_file.h"
#include "protogcd/run/run_files.h"
#include "protogcd/run/run_notes.h"
#include "protogcd/run/run_result.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// Of what may be there as a number, or as another word for none.
Json number_or_null(const Json& object, const char* key) {
  return object.contains(key) && object.at(key).is_number() ? object.at(key) : Json(nullptr);
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

Json classes_of(const RunResult& result, const RunContents& run) {
  const std::vector<FoundClass>& found = result.classes;
  const RunImages& images = run.images;
  const std::size_t count = run.classes.size();
  if (found.size() != count) {
    throw ModelFileError(fmt::format("{}: 'classes' does not list the model's {} classes",
                                     (run.folder / run_files::kResult).string(), count));
  }
  std::vector<double> typicality(count);
  for (std::size_t i = 0; i < images.label.size(); ++i)
    typicality[static_cast<std::size_t>(images.label[i])] += images.typicality[i];
  Json classes = Json::array();
  for (std::size_t k = 0; k < count; ++k) {
    const FoundClass& one = found[k];
    const auto members = static_cast<std::int64_t>(one.images);
    classes.push_back(
        {{"name", one.name},
         {"is_new", one.is_new},
         {"images", members},
         {"confidence", one.confidence},
         {"truth", one.truth},
         {"truth_share", one.truth_share},
         {"stability", one.stability ? Json(*one.stability) : Json(nullptr)},
         {"compactness",
          members > 0 ? Json(typicality[k] / static_cast<double>(members)) : Json(nullptr)},
         {"nearest", run.embeddings ? nearest_classes(*run.embeddings, k, count) : Json::array()}});
  }
  return classes;
}

/// Rounded: a map needs no more, and the file is smaller.
Json coordinates(std::span<const float> points) {
  Json list = Json::array();
  for (const float value : points) list.push_back(std::round(1000 * double{value}) / 1000);
  return list;
}

Json map_of(const RunContents& run, const FeatureMap& map, bool is_trained) {
  if (map.after.empty()) return nullptr;
  return {{"rows", run.embeddings->rows},
          {"before", is_trained ? coordinates(map.before) : Json(nullptr)},
          {"after", coordinates(map.after)},
          {"prototypes", coordinates(map.prototypes)}};
}

Json confusion_of(const RunImages& images, const std::vector<std::string>& truth_names,
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

/// The names of the numbers that are terms of the loss, as the run's method declares them; nothing:
/// the run does not say, and all are taken for terms.
std::optional<std::set<std::string>> loss_terms(const fs::path& run_file) {
  if (!fs::exists(run_file)) return std::nullopt;
  const Json json = parse_json_or_discard(read_text_file(run_file));
  if (!json.is_object() || !json.contains("reported") || !json.at("reported").is_array())
    return std::nullopt;
  std::set<std::string> names = {"total"};
  for (const Json& value : json.at("reported")) {
    if (value.is_object() && value.value("kind", Json()) == "loss" &&
        value.value("name", Json()).is_string())
      names.insert(value.at("name").get<std::string>());
  }
  return names;
}

Json epochs_of(const fs::path& file, const fs::path& run_file) {
  const auto terms = loss_terms(run_file);
  Json epochs = Json::array();
  for (const Json& json : read_metrics(file)) {
    const Json train = json.value("train", Json());
    if (!train.is_object()) continue;
    Json loss = Json::object();
    for (const auto& [name, value] : train.items())
      if (!terms || terms->contains(name)) loss[name] = value;
    const Json scores = json.value("unlabelled", Json::object());
    epochs.push_back({{"epoch", json.at("epoch")},
                      {"loss", loss},
                      {"all", number_or_null(scores, "all")},
                      {"old", number_or_null(scores, "old")},
                      {"new", number_or_null(scores, "new")}});
  }
  return epochs;
}

/// The number of classes that was estimated, with the scores as they were measured; clusters are
/// counted on smoothed ones, whose highest point may be another.
Json estimate_of(const RunResult& result) {
  if (!result.estimate) return nullptr;
  const ClassNumber& estimate = *result.estimate;
  const bool has_labels = estimate.k_old > 0;
  Json curve = Json::array();
  for (const ClassNumberPoint& point : estimate.curve) {
    double score = point.log_score;
    if (std::isfinite(point.silhouette) && (std::isfinite(point.frozen_accuracy) || !has_labels)) {
      score = point.silhouette *
              (has_labels ? std::pow(std::max(point.frozen_accuracy, 0.0), 0.25) : 1);
    }
    if (std::isfinite(score)) curve.push_back({{"k", point.k}, {"score", score}});
  }
  return {{"k", estimate.k},
          {"low", estimate.low},
          {"high", estimate.high},
          {"words",
           fmt::format("{}. {}.",
                       estimate.says_nothing()
                           ? fmt::format("Nothing can be said about the number of classes: {} is a "
                                         "guess",
                                         estimate.k)
                           : fmt::format("Estimated: {} classes in all; the program is {} of it",
                                         estimate.k, in_words(estimate.sureness)),
                       estimate.reason_in_words())},
          {"by", in_words(estimate.basis)},
          {"seconds", estimate.seconds},
          {"curve", curve}};
}

/// The settings that were tried, and what came of it.
Json tuning_of(const RunResult& result) {
  if (!result.tuning) return nullptr;
  std::string words = result.tuning->in_words();
  words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
  return {{"words", words}, {"seconds", result.tuning->seconds}};
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

std::string base64_of(const std::vector<std::uint8_t>& bytes) {
  return base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// The views stand below each other in one picture.
Json attention_of(const AttentionMaps& maps) {
  const auto side = static_cast<int>(maps.side);
  Image sheet(side, side * static_cast<int>(maps.images.size()));
  std::ranges::copy(maps.views, sheet.pixels.begin());
  return {{"images", maps.images},
          {"side", maps.side},
          {"heads", maps.heads},
          {"rows", maps.rows},
          {"columns", maps.columns},
          {"views", base64(encode_jpeg(sheet, {.quality = 85}))},
          {"before", base64_of(maps.before)},
          {"after", base64_of(maps.after)}};
}

/// What it ran on, in words; nothing where that is not known.
std::string device_of(const fs::path& file) {
  std::string words;
  if (!fs::exists(file)) return words;
  use_json_file(file, [&](const Json& machine) {
    check_format(machine, kRunFormat, file.string());
    const std::string device = machine.value("device", ""), threads = machine.value("threads", "");
    if (device == "cuda") {
      words = "on a GPU";
    } else if (!threads.empty()) {
      words = fmt::format("on {} CPU threads", threads);
    }
  });
  return words;
}

/// As the command line spells options: the page speaks of commands.
std::string kebab_flag(std::string_view key) {
  return "--" + kebab_case(key);
}

Json summary_of(const RunResult& result, const fs::path& run) {
  const Json scores = to_json(result.on_unlabelled);
  return {{"labelled", result.labelled},
          {"unlabelled", result.unlabelled},
          {"test", result.test},
          {"skipped", result.skipped},
          {"k", result.k},
          {"k_old", result.k_old},
          {"k_new", result.k - result.k_old},
          {"outliers", result.outliers},
          {"outliers_in_words", outliers_in_words(result, kebab_flag)},
          {"suspect", suspect_in_words(result)},
          {"confidence", result.confidence ? result.confidence->in_words() : ""},
          {"all", number_or_null(scores, "all")},
          {"old", number_or_null(scores, "old")},
          {"new", number_or_null(scores, "new")},
          {"intervals", scores.value("intervals", Json(nullptr))},
          {"seconds", result.seconds},
          {"epochs", result.epochs},
          {"next", result.next},
          {"device", device_of(run / run_files::kRun)}};
}

/// Last and best epochs, as result.json has them.
Json by_epoch_of(const RunResult& result) {
  if (!result.by_epoch) return nullptr;
  Json json;
  add_to_json(*result.by_epoch, json);
  return json;
}

/// Sheets of thumbnails, and the place of each image on them.
Sprites thumbnails_of(const RunContents& run, const Context& context) {
  const auto order = thumbnail_order(run.images, run.classes.size());
  std::vector<fs::path> files;
  for (const std::size_t image : order) files.push_back(run.files()[image]);
  Sprites sprites = make_sprites(files, context);
  std::vector<std::int32_t> places(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = sprites.places[i];
  sprites.places = std::move(places);
  return sprites;
}

/// Three digits: as many as anybody reads.
Json rounded(std::span<const double> values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(std::round(1000 * value) / 1000);
  return list;
}

Json likely_of(const RunImages& images) {
  if (images.likeliest == 0) return nullptr;
  return {{"count", images.likeliest},
          {"class", images.likely_class},
          {"probability", rounded(images.probability)}};
}

/// What a person should label next, in pictures that are large enough for that.
Json queue_of(const RunContents& run) {
  constexpr int kMostPixels = 256;
  StoredImages stored;
  Json queue = Json::array();
  for (const QueueEntry& next : run.queue) {
    queue.push_back(
        {{"image", next.image},
         {"why", next.why},
         {"picture", base64(picture_of(stored, run.files()[next.image], kMostPixels))}});
  }
  return queue;
}

/// Without a slash at its end.
fs::path absolute_folder(const fs::path& folder) {
  const fs::path full = fs::absolute(folder).lexically_normal();
  return full.has_filename() ? full : full.parent_path();
}

/// A browser keeps corrections by the id: another for every run, but the same wherever its folder
/// lies and however often its page is made.
Json identity_of(const fs::path& folder, const std::string& config) {
  return {{"id", sha256_hex(sha256_file(folder / run_files::kPredictions) + config)},
          {"folder", absolute_folder(folder).string()}};
}

}  // namespace

Json report_data(const RunContents& run, const FeatureMap& map, const Context& context) {
  const fs::path& folder = run.folder;
  const auto& embeddings = run.embeddings;
  // Classes and their confusion are those of all images.
  const std::size_t total = run.images.path.size();
  const std::optional<RunContents> sample =
      total > kMostOnPage ? std::optional(page_sample(run, kMostOnPage)) : std::nullopt;
  const RunContents& shown = sample ? *sample : run;
  const RunImages& images = shown.images;
  if (sample) {
    context.log.info(fmt::format("the page shows {} of the {} images (predictions.csv has all)",
                                 images.path.size(), total));
  }
  const fs::path config_file = folder / run_files::kConfig;
  const std::string config = fs::exists(config_file) ? read_text_file(config_file) : "";
  const RunResult result = read_result(folder / run_files::kResult);
  Json data = {{"summary", summary_of(result, folder)},
               {"estimate", estimate_of(result)},
               {"tuning", tuning_of(result)},
               {"classes", classes_of(result, run)}};
  const Sprites sprites = thumbnails_of(shown, context);
  const auto truth_names = embeddings ? embeddings->truth_names : std::vector<std::string>{};
  data.update(Json{{"title", absolute_folder(folder).filename().string()},
                   {"run", identity_of(folder, config)},
                   {"version", fmt::format("protogcd {}", kVersion)},
                   {"truths", run.has_truth() ? Json(truth_names) : Json::array()},
                   {"sprites", sprites_data(sprites)},
                   {"map", map_of(shown, map, result.epochs > 0)},
                   {"attention", shown.attention ? attention_of(*shown.attention) : Json(nullptr)},
                   {"epochs", epochs_of(folder / run_files::kMetrics, folder / run_files::kRun)},
                   {"by_epoch", by_epoch_of(result)},
                   {"queue", queue_of(shown)},
                   {"likely", likely_of(images)},
                   {"confusion", confusion_of(run.images, truth_names, run.classes.size())},
                   {"skipped", skipped_of(folder / run_files::kSkipped)},
                   {"findings", findings_data(run, result, context)},
                   {"config", config}});
  data["images"] = {{"total", total},
                    {"path", images.path},
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
