#include "tests/report/finished_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <vector>

#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/random.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/image/encode.h"
#include "protogcd/run/findings_file.h"
#include "protogcd/run/label_next.h"
#include "tests/support/run_program.h"

namespace protogcd::testing {

RunNames usual_names() {
  const std::vector<std::string> classes = {kHostile, "owl", "new-01", "new-02"};
  return {classes, classes,
          [](int i) { return fmt::format("images/{:02} \"quoted\" <b>&'.png", i); }};
}

RunNames hostile_names() {
  const auto names =
      nlohmann::json::parse(read_text_file(source_folder() + "/tests/report/hostile_names.json"))
          .get<std::vector<std::string>>();
  std::vector<std::string> truths = names;
  std::ranges::rotate(truths, truths.begin() + 7);
  return {names, truths, [names](int i) {
            const std::string& name = names[static_cast<std::size_t>(i) % names.size()];
            return fmt::format("images/{:02} {}{}.png", i, name, i == 1 ? "\xff\xc0" : "");
          }};
}

void write_run(const std::filesystem::path& run, bool older, const RunNames& names) {
  create_folders(run / "model");
  create_folders(run / "images");
  const std::vector<std::string>& classes = names.classes;
  const auto count = static_cast<int>(classes.size());
  write_file_atomically(run / "model/model.json", nlohmann::json{{"classes", classes}}.dump());
  std::vector<std::string> columns = {"path",       "class",         "is_new",    "confidence",
                                      "typicality", "outlier_score", "is_outlier"};
  if (!older) columns.insert(columns.end(), {"class_1", "p_1", "class_2", "p_2", "class_3", "p_3"});
  CsvWriter predictions(run / "predictions.csv", columns);
  RandomStream random({.seed = 5});
  std::vector<std::uint16_t> before, after;
  std::vector<std::int64_t> rows;
  std::vector<std::int32_t> truths;
  constexpr std::uint16_t kOne = 0x3c00, kTenth = 0x2e66;  // 1 and 0.1 in half precision
  for (int i = 0; i < kImages; ++i) {
    const int k = i % count;
    const std::string name = names.image(i);
    Image image(20, 30);
    for (std::size_t p = 0; p < image.pixels.size(); ++p)
      image.pixels[p] = static_cast<std::uint8_t>(60 * (k % 4) + p % 50);
    create_folders((run / name).parent_path());  // a name with a slash
    write_png(run / name, image);
    const auto class_after = [&](int steps) {
      return classes[static_cast<std::size_t>((k + steps) % count)];
    };
    std::vector<std::string> row = {name,
                                    class_after(0),
                                    2 * k >= count ? "1" : "0",
                                    "0.9",
                                    fmt::format("{}", 0.5 + 0.004 * i),
                                    fmt::format("{}", -0.01 * i),
                                    i % 10 == 0 ? "1" : "0"};
    if (!older) {
      row.insert(row.end(),
                 {class_after(0), "0.9", class_after(1), "0.0954", class_after(2), "0.0046"});
    }
    predictions.row(row);
    rows.push_back(i);
    truths.push_back(k);
    for (int d = 0; d < kWidth; ++d) {
      const bool own = d == k % kWidth || random.chance(0.1);
      after.push_back(own ? kOne : kTenth);
      before.push_back(random.chance(0.5) ? kOne : kTenth);
    }
  }
  predictions.commit();
  if (!older) {
    const auto next = [&](int image, const std::string& why) {
      return LabelNext{.path = names.image(image),
                       .class_name = classes[static_cast<std::size_t>(image % count)],
                       .why = why};
    };
    write_label_next(run / "label-next.csv", {next(6, classes[2] + " has no label yet"),
                                              next(40, "hardly told from " + classes[0]),
                                              next(3, classes[3] + " has no label yet")});
  }
  std::vector<float> prototypes(classes.size() * kWidth, 0.1f);
  for (std::size_t k = 0; k < classes.size(); ++k) prototypes[k * kWidth + k % kWidth] = 1;
  const auto entry = [](const char* name, ElementType type, std::vector<std::int64_t> shape,
                        const auto& values) {
    return TensorEntry{name, type, std::move(shape), std::as_bytes(std::span(values))};
  };
  const TensorEntry entries[] = {
      entry("rows", ElementType::kInt64, {kImages}, rows),
      entry("before", ElementType::kFloat16, {kImages, kWidth}, before),
      entry("after", ElementType::kFloat16, {kImages, kWidth}, after),
      entry("prototypes", ElementType::kFloat32, {count, kWidth}, prototypes),
      entry("truths", ElementType::kInt32, {kImages}, truths)};
  write_safetensors(run / "embeddings.safetensors", entries,
                    {{"classes", nlohmann::json(names.truths).dump()}});
  const std::vector<std::int64_t> looked_at = {0, 2, 40};
  const std::vector<std::uint8_t> views(3 * 8 * 8 * 3, 90);
  std::vector<std::uint8_t> looks_before(3 * 2 * 4 * 4, 255), looks_after(3 * 2 * 4 * 4, 0);
  for (std::size_t map = 0; map < 6; ++map) looks_after[16 * map + 15] = 255;  // bottom right
  const TensorEntry attention[] = {entry("rows", ElementType::kInt64, {3}, looked_at),
                                   entry("views", ElementType::kUint8, {3, 8, 8, 3}, views),
                                   entry("before", ElementType::kUint8, {3, 2, 4, 4}, looks_before),
                                   entry("after", ElementType::kUint8, {3, 2, 4, 4}, looks_after)};
  write_safetensors(run / "attention.safetensors", attention);
  nlohmann::json result = {
      {"all", 97.5},
      {"old", 98.0},
      {"new", 97.0},
      {"k", count},
      {"k_new", count / 2},
      {"outliers", 8},
      {"seconds", 12.5},
      {"epochs", 3},
      {"images", {{"labelled", 10}, {"unlabelled", kImages}, {"test", 0}, {"skipped", 1}}},
      {"classes", nlohmann::json::array()}};
  result["confidence_calibration"] = {{"old_temperature", 0.1},
                                      {"new_temperature", 0.2},
                                      {"images", 50},
                                      {"error_before", 0.21},
                                      {"error_after", 0.043}};
  nlohmann::json curve = nlohmann::json::array();  // smoothed, 4 is the highest
  for (const auto& [k, silhouette] : {std::pair(3, 0.2), {4, 0.5}, {5, 0.52}})
    curve.push_back({{"k", k},
                     {"silhouette", silhouette},
                     {"frozen_accuracy", 1.0},
                     {"acc_score", nullptr},
                     {"log_centr_score", nullptr},
                     {"log_proto_score", nullptr}});
  result["estimate"] = {{"k", 4},
                        {"k_old", 2},
                        {"k_new", 2},
                        {"interval", {3, 5}},
                        {"sure", "fairly sure"},
                        {"by", "clusters"},
                        {"is_largest", false},
                        {"seconds", 9},
                        {"curve", curve}};
  const nlohmann::json usual = {{"weight", 1}, {"borrow", 1}},
                       doubled = {{"weight", 2}, {"borrow", 1}};
  nlohmann::json trials = nlohmann::json::array();
  for (const auto& [times, score] : {std::pair(usual, 0.5), {doubled, 0.6}})
    trials.push_back({{"times", times},
                      {"draw", 0},
                      {"epochs", 6},
                      {"last", true},
                      {"old", score},
                      {"new", score},
                      {"score", score}});
  result["tuning"] = {{"times", doubled}, {"option", "lambda_entropy"},
                      {"weight", 3},      {"borrow", 1},
                      {"classes", 4},     {"hidden", 1},
                      {"rival", doubled}, {"gain", 0.1},
                      {"error", 0.02},    {"margin", 0.01},
                      {"trials", trials}, {"seconds", 5}};
  for (std::size_t k = 0; k < classes.size(); ++k)
    result["classes"].push_back({{"name", classes[k]},
                                 {"is_new", 2 * k >= classes.size()},
                                 {"truth", names.truths[k]},
                                 {"truth_share", 0.95},
                                 {"images", kImages / count},
                                 {"confidence", 0.9}});
  if (!older) {
    result["intervals"] = {{"all", {95.9, 98.8}}, {"old", {96.0, 99.5}}, {"new", {95.0, 99.0}}};
    result["evaluated_epochs"] = 3;
    const nlohmann::json last = {
        {"all", 97.5}, {"old", 98.0}, {"new", nullptr}, {"intervals", {{"all", {95.9, 98.8}}}}};
    const nlohmann::json best = {{"all", 98.5}, {"old", 98.0}, {"new", 99.0}};
    result["last"] = {{"epoch", 2}, {"unlabelled", last}};
    result["best_on_unlabelled"] = {{"epoch", 1}, {"unlabelled", best}};
    for (std::size_t k = 0; k < classes.size(); ++k)
      result["classes"][k]["stability"] = 0.9 - 0.2 * static_cast<double>(k % 4);
  }
  write_file_atomically(run / "result.json", result.dump());
  std::string metrics;
  for (int epoch = 0; epoch < 3; ++epoch) {
    metrics += nlohmann::json{{"epoch", epoch},
                              {"train", {{"total", 3 - epoch}, {"dapl", 1}}},
                              {"unlabelled", {{"all", 90 + epoch}, {"old", 91}, {"new", 89}}}}
                   .dump() +
               "\n";
  }
  write_file_atomically(run / "metrics.jsonl", metrics);
  result["findings"] = {{"label-error", 1}, {"near-duplicate", 40},
                        {"dark", 1},        {"blurred", 0},
                        {"tiny", 0},        {"duplicates_unchecked", "<u>too many</u>"}};
  write_file_atomically(run / "result.json", result.dump());
  std::vector<Finding> findings = {{.kind = FindingKind::kLabelError,
                                    .path = names.image(4),
                                    .set = "labelled",
                                    .class_name = classes[1],
                                    .other = classes[0],
                                    .score = 0.7},
                                   {.kind = FindingKind::kDark,
                                    .path = "javascript:window.hacked=3",
                                    .set = "unlabelled",
                                    .class_name = "",
                                    .other = "",
                                    .score = 12}};
  for (int i = 0; i < 40; ++i) {  // the last one has another class than what it repeats
    findings.push_back({.kind = FindingKind::kNearDuplicate,
                        .path = names.image(5 + i),
                        .set = "labelled",
                        .class_name = classes[1],
                        .other = names.image(4),
                        .other_class = i == 39 ? "eagle" : classes[1],
                        .score = 0.99});
  }
  write_findings(run / "findings.csv", findings);
  write_file_atomically(run / "skipped.csv", "path,reason\n\"<i>broken</i>.jpg\",\"not a JPEG\"\n");
  write_file_atomically(run / "config.toml", "k = 4 # </script>\n");
}

}  // namespace protogcd::testing
