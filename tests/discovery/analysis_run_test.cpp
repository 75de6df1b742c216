// The analyses of a trained model, as a user asks for them: evaluate with its tables, retrieve,
// attention.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/npy.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/data/cifar.h"
#include "protogcd/data/image_set.h"
#include "protogcd/image/decode.h"
#include "protogcd/image/encode.h"
#include "protogcd/model/evaluation.h"
#include "protogcd/model/stored_model.h"
#include "protogcd/run/predictions_table.h"
#include "protogcd/studies/attention_maps.h"
#include "tests/data/layouts.h"
#include "tests/discovery/run_helpers.h"
#include "tests/support/recorded_host.h"

namespace protogcd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AnalysisRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work = new TinyRun;
    json_of(run_protogcd(work->train("run")));
  }
  static void TearDownTestSuite() { delete work; }

  static ProgramResult call(const std::string& verb, const std::vector<std::string>& more) {
    std::vector<std::string> words = {verb,       "--model", work->folder / "run",
                                      "--device", "cpu",     "--threads",
                                      "1",        "--dtype", "float32"};
    words.insert(words.end(), more.begin(), more.end());
    return run_protogcd(words);
  }
  static ProgramResult evaluate(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"--labelled",   work->folder / "demo/labelled",
                                      "--unlabelled", work->folder / "demo/unlabelled",
                                      "--truth",      work->folder / "demo/truth.csv"};
    words.insert(words.end(), more.begin(), more.end());
    return call("evaluate", words);
  }
  static Image picture(const std::string& name) {
    return std::get<Image>(read_image(work->folder / name));
  }

  static TinyRun* work;
};

TinyRun* AnalysisRun::work = nullptr;

TEST_F(AnalysisRun, EvaluateTellsClusterMetricsConfidenceAndConfusion) {
  const auto json =
      json_of(evaluate({"--cluster-metrics", "--out", work->folder / "ev", "--json"}));
  const auto& clusters = json.at("unlabelled").at("clusters");
  EXPECT_EQ(clusters.at("all").at("classes"), 16);
  EXPECT_EQ(clusters.at("old").at("classes"), 10);
  const double all = clusters.at("all").at("compactness"),
               old = clusters.at("old").at("compactness"),
               fresh = clusters.at("new").at("compactness");
  EXPECT_NEAR(all, (10 * old + 6 * fresh) / 16, 1e-9);
  EXPECT_NEAR(
      json.at("confidence").at("gap").get<double>(),
      json.at("confidence").at("old").get<double>() - json.at("confidence").at("new").get<double>(),
      1e-12);
  EXPECT_EQ(nlohmann::json::parse(work->read("ev/evaluation.json")), json);

  // The diagonal of the confusion is what the accuracy counts.
  const CsvTable confusion = CsvTable::read(work->folder / "ev/confusion-unlabelled.csv");
  ASSERT_EQ(confusion.rows().size(), 16u);
  ASSERT_EQ(confusion.header().size(), 17u);
  double right = 0, total = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 1; j < 17; ++j) {
      const double count = std::stod(confusion.rows()[i].fields[j]);
      total += count;
      if (j == i + 1) right += count;
    }
  }
  EXPECT_EQ(total, 66);
  EXPECT_NEAR(100 * right / total, json.at("all").get<double>(), 1e-9);
  const CsvTable classes = CsvTable::read(work->folder / "ev/classes-unlabelled.csv");
  ASSERT_EQ(classes.rows().size(), 16u);
  double correct = 0;
  for (const CsvRow& row : classes.rows())
    correct += std::stod(row.fields[classes.column("correct")]);
  EXPECT_EQ(correct, right);
  EXPECT_EQ(json.at("unlabelled").at("classes").size(), 16u);
  EXPECT_EQ(evaluate({"--out", work->folder / "ev"}).exit_code, 2) << "overwrote tables";
  create_folders(work->folder / "mine");
  write_file_atomically(work->folder / "mine/corruptions.csv", "mine");
  EXPECT_EQ(evaluate({"--out", work->folder / "mine"}).exit_code, 2);
  EXPECT_EQ(work->read("mine/corruptions.csv"), "mine");

  const auto plain = json_of(evaluate({"--json"}));
  EXPECT_EQ(plain.at("all"), json.at("all"));
  EXPECT_THAT(evaluate({}).output, AllOf(HasSubstr("precision\n"), HasSubstr("(columns)\n")));
  EXPECT_FALSE(plain.at("unlabelled").contains("clusters"));
}

TEST_F(AnalysisRun, CorruptionsAreEvaluatedPerSeverity) {
  const auto ask = [&](const std::string& name) {
    return json_of(evaluate({"--corruptions", "fog,gaussian_noise", "--severities", "1,5", "--out",
                             work->folder / name, "--json"}));
  };
  const auto json = ask("c1").at("corruption");
  EXPECT_EQ(json.at("corruptions").size(), 2u);
  EXPECT_EQ(json.at("corruptions").at("fog").size(), 2u);
  const double mean =
      (json.at("corruptions").at("fog").at("5").at("all").get<double>() +
       json.at("corruptions").at("gaussian_noise").at("5").at("all").get<double>()) /
      2;
  EXPECT_NEAR(json.at("severities").at("5").at("all").get<double>(), mean, 1e-9);
  EXPECT_EQ(json.at("clean").at("all"), json_of(evaluate({"--json"})).at("all"));
  EXPECT_EQ(ask("c2").at("corruption"), json) << "the same seed, the same corruptions";
  EXPECT_EQ(CsvTable::read(work->folder / "c1/corruptions.csv").rows().size(), 1u + 4 + 2);
  EXPECT_THAT(work->read("c1/corruptions.md"), AllOf(HasSubstr("| fog |"), HasSubstr("| 5 |")));
  // Severities in any order give the same table.
  json_of(evaluate({"--corruptions", "fog,gaussian_noise", "--severities", "5,1", "--out",
                    work->folder / "c3", "--json"}));
  EXPECT_EQ(work->read("c3/corruptions.md"), work->read("c1/corruptions.md"));

  EXPECT_THAT(evaluate({"--corruptions", "frog"}).errors, HasSubstr("frog"));
  EXPECT_THAT(evaluate({"--corruptions", "fog", "--severities", "6"}).errors, HasSubstr("'6'"));
  EXPECT_THAT(evaluate({"--corruptions", "fog", "--cifar-c", work->folder.path()}).errors,
              HasSubstr("--dataset cifar10"));
}

TEST_F(AnalysisRun, ACorruptedEvaluationSeesTheImagesThatCorruptWrites) {
  // Contrast draws nothing, so both ways give the same pixels.
  const auto corrupted =
      run_protogcd({"corrupt", "--images", work->folder / "demo/unlabelled", "--out",
                    work->folder / "contrast", "--corruptions", "contrast", "--severities", "4"});
  ASSERT_EQ(corrupted.exit_code, 0) << corrupted.errors;
  const CsvTable truth = CsvTable::read(work->folder / "demo/truth.csv");
  CsvWriter moved(work->folder / "moved.csv", {"path", "label"});
  for (const auto& row : truth.rows()) {
    if (row.fields[0].starts_with("unlabelled/"))
      moved.row({"contrast/contrast/4/" + row.fields[0].substr(11), row.fields[1]});
  }
  moved.commit();
  const auto files = json_of(call("evaluate", {"--labelled", work->folder / "demo/labelled",
                                               "--unlabelled", work->folder / "contrast/contrast/4",
                                               "--truth", work->folder / "moved.csv", "--json"}));
  const auto ours = json_of(evaluate({"--corruptions", "contrast", "--severities", "4", "--json"}));
  for (const char* key : {"all", "old", "new"})
    EXPECT_EQ(ours.at("corruption").at("corruptions").at("contrast").at("4").at(key),
              files.at(key));
}

TEST_F(AnalysisRun, RetrieveFindsTheExtremesOfEveryClass) {
  ASSERT_EQ(call("retrieve", {"--top", "2", "--out", work->folder / "ex"}).exit_code, 0);
  const CsvTable predictions = CsvTable::read(work->folder / "run/predictions.csv");
  std::map<std::string, std::vector<double>> typicality;
  for (const auto& row : predictions.rows())
    typicality[row.fields[1]].push_back(std::stod(row.fields[4]));
  const CsvTable examples = CsvTable::read(work->folder / "ex/examples.csv");
  std::set<std::string> paths;
  for (const auto& row : examples.rows()) {
    auto values = typicality.at(row.fields[0]);
    std::ranges::sort(values);
    const auto rank = std::stoul(row.fields[3]);
    const double expected =
        row.fields[2] == "most" ? values[values.size() - rank] : values[rank - 1];
    EXPECT_EQ(std::stod(row.fields[5]), expected) << row.fields[0] << row.fields[2] << rank;
    EXPECT_TRUE(std::filesystem::exists(work->folder / "ex" / row.fields[4])) << row.fields[4];
    EXPECT_TRUE(paths.insert(row.fields[4]).second) << "an image is shown twice";
  }
  // A row a class; two tiles, a gap and two tiles, each as large as the images.
  const Image sheet = picture("ex/examples.png");
  EXPECT_EQ(sheet.width, 5 * 42 - 2);
  EXPECT_EQ(sheet.height, static_cast<int>(typicality.size()) * 42 - 2);

  EXPECT_EQ(json_of(call("retrieve", {"--images", work->folder / "demo/outliers", "--out",
                                      work->folder / "ex2", "--json"}))
                .at("out"),
            (work->folder / "ex2").string());
  EXPECT_TRUE(std::filesystem::exists(work->folder / "ex2/examples-predictions.csv"));
  EXPECT_EQ(call("retrieve", {"--out", work->folder / "ex"}).exit_code, 2) << "overwrote";
}

TEST_F(AnalysisRun, CifarCFilesAndRecordsAreRead) {
  const auto root = work->folder / "cifar";
  make_cifar10_binary(root);
  // CIFAR-C files with the clean test images in every severity: the clean accuracy comes back.
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> labels;
  const auto test = open_cifar_test(root, CifarKind::kCifar10).test.front();
  for (int severity = 0; severity < 5; ++severity) {
    for (std::size_t i = 0; i < test->count; ++i) {
      const Image image = test->load(i);
      pixels.insert(pixels.end(), image.pixels.begin(), image.pixels.end());
      labels.push_back(test->labels[i]);
    }
  }
  const std::int64_t rows = std::ssize(labels);
  write_npy(root / "fog.npy",
            {"", ElementType::kUint8, {rows, 32, 32, 3}, std::as_bytes(std::span(pixels))});
  write_npy(root / "labels.npy",
            {"", ElementType::kInt64, {rows}, std::as_bytes(std::span(labels))});
  const auto json = json_of(
      call("evaluate", {"--dataset", "cifar10", "--root", root.string(), "--corruptions", "fog",
                        "--severities", "1,3", "--cifar-c", root.string(), "--json"}));
  const auto& cells = json.at("corruption").at("corruptions").at("fog");
  EXPECT_EQ(cells.size(), 2u);
  for (const char* severity : {"1", "3"})
    EXPECT_EQ(cells.at(severity), json.at("corruption").at("clean"));

  // Records have thumbnails: no tile is grey.
  const auto shown = call("retrieve", {"--images", "cifar10:" + root.string(), "--top", "1",
                                       "--out", work->folder / "records"});
  EXPECT_EQ(shown.exit_code, 0) << shown.errors;
  EXPECT_THAT(shown.errors, Not(HasSubstr("#")));
}

TEST_F(AnalysisRun, FeaturesThatAreNotNumbersAreAnErrorEverywhere) {
  const Context context{.device = "cpu"};
  TrainedModel model = load_model(work->folder / "run", {}, context);
  model.set_prototypes({.centres = at::full({16, 64}, std::nan(""))});
  model.save(work->folder / "broken");
  const auto predicted = run_protogcd({"predict", "--model", work->folder / "broken", "--images",
                                       work->folder / "demo/outliers", "--out",
                                       work->folder / "nan.csv", "--device", "cpu"});
  EXPECT_EQ(predicted.exit_code, 5);
  EXPECT_THAT(predicted.errors, HasSubstr("not numbers"));
  EXPECT_FALSE(std::filesystem::exists(work->folder / "nan.csv"));
}

TEST_F(AnalysisRun, PredictionsAreValuesAndLeaveTheProcessAsItWas) {
  const int threads = at::get_num_threads();
  c10::Allocator* const allocator = c10::GetCPUAllocator();
  std::vector<std::string> names;
  const Context context{.device = "cpu", .dtype = "float32"};
  const ImageSet set = open_image_set((work->folder / "demo/outliers").string(), Logger());
  const auto host = std::make_shared<RecordedHost>();
  {
    const TrainedModel model = load_model(work->folder / "run", {}, context);
    SkippedFiles skipped(BadImagePolicy::parse("fail", "0"), set.sources.size());
    const PredictSummary summary =
        predict_images(model, set.sources, skipped, context, [&](const PredictedBatch& batch) {
          ASSERT_EQ(batch.sources.size(), batch.predictions.size());
          for (std::size_t i = 0; i < batch.sources.size(); ++i) {
            const auto label = static_cast<std::size_t>(batch.predictions.labels[i]);
            names.push_back(model.info().classes[label]);
          }
        });
    EXPECT_EQ(summary.images, set.sources.size());
    Context stopped = context;
    stopped.progress_sink = host;
    stopped.stop = StopToken();  // copies share theirs
    stopped.stop.request_stop();
    EXPECT_THROW(predict_images(model, set.sources, skipped, stopped, [](const auto&) {}),
                 InterruptedError);
    EXPECT_THAT(host->take(), HasSubstr("predict"));
    write_predictions(model, set.sources, {.out = work->folder / "values.csv"},
                      BadImagePolicy::parse("fail", "0"), context);
  }
  const PredictionsTable table = PredictionsTable::read(work->folder / "values.csv");
  ASSERT_EQ(table.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(table.class_name(i), names[i]);
  EXPECT_EQ(at::get_num_threads(), threads);
  EXPECT_EQ(c10::GetCPUAllocator(), allocator);
}

TEST_F(AnalysisRun, PredictTellsTheProbabilitiesOfAllClassesOrTheLikeliest) {
  const auto table_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"--images", work->folder / "demo/outliers"};
    words.insert(words.end(), more.begin(), more.end());
    const auto result = call("predict", words);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return result.output.starts_with("path,") ? CsvTable::parse(result.output, "printed")
                                              : CsvTable::read(words.back());
  };
  const CsvTable plain = table_of({"--out", work->folder / "plain.csv"});
  EXPECT_EQ(plain.header().size(), 7u);
  const CsvTable all = table_of({"--probabilities", "all", "--out", work->folder / "all.csv"});
  const CsvTable top = table_of({"--probabilities", "2"});
  ASSERT_EQ(all.header().size(), 7u + 16u);
  ASSERT_EQ(all.rows().size(), top.rows().size());
  for (std::size_t row = 0; row < all.rows().size(); ++row) {
    const auto& fields = all.rows()[row].fields;
    const std::string& name = fields[all.column("class")];
    const std::string& confidence = fields[all.column("confidence")];
    EXPECT_EQ(fields[all.column("p_" + name)], confidence);
    double sum = 0;
    std::vector<double> sorted;
    for (std::size_t i = 7; i < fields.size(); ++i) sorted.push_back(std::stod(fields[i]));
    std::ranges::sort(sorted, std::greater());
    for (const double probability : sorted) sum += probability;
    EXPECT_NEAR(sum, 1, 16 * 0.5e-6);  // six digits each
    const auto& likely = top.rows()[row].fields;
    EXPECT_EQ(likely[top.column("class_1")], name);
    EXPECT_EQ(likely[top.column("p_1")], confidence);
    EXPECT_EQ(std::stod(likely[top.column("p_2")]), sorted[1]);
    EXPECT_EQ(likely[top.column("p_2")], fields[all.column("p_" + likely[top.column("class_2")])]);
  }
  const auto json = json_of(call(
      "predict", {"--images", work->folder / "demo/outliers", "--probabilities", "1", "--json"}));
  const auto& first = json.at("predictions").at(0);
  EXPECT_EQ(first.at("class_1"), first.at("class"));
  const auto wrong = call("predict", {"--images", "x", "--probabilities", "0"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.errors, AllOf(HasSubstr("--probabilities"), HasSubstr("all or a number")));
}

TEST_F(AnalysisRun, AttentionShowsEveryHeadBeforeAndAfter) {
  ASSERT_EQ(call("attention", {"--images", work->folder / "demo/outliers", "--limit", "3", "--out",
                               work->folder / "attention.png"})
                .exit_code,
            0);
  // Two rows an image, the view and one head.
  const Image sheet = picture("attention.png");
  EXPECT_EQ(sheet.width, 2 * 34 - 2);
  EXPECT_EQ(sheet.height, 6 * 34 - 2);
}

TEST_F(AnalysisRun, AttentionIsThatOfTheTrainedModel) {
  const Context context{.device = "cpu", .dtype = "float32"};
  const TrainedModel model = load_model(work->folder / "run", {}, context);
  const Backbone backbone = backbone_of(model.info(), {});
  const Vit after = trained_vit(backbone, model);
  const at::Tensor images = at::randn({2, 3, 32, 32});
  // Its features are the model's, so its blocks are the trained ones.
  const at::Tensor features = model.features(model.trunk().run(images));
  EXPECT_TRUE(at::allclose(after.forward(images), features, 1e-4, 1e-4));
  EXPECT_FALSE(at::allclose(backbone.vit.forward(images), features, 1e-4, 1e-4));
  const at::Tensor maps = attention_maps(after, images);
  EXPECT_EQ(maps.sizes(), (at::IntArrayRef{2, 1, 4, 4}));
  EXPECT_TRUE(maps.ge(0).all().item<bool>());
  EXPECT_TRUE(maps.sum({2, 3}).le(1).all().item<bool>()) << "CLS keeps some for itself";
}

/// Test runs are without, as pages take time.
std::vector<std::string> with_report(std::vector<std::string> command) {
  std::erase(command, "--report=false");
  return command;
}

TEST_F(AnalysisRun, ARunLeavesAttentionOfChosenImagesForItsReport) {
  json_of(run_protogcd(with_report(work->train("shown"))));
  const SafetensorsFile file(work->folder / "shown/attention.safetensors");
  const auto& rows = file.at("rows");
  const auto n = rows.shape[0];
  EXPECT_GE(n, 5);
  EXPECT_LE(n, 24);
  EXPECT_EQ(file.at("views").shape, (std::vector<std::int64_t>{n, 32, 32, 3}));
  EXPECT_EQ(file.at("before").shape, (std::vector<std::int64_t>{n, 1, 4, 4}));
  EXPECT_EQ(file.at("after").shape, (std::vector<std::int64_t>{n, 1, 4, 4}));
  EXPECT_FALSE(std::ranges::equal(file.at("before").bytes, file.at("after").bytes));
  // The first example's map is that of the trained network on its file.
  const Context context{.device = "cpu", .dtype = "float32"};
  const TrainedModel model = load_model(work->folder / "shown", {}, context);
  const Backbone backbone = backbone_of(model.info(), {});
  std::int64_t row = 0;
  std::memcpy(&row, rows.bytes.data(), sizeof row);
  const CsvTable predictions = CsvTable::read(work->folder / "shown/predictions.csv");
  const auto& path =
      predictions.rows()[static_cast<std::size_t>(row)].fields[predictions.column("path")];
  const ImageSet set = open_image_set((work->folder / "shown" / path).string(), Logger());
  SkippedFiles skipped(BadImagePolicy::parse("fail", "0"), 1);
  const std::vector<std::uint32_t> list = {0};
  for_each_attention(
      backbone, model, set.sources, list, 1, skipped, [&](const AttentionExample& example) {
        const at::Tensor now = example.after / example.after.max() * 255;
        for (std::size_t i = 0; i < 16; ++i) {
          EXPECT_NEAR(static_cast<double>(file.at("after").bytes[i]),
                      now.reshape({16})[static_cast<std::int64_t>(i)].item<double>(), 1.5);
        }
      });
}

TEST_F(AnalysisRun, ARunWithoutReportLeavesNoAttention) {
  json_of(run_protogcd(with_report(work->train("bare"))));
  EXPECT_TRUE(std::filesystem::exists(work->folder / "bare/attention.safetensors"));
  json_of(run_protogcd(work->train("bare", {"--overwrite"})));
  EXPECT_FALSE(std::filesystem::exists(work->folder / "bare/attention.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(work->folder / "bare/embeddings.safetensors"));
}

TEST(ClassTables, PutMatchingClustersOnTheDiagonal) {
  Predictions predictions;
  predictions.labels = {1, 1, 0, 0, 0, 2};
  const std::vector<std::int32_t> truths = {0, 0, 1, 1, 0, 1};
  const std::vector<std::string> classes = {"owl", "a,b"}, clusters = {"x", "y", "z"};
  const ClassTables tables(predictions, truths, classes, clusters);
  EXPECT_EQ(tables.confusion_csv(), "class,y,x,z\nowl,2,1,0\n\"a,b\",0,2,1\n");
  EXPECT_EQ(tables.classes_csv(),
            "class,cluster,images,correct,recall,precision\n"
            "owl,y,3,2,66.7,100.0\n\"a,b\",x,3,2,66.7,66.7\n");
  EXPECT_EQ(tables.to_json()[1], (nlohmann::json{{"class", "a,b"},
                                                 {"cluster", "x"},
                                                 {"images", 3},
                                                 {"correct", 2},
                                                 {"recall", 100 * (2.0 / 3)},
                                                 {"precision", 100 * (2.0 / 3)},
                                                 {"taken_for", {{"x", 2}, {"z", 1}}}}));
  EXPECT_EQ(tables.in_words(),
            "      class  cluster  images  recall  precision\n"
            "   1  owl    y             3    66.7      100.0\n"
            "   2  a,b    x             3    66.7       66.7\n"
            "  images of these classes (rows) by the cluster they are in (columns)\n"
            "      1  2  3\n"
            "   1  2  1  0\n"
            "   2  0  2  1\n"
            "   3  z: stands for none of them\n");
  // Nobody is taken for a cluster of the first class: a free one holds its place.
  predictions.labels = {1, 1, 1, 1};
  const ClassTables without(predictions, std::vector<std::int32_t>{0, 1, 1, 1}, classes, clusters);
  EXPECT_EQ(without.confusion_csv(), "class,x,y,z\nowl,0,1,0\n\"a,b\",0,3,0\n");
  EXPECT_THAT(without.classes_csv(), HasSubstr("\nowl,,1,0,0.0,\n"));
  EXPECT_EQ(without.to_json()[0]["cluster"], nullptr);
  EXPECT_THAT(without.in_words(), HasSubstr("   1  owl    -             1     0.0          -\n"));
}

TEST(ClassTables, AreNotPrintedOfManyClasses) {
  for (const std::int32_t many : {20, 21}) {
    Predictions predictions;
    std::vector<std::string> names;
    for (std::int32_t i = 0; i < many; ++i) {
      predictions.labels.push_back(i);
      names.push_back(std::to_string(i));
    }
    const ClassTables tables(predictions, predictions.labels, names, names);
    EXPECT_EQ(tables.in_words().empty(), many > 20);
  }
}

}  // namespace
}  // namespace protogcd::testing
