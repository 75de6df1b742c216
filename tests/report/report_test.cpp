// What is written into the report page, and what a run exports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/image/decode.h"
#include "protogcd/report/base64.h"
#include "protogcd/report/page.h"
#include "protogcd/report/page_images.h"
#include "protogcd/report/report.h"
#include "protogcd/report/report_data.h"
#include "protogcd/report/run_export.h"
#include "protogcd/report/sprites.h"
#include "tests/report/finished_run.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensorboard.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;
using testing::kHostile;
using testing::kImages;
using testing::kWidth;
using ::testing::Not;
using testing::TemporaryFolder;
using testing::write_run;

nlohmann::json data_of(const std::filesystem::path& folder) {
  const RunContents run = read_run(folder);
  return report_data(run, feature_map(run, Context{}), Context{});
}

TEST(Base64, FollowsTheStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64(std::string("\xff\x00\xfe", 3)), "/wD+");
}

TEST(ReportData, HoldsWhatTheRunFound) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  const auto data = data_of(folder / "run");
  EXPECT_EQ(data.at("summary").at("k_new"), 2);
  EXPECT_EQ(data.at("summary").at("intervals").at("new"), nlohmann::json({95.0, 99.0}));
  EXPECT_EQ(data.at("by_epoch").at("best_on_unlabelled").at("epoch"), 1);
  EXPECT_EQ(data.at("by_epoch").at("last").at("unlabelled").at("all"), 97.5);
  EXPECT_EQ(data.at("classes").size(), 4u);
  EXPECT_EQ(data.at("classes")[2].at("stability"), 0.5);
  EXPECT_EQ(data.at("images").at("path").size(), static_cast<std::size_t>(kImages));
  EXPECT_EQ(data.at("images").at("truth")[5], 1);
  const std::set<int> places = data.at("images").at("thumbnail");
  EXPECT_EQ(places.size(), static_cast<std::size_t>(kImages));
  EXPECT_GE(*places.begin(), 0);
  // The four most and least typical images of each of four classes: they are on the cards.
  for (const int image : {0, 15, 64, 79}) EXPECT_LT(data.at("images").at("thumbnail")[image], 32);
  EXPECT_EQ(data.at("map").at("after").size(), 2u * kImages);
  EXPECT_EQ(data.at("map").at("prototypes").size(), 8u);
  EXPECT_EQ(data.at("confusion").at("counts")[3][3], 20);
  EXPECT_EQ(data.at("attention").at("images"), nlohmann::json({0, 2, 40}));
  EXPECT_EQ(data.at("attention").at("heads"), 2);
  EXPECT_EQ(data.at("attention").at("after").get<std::string>().size(), 3 * 2 * 4 * 4 / 3 * 4u);
  EXPECT_EQ(data.at("estimate").at("curve")[1], (nlohmann::json{{"k", 4}, {"score", 0.5}}));
  EXPECT_EQ(data.at("estimate").at("high"), 5);
  EXPECT_THAT(data.at("tuning").at("words").get<std::string>(),
              ::testing::AllOf(::testing::StartsWith("Settings were tried"),
                               ::testing::HasSubstr("it is taken: lambda_entropy 3")));
  EXPECT_EQ(data.at("epochs").size(), 3u);
  EXPECT_EQ(data.at("skipped")[0].at("reason"), "not a JPEG");
  // All prototypes are equally far from each other.
  EXPECT_EQ(data.at("classes")[0].at("nearest").size(), 3u);
}

TEST(ReportData, HoldsTheLikeliestClassesAndTheQueueInItsOrder) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  const auto data = data_of(folder / "run");
  EXPECT_EQ(data.at("likely").at("count"), 3);
  EXPECT_EQ(data.at("likely").at("class").size(), 3u * kImages);
  EXPECT_EQ(data.at("likely").at("class")[3 * 3 + 1], 0);  // after the last class comes the first
  EXPECT_EQ(data.at("likely").at("probability")[3 * 3 + 1], 0.095);
  ASSERT_EQ(data.at("queue").size(), 3u);
  EXPECT_EQ(data.at("queue")[0].at("image"), 6);
  EXPECT_EQ(data.at("queue")[1].at("why"), "hardly told from " + kHostile);
  const std::string picture = data.at("queue")[2].at("picture");
  EXPECT_TRUE(picture.starts_with("/9j/")) << picture.substr(0, 8);  // a JPEG file

  std::filesystem::remove_all(folder / "run/images");
  EXPECT_EQ(data_of(folder / "run").at("queue")[0].at("picture"), "");

  write_file_atomically(folder / "run/label-next.csv",
                        "rank,path,class,confidence,why\n1,gone.png,owl,0.5,\n");
  try {
    data_of(folder / "run");
    FAIL() << "took an image that is not there";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("label-next.csv"), HasSubstr("gone.png")));
  }
}

TEST(ReportData, AnOlderRunTellsNeitherLikeliestClassesNorAQueue) {
  const TemporaryFolder folder;
  write_run(folder / "run", /*older=*/true);
  const auto data = data_of(folder / "run");
  EXPECT_TRUE(data.at("by_epoch").is_null());
  EXPECT_TRUE(data.at("summary").at("intervals").is_null());
  EXPECT_TRUE(data.at("likely").is_null());
  EXPECT_EQ(data.at("queue"), nlohmann::json::array());
}

TEST(ReportData, HoldsAFewFindingsOfEachKindTheWorstFirst) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  const auto findings = data_of(folder / "run").at("findings");
  const auto& images = findings.at("images");
  const auto& errors = findings.at("kinds")[0];
  EXPECT_EQ(errors.at("kind"), "label-error");
  EXPECT_EQ(errors.at("shown")[0].at("class"), "owl");
  EXPECT_EQ(errors.at("shown")[0].at("other_class"), kHostile);
  const std::size_t image = errors.at("shown")[0].at("image");
  EXPECT_EQ(images.at("path")[image], "images/04 \"quoted\" <b>&'.png");
  EXPECT_GE(images.at("thumbnail")[image], 0);
  EXPECT_EQ(images.at("link")[image], "file://" + (folder / "run").string() +
                                          "/images/04%20%22quoted%22%20%3Cb%3E%26%27.png");
  const auto& twice = findings.at("kinds")[1];
  EXPECT_EQ(twice.at("count"), 40);
  EXPECT_EQ(twice.at("shown").size(), 36u);
  EXPECT_EQ(twice.at("shown")[0].at("other_class"), "eagle");  // two classes for one picture
  EXPECT_EQ(twice.at("shown")[0].at("repeats"), image);
  const std::size_t missing = findings.at("kinds")[2].at("shown")[0].at("image");
  EXPECT_EQ(images.at("thumbnail")[missing], -1);
  EXPECT_EQ(images.at("link")[missing], "");
  std::filesystem::remove(folder / "run/findings.csv");  // as older runs are
  EXPECT_TRUE(data_of(folder / "run").at("findings").is_null());
  write_file_atomically(folder / "run/findings.csv",
                        "finding,path,set,class,other,other_class,score\nodd,a,b,c,d,e,1\n");
  EXPECT_THROW(data_of(folder / "run"), DataError);
}

TEST(ReportData, TellsRunsApartByWhatTheyFound) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  const auto id = [&](const char* name) { return data_of(folder / name).at("run").at("id"); };
  const auto first = id("run");
  std::filesystem::rename(folder / "run", folder / "moved");
  EXPECT_EQ(id("moved"), first);
  EXPECT_EQ(data_of(folder / "moved/").at("run").at("folder"), (folder / "moved").string());
  EXPECT_EQ(data_of(folder / "moved/").at("title"), "moved");
  write_file_atomically(folder / "moved/config.toml", "k = 5\n");
  const auto second = id("moved");
  EXPECT_NE(second, first);
  const std::filesystem::path predictions = folder / "moved/predictions.csv";
  write_file_atomically(predictions, read_text_file(predictions) + "\n");
  EXPECT_NE(id("moved"), second);
}

TEST(ReportData, ARunWithoutAttentionHasNoSuchSection) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  std::filesystem::remove(folder / "run/attention.safetensors");
  EXPECT_TRUE(data_of(folder / "run").at("attention").is_null());
}

TEST(ReportData, AttentionThatDoesNotFitIsNamed) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  const std::vector<std::int64_t> beyond = {kImages};
  const std::vector<std::uint8_t> bytes(192);
  const auto write = [&](const std::vector<std::int64_t>& rows, std::vector<std::int64_t> views,
                         std::vector<std::int64_t> after) {
    const auto all = std::as_bytes(std::span(bytes));
    const auto entry = [&](const char* name, const std::vector<std::int64_t>& shape) {
      std::size_t size = 1;
      for (const std::int64_t n : shape) size *= static_cast<std::size_t>(n);
      return TensorEntry{name, ElementType::kUint8, shape, all.first(size)};
    };
    const TensorEntry entries[] = {
        TensorEntry{"rows", ElementType::kInt64, {1}, std::as_bytes(std::span(rows))},
        entry("views", views), entry("before", {1, 2, 4, 4}), entry("after", after)};
    write_safetensors(folder / "run/attention.safetensors", entries);
  };
  write({5}, {1, 8, 8, 3}, {1, 2, 4, 4});
  EXPECT_NO_THROW(data_of(folder / "run"));
  write(beyond, {1, 8, 8, 3}, {1, 2, 4, 4});
  EXPECT_THROW(data_of(folder / "run"), ModelFileError);
  write({5}, {1, 8, 4, 3}, {1, 2, 4, 4});
  EXPECT_THROW(data_of(folder / "run"), ModelFileError);
  write({5}, {1, 8, 8, 3}, {1, 1, 4, 4});
  EXPECT_THROW(data_of(folder / "run"), ModelFileError);
}

TEST(ReportData, MoreAttentionThanAPictureHoldsIsNamed) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  constexpr std::int64_t kMany = 8188, kSide = 8;  // 65,504 pixels: more than a JPEG file may have
  const std::vector<std::int64_t> rows(kMany);
  const std::vector<std::uint8_t> views(kMany * kSide * kSide * 3), maps(kMany);
  const auto all = [](const auto& values) { return std::as_bytes(std::span(values)); };
  const TensorEntry entries[] = {
      {"rows", ElementType::kInt64, {kMany}, all(rows)},
      {"views", ElementType::kUint8, {kMany, kSide, kSide, 3}, all(views)},
      {"before", ElementType::kUint8, {kMany, 1, 1, 1}, all(maps)},
      {"after", ElementType::kUint8, {kMany, 1, 1, 1}, all(maps)}};
  write_safetensors(folder / "run/attention.safetensors", entries);
  try {
    report_data(read_run(folder / "run"), {}, Context{});
    FAIL() << "took more than a picture holds";
  } catch (const ModelFileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("attention.safetensors"));
  }
}

TEST(ReportData, ARunWithoutEmbeddingsHasNoMap) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  std::filesystem::remove(folder / "run/embeddings.safetensors");
  const auto data = data_of(folder / "run");
  EXPECT_TRUE(data.at("map").is_null());
  EXPECT_TRUE(data.at("confusion").is_null());
}

TEST(ReportData, WhatIsMissingOrDoesNotFitIsNamed) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  std::filesystem::remove(folder / "run/result.json");
  try {
    data_of(folder / "run");
    FAIL() << "took a run without result";
  } catch (const ModelFileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("result.json"));
  }
  write_run(folder / "other");
  std::string text = read_text_file(folder / "other/predictions.csv");
  write_file_atomically(folder / "other/predictions.csv", text.substr(0, text.rfind("\"images/")));
  EXPECT_THROW(data_of(folder / "other"), ModelFileError);
}

TEST(ReportData, DamagedJsonIsNamed) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  const auto read = [&] { return report_data(read_run(folder / "run"), {}, Context{}); };
  const auto refused = [&](const std::string& name, const std::string& text) {
    const std::string good = read_text_file(folder / "run" / name);
    write_file_atomically(folder / "run" / name, text);
    try {
      read();
      ADD_FAILURE() << "took " << name << ": " << text;
    } catch (const ModelFileError& error) {
      EXPECT_THAT(error.what(), HasSubstr(name));
    } catch (const std::exception& error) {
      ADD_FAILURE() << name << ": " << text << ": " << error.what();
    }
    write_file_atomically(folder / "run" / name, good);
  };
  for (const char* text : {"{", "{}", "[]", "null", R"({"classes": 3})", R"({"classes": [1, 2]})"})
    refused("model/model.json", text);
  for (const char* text : {"{", "{}", "[]", "null"}) refused("result.json", text);
  write_file_atomically(folder / "run/run.json", R"({"device": "cpu", "threads": "2"})");
  EXPECT_EQ(read().at("summary").at("device"), "on 2 CPU threads");
  for (const char* text : {"[]", R"({"device": 3})", R"({"threads": []})", R"({"format": 2})"})
    refused("run.json", text);
  using Json = nlohmann::json;
  const Json result = Json::parse(read_text_file(folder / "run/result.json"));
  const Json one = result.at("classes")[0];
  for (const Json& classes :
       {Json::array(), Json(3), Json{one}, Json{one, one, one, one, one}, Json{one, one, one, 4}}) {
    Json damaged = result;
    damaged["classes"] = classes;
    refused("result.json", damaged.dump());
  }
  for (const auto& [pointer, value] :
       std::initializer_list<std::pair<const char*, Json>>{{"/classes/1/name", 5},
                                                           {"/classes/1/is_new", "no"},
                                                           {"/classes/1/images", nullptr},
                                                           {"/classes/1/confidence", "high"},
                                                           {"/k", "four"},
                                                           {"/images", 80},
                                                           {"/images/unlabelled", Json::array()},
                                                           {"/seconds", "long"},
                                                           {"/estimate", 4},
                                                           {"/estimate/k", "four"},
                                                           {"/estimate/interval", {"low", "high"}},
                                                           {"/estimate/curve/0/k", nullptr},
                                                           {"/tuning", "none"},
                                                           {"/tuning/times", 2},
                                                           {"/tuning/trials/0/score", "high"}}) {
    Json damaged = result;
    damaged[Json::json_pointer(pointer)] = value;
    refused("result.json", damaged.dump());
  }
  EXPECT_NO_THROW(read());
}

TEST(ReportData, LinesOfMetricsThatAreNoneAreLeftOut) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  const std::string good = read_text_file(folder / "run/metrics.jsonl");
  write_file_atomically(folder / "run/metrics.jsonl",
                        good + "{\"epoch\": 3, \"train\": 4}\n{\"epoch\": 3, \"tr");
  EXPECT_EQ(data_of(folder / "run").at("epochs").size(), 3u);
}

TEST(PageSample, KeepsWhatThePageSpeaksOfAndOthersEvenly) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  RunContents run = read_run(folder / "run");
  run.embeddings->rows.resize(20);  // of many images some are on the map
  const RunContents sample = page_sample(run, 60);
  const std::size_t shown = sample.images.path.size();
  EXPECT_LE(shown, 60u);
  EXPECT_GT(shown, 40u);
  const auto place_of = [&](const std::string& path) {
    return std::ranges::find(run.images.path, path) - run.images.path.begin();
  };
  // Every image is the one that it was.
  for (std::size_t i = 0; i < shown; ++i) {
    const auto was = static_cast<std::size_t>(place_of(sample.images.path[i]));
    ASSERT_LT(was, run.images.path.size());
    EXPECT_EQ(sample.files()[i], run.files()[was]);
    EXPECT_EQ(sample.images.label[i], run.images.label[was]);
    EXPECT_EQ(sample.images.truth[i], run.images.truth[was]);
    EXPECT_EQ(sample.images.typicality[i], run.images.typicality[was]);
    EXPECT_EQ(sample.images.is_outlier[i], run.images.is_outlier[was]);
    for (std::size_t c = 0; c < run.images.likeliest; ++c)
      EXPECT_EQ(sample.images.probability[i * run.images.likeliest + c],
                run.images.probability[was * run.images.likeliest + c]);
  }
  // What names images names the same ones.
  ASSERT_EQ(sample.embeddings->rows.size(), run.embeddings->rows.size());
  for (std::size_t i = 0; i < run.embeddings->rows.size(); ++i)
    EXPECT_EQ(sample.images.path[static_cast<std::size_t>(sample.embeddings->rows[i])],
              run.images.path[static_cast<std::size_t>(run.embeddings->rows[i])]);
  ASSERT_EQ(sample.queue.size(), run.queue.size());
  for (std::size_t i = 0; i < run.queue.size(); ++i)
    EXPECT_EQ(sample.images.path[sample.queue[i].image], run.images.path[run.queue[i].image]);
  ASSERT_EQ(sample.attention.has_value(), run.attention.has_value());
  for (std::size_t i = 0; run.attention && i < run.attention->images.size(); ++i)
    EXPECT_EQ(sample.images.path[static_cast<std::size_t>(sample.attention->images[i])],
              run.images.path[static_cast<std::size_t>(run.attention->images[i])]);
  // The most and the least typical image of each class are on its card.
  for (std::int32_t k = 0; k < 4; ++k) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < run.images.path.size(); ++i)
      if (run.images.label[i] == k) members.push_back(i);
    const auto [least, most] =
        std::ranges::minmax_element(members, {}, [&](auto i) { return run.images.typicality[i]; });
    for (const std::size_t image : {*least, *most})
      EXPECT_THAT(sample.images.path, ::testing::Contains(run.images.path[image]));
  }
}

TEST(RunContents, ImagesThatWereMovedAreFoundBelowTheirNewFolder) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  create_folders(folder / "new/place");
  std::filesystem::rename(folder / "run/images", folder / "new/place/images");
  const auto places = [&](const std::filesystem::path& root) {
    const RunContents run = read_run(folder / "run", root);
    return report_data(run, {}, Context{}).at("images").at("thumbnail").get<std::set<int>>();
  };
  EXPECT_EQ(places({}), std::set<int>{-1});
  EXPECT_EQ(places(folder / "new"), std::set<int>{-1});
  EXPECT_EQ(places(folder / "new/place").size(), static_cast<std::size_t>(kImages));
  EXPECT_EQ(places(folder / "new/place/images").size(), static_cast<std::size_t>(kImages));
  const auto result = testing::run_protogcd(
      {"report", folder / "run", "--images-root", folder / "nowhere", "--log-level", "error"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("--images-root"));
}

TEST(RunContents, TheCommandLineSaysHowManyMovedImagesWereFound) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  create_folders(folder / "new");
  std::filesystem::rename(folder / "run/images", folder / "new/images");
  std::filesystem::remove(folder / "new/images/07 \"quoted\" <b>&'.png");
  const auto result = testing::run_protogcd(
      {"report", folder / "run", "--images-root", folder / "new", "--out", folder / "page.html"});
  EXPECT_THAT(result.errors, HasSubstr("79 of 80 images were found"));
  EXPECT_THAT(result.errors, HasSubstr("1 is missing"));
}

TEST(TsvField, IsOneFieldOfValidText) {
  EXPECT_EQ(tsv_field("owl, \"barn\""), "owl, \"barn\"");
  EXPECT_EQ(tsv_field("a\tb\r\nc"), "a b  c");
  EXPECT_EQ(tsv_field("\xff!"), "\xef\xbf\xbd!");
  EXPECT_EQ(tsv_field(""), "");
}

TEST(RunExport, TablesNameEveryImageWithWhatWasFound) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  const RunContents run = read_run(folder / "run");
  const FeatureMap map = feature_map(run, Context{});
  export_run(run, map, folder / "out", Context{});
  const CsvTable table = CsvTable::read(folder / "out/images.csv");
  ASSERT_EQ(table.rows().size(), static_cast<std::size_t>(kImages));
  const auto field = [&](std::size_t row, const char* column) {
    return table.rows()[row].fields[table.column(column)];
  };
  EXPECT_TRUE(std::filesystem::exists(field(7, "filepath"))) << field(7, "filepath");
  EXPECT_TRUE(std::filesystem::path(field(7, "filepath")).is_absolute());
  EXPECT_EQ(field(0, "predicted"), kHostile);
  EXPECT_EQ(field(0, "is_new"), "0");
  EXPECT_EQ(field(1, "truth"), "owl");
  EXPECT_EQ(field(2, "is_new"), "1");
  EXPECT_EQ(field(3, "confidence"), "0.9");
  EXPECT_EQ(field(10, "is_outlier"), "1");
  EXPECT_EQ(field(10, "split"), "unlabelled");
  EXPECT_NEAR(std::stod(field(5, "x_after")), map.after[10], 1e-3);
  EXPECT_NEAR(std::stod(field(5, "y_before")), map.before[11], 1e-3);
}

TEST(RunExport, TensorBoardsProjectorReadsIt) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  const RunContents run = read_run(folder / "run");
  export_run(run, feature_map(run, Context{}), folder / "out", Context{});
  const auto found = testing::read_by_projector(folder / "out");
  if (found.is_null()) GTEST_SKIP() << "no Python with the package tensorboard";
  ASSERT_EQ(found.size(), 2u);
  for (const bool after : {false, true}) {
    const auto& one = found.at(after ? "features after training" : "features before training");
    EXPECT_EQ(one.at("shape"), nlohmann::json({kImages, kWidth}));
    EXPECT_EQ(one.at("numbers"), kImages * kWidth);
    const auto& values = after ? run.embeddings->after : run.embeddings->before;
    EXPECT_NEAR(one.at("sum"), std::accumulate(values.begin(), values.end(), 0.0), 0.05);
    EXPECT_GT(one.at("sprite"), 100);
    // A header, and a line an image, each with as many fields: nothing in a name breaks a line.
    const std::string metadata = one.at("metadata");
    EXPECT_EQ(std::ranges::count(metadata, '\n'), kImages + 1);
    EXPECT_EQ(std::ranges::count(metadata, '\t'), 7 * (kImages + 1));
  }
}

TEST(RunExport, SpritesStandInTheOrderOfTheRows) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  const RunContents run = read_run(folder / "run");
  export_run(run, feature_map(run, Context{}), folder / "out", Context{});
  const auto sheet = std::get<Image>(read_image(folder / "out/sprites.jpg"));
  EXPECT_EQ(sheet.width, 9 * 64);  // 80 images: nine rows of nine
  EXPECT_EQ(sheet.height, 9 * 64);
  // Images of class k have brightness 60 k to 60 k + 49.
  for (const int image : {0, 1, 2, 11, 79}) {
    const int k = image % 4;
    const int light = *sheet.at(image % 9 * 64 + 32, image / 9 * 64 + 32);
    EXPECT_NEAR(light, 60 * k + 25, 30) << image;
  }
}

TEST(RunExport, SaysWhichImagesHaveNoThumbnail) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  const auto gone = read_run(folder / "run").files()[11];
  std::filesystem::remove(gone);
  const auto result = testing::run_protogcd({"report", folder / "run", "--export", folder / "out"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  const std::string warning = "1 of 80 images cannot be read and have no thumbnail, the first: ";
  const std::size_t of_page = result.errors.find(warning + gone.string());
  if (!has_report_page()) return;
  EXPECT_NE(result.errors.find(warning + gone.string(), of_page + 1), std::string::npos)
      << "not of the exported sheet: " << result.errors;
}

TEST(RunExport, ARunWithoutEmbeddingsIsRefused) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  std::filesystem::remove(folder / "run/embeddings.safetensors");
  const auto result = testing::run_protogcd(
      {"report", folder / "run", "--export", folder / "out", "--log-level", "error"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("embeddings.safetensors"));
  EXPECT_THAT(result.errors, HasSubstr("without unlabelled images"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

TEST(RunExport, StopsWhenItIsInterrupted) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  const RunContents run = read_run(folder / "run");
  const FeatureMap map = feature_map(run, Context{});
  const Context context;
  EXPECT_NO_THROW(export_run(run, map, folder / "whole", context));
  context.stop.request_stop();
  try {
    export_run(run, map, folder / "out", context);
    FAIL() << "went on";
  } catch (const InterruptedError& error) {
    EXPECT_THAT(error.what(), HasSubstr((folder / "out").string()));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "out/projector_config.pbtxt"));
  EXPECT_THROW(square_sheet(run.files(), 16, context), InterruptedError);
}

TEST(RunExport, APageThatFailsDoesNotHideTheExport) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  write_file_atomically(folder / "run/result.json", "{}");
  const auto result = testing::run_protogcd(
      {"report", folder / "run", "--export", folder / "out", "--json", "--log-level", "error"});
  if (!has_report_page()) GTEST_SKIP() << "built without npm";
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.errors, HasSubstr("result.json"));
  EXPECT_THAT(result.errors, HasSubstr("out is complete"));
  EXPECT_TRUE(std::filesystem::exists(folder / "out/projector_config.pbtxt"));
}

TEST(RunExport, TheCommandLineExportsAndOverwritesOnlyWhenAsked) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  const std::vector<std::string> words = {"report", folder / "run", "--export", folder / "out"};
  const auto first = testing::run_protogcd(words);
  EXPECT_EQ(first.exit_code, 0) << first.errors;
  EXPECT_TRUE(std::filesystem::exists(folder / "out/projector_config.pbtxt"));
  const auto second = testing::run_protogcd(words);
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.errors, HasSubstr("--export"));
  auto again = words;
  again.emplace_back("--overwrite");
  EXPECT_EQ(testing::run_protogcd(again).exit_code, 0);
}

TEST(ReportPage, NoNameCanLeaveTheData) {
  if (!has_report_page()) GTEST_SKIP() << "built without npm";
  const TemporaryFolder folder;
  write_run(folder / "run");
  write_report(folder / "run", folder / "run/report.html", Context{});
  const std::string page = read_text_file(folder / "run/report.html");
  const std::size_t start = page.find("<script id=\"data\"");
  ASSERT_NE(start, std::string::npos);
  const std::size_t first = page.find('>', start) + 1;
  const std::string data = page.substr(first, page.find("</script>", first) - first);
  EXPECT_EQ(nlohmann::json::parse(data).at("classes")[0].at("name"), kHostile);
  EXPECT_THAT(data, Not(HasSubstr("<")));
  EXPECT_EQ(nlohmann::json::parse(data).at("config"), "k = 4 # </script>\n");
}

}  // namespace
}  // namespace protogcd
