// Features of a trained model, to files and clusters: `embed --model`, `cluster --model`.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/npy.h"
#include "protogcd/data/image_set.h"
#include "protogcd/engine/embed.h"
#include "protogcd/model/stored_model.h"
#include "protogcd/nn/head.h"
#include "protogcd/run/predictions_table.h"
#include "tests/data/layouts.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

at::Tensor read_array(const std::filesystem::path& path) {
  const auto array = std::make_shared<NpyFile>(path);
  return tensor_of(array->array(), array).clone();
}

class TrainedFeatures : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    work = new TinyRun;
    json_of(run_protogcd(work->train("run")));
    json_of(run_protogcd(work->train("deeper", {"--grad-from-block", "1", "--seed", "1"})));
  }
  static void TearDownTestSuite() { delete work; }

  static ProgramResult call(const std::string& verb, const std::vector<std::string>& more,
                            const std::string& type = "float32") {
    std::vector<std::string> words = {verb, "--device",  "cpu", "--dtype",
                                      type, "--threads", "1",   "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return run_protogcd(words);
  }
  static std::string file(const std::string& name) { return work->folder / name; }
  static at::Tensor embed(const std::vector<std::string>& more, const std::string& name,
                          const std::string& type = "float32") {
    std::vector<std::string> words = {"--images", file("demo/unlabelled"), "--out", file(name)};
    words.insert(words.end(), more.begin(), more.end());
    json_of(call("embed", words, type));
    return read_array(file(name));
  }

  static TinyRun* work;
};

TinyRun* TrainedFeatures::work = nullptr;

TEST_F(TrainedFeatures, TheNearestPrototypeOfAnEmbeddedFeatureIsThePredictedClass) {
  for (const std::string run : {"run", "deeper"}) {
    // bfloat16 shows that the trained blocks compute in float32 here as they do in predictions.
    for (const std::string type : {"float32", "bfloat16"}) {
      const std::string name = run + "-" + type;
      const at::Tensor features = embed({"--model", file(run)}, name + ".npy", type);
      json_of(call("predict",
                   {"--model", file(run), "--images", file("demo/unlabelled"), "--out",
                    file(name + "-p.csv")},
                   type));
      const auto predicted = PredictionsTable::read(file(name + "-p.csv"));
      const StoredModel model = open_stored_model(file(run), {});
      const auto [best, label] =
          at::matmul(unit_rows(features), unit_rows(model.prototypes.centres).t()).max(1);
      const CsvTable paths = CsvTable::read(file(name + ".csv"));
      const CsvTable table = CsvTable::read(file(name + "-p.csv"));
      ASSERT_EQ(predicted.size(), 66u);
      ASSERT_EQ(features.size(0), 66);
      for (std::size_t i = 0; i < predicted.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i);
        EXPECT_TRUE(table.rows()[i].fields[0].ends_with(paths.rows()[i].fields[0]));
        EXPECT_EQ(predicted.class_name(i),
                  model.info.classes[static_cast<std::size_t>(label[row].item<std::int64_t>())]);
        EXPECT_NEAR(std::stod(table.rows()[i].fields[table.column("typicality")]),
                    best[row].item<double>(), 2e-6)
            << name;
      }
    }
  }
}

TEST_F(TrainedFeatures, TheyAreNotThoseOfTheFrozenBackbone) {
  const at::Tensor trained = embed({"--model", file("run")}, "trained.npy"),
                   frozen = embed({"--backbone", file("tiny.safetensors"), "--image-size", "32"},
                                  "frozen.npy");
  EXPECT_GT((trained - frozen).abs().max().item<double>(), 0.01);
  // All tokens come from the plain model, whose last digits differ.
  const at::Tensor with_tokens = embed({"--model", file("run"), "--tokens"}, "with.npy");
  EXPECT_LT((trained - with_tokens).abs().max().item<double>(), 1e-4);
  EXPECT_EQ(read_array(file("with-tokens.npy")).size(1), 17);
}

TEST_F(TrainedFeatures, AMovedBackboneIsNamedAndAnotherIsRefused) {
  std::filesystem::copy_file(file("tiny.safetensors"), file("moved.safetensors"));
  EXPECT_TRUE(at::equal(
      embed({"--model", file("run"), "--backbone", file("moved.safetensors")}, "moved.npy"),
      embed({"--model", file("run")}, "unmoved.npy")));
  write_file_atomically(file("other.safetensors"),
                        read_text_file(file("run/model/model.safetensors")));
  const auto other =
      call("embed", {"--images", file("demo/unlabelled"), "--model", file("run"), "--backbone",
                     file("other.safetensors"), "--out", file("o.npy")});
  EXPECT_EQ(other.exit_code, 5);
  EXPECT_THAT(other.errors, HasSubstr("not the backbone that the model was trained on"));
  const auto size = call("embed", {"--images", file("demo/unlabelled"), "--model", file("run"),
                                   "--image-size", "64", "--out", file("o.npy")});
  EXPECT_EQ(size.exit_code, 2);
  EXPECT_THAT(size.errors, AllOf(HasSubstr("--image-size"), HasSubstr("--model")));
}

TEST_F(TrainedFeatures, AStoppedEmbeddingGoesOnWithTheSameModelAlone) {
  const at::Tensor whole = embed({"--model", file("run")}, "whole.npy");
  Context stopped{.device = "cpu", .dtype = "float32"};
  stopped.stop.request_stop();
  const ImageSet set = open_image_set(file("demo/unlabelled"), Logger());
  StoredModel model = open_stored_model(file("run"), {});
  EXPECT_THROW(
      embed_images(
          set.sources, std::move(model.backbone),
          {.out = file("part.npy"), .tokens = false, .batch = {}, .reading = model.info.reading},
          BadImagePolicy::parse("fail", "0"), stopped),
      InterruptedError);
  json_of(run_protogcd(work->train("again", {"--seed", "2"})));
  const std::vector<std::string> words = {
      "--images", file("demo/unlabelled"), "--out", file("part.npy"), "--resume", "--model"};
  const auto go_on = [&](const std::string& flag, const std::string& name) {
    auto all = words;
    all.back() = flag;
    all.push_back(file(name));
    if (flag == "--backbone") all.insert(all.end(), {"--image-size", "32"});
    return call("embed", all);
  };
  EXPECT_THAT(go_on("--model", "again").errors, HasSubstr("begun with other weights"));
  EXPECT_THAT(go_on("--backbone", "tiny.safetensors").errors,
              HasSubstr("begun with other weights"));
  EXPECT_EQ(json_of(go_on("--model", "run")).at("resumed"), 16);
  EXPECT_TRUE(at::equal(read_array(file("part.npy")), whole));
}

TEST_F(TrainedFeatures, ClustersOfAModelAreThoseOfItsEmbeddings) {
  embed({"--model", file("run")}, "rows.npy");
  const auto by_rows = json_of(
      call("cluster", {"--embeddings", file("rows.npy"), "--k", "16", "--out", file("a.csv")}));
  const auto by_model = json_of(call(
      "cluster", {"--model", file("run"), "--unlabelled", file("demo/unlabelled"), "--k", "16"}));
  EXPECT_EQ(by_model.at("inertia"), by_rows.at("inertia"));
  EXPECT_EQ(by_model.at("sizes"), by_rows.at("sizes"));
  const auto guided = json_of(
      call("cluster", {"--model", file("run"), "--labelled", file("demo/labelled"), "--unlabelled",
                       file("demo/unlabelled"), "--truth", file("demo/truth.csv"), "--k", "16",
                       "--save-model", file("centroids")}));
  EXPECT_TRUE(guided.at("semi_supervised").get<bool>());
  EXPECT_EQ(guided.at("accuracy").at("samples"), 66);
  // A model of the clusters stands on the trained blocks too.
  EXPECT_TRUE(
      at::equal(embed({"--model", file("centroids")}, "c.npy"), read_array(file("rows.npy"))));
}

TEST_F(TrainedFeatures, ClustersAreJudgedOnTheSplitThatTheModelWasTrainedOn) {
  json_of(run_protogcd(work->train("split", {"--old-classes", "5"})));
  const auto judged = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"--model",      file("split"),
                                      "--labelled",   file("demo/labelled"),
                                      "--unlabelled", file("demo/unlabelled"),
                                      "--truth",      file("demo/truth.csv"),
                                      "--k",          "16"};
    words.insert(words.end(), more.begin(), more.end());
    return json_of(call("cluster", words)).at("accuracy");
  };
  EXPECT_EQ(judged({}), judged({"--old-classes", "5"}));
  EXPECT_NE(judged({}).at("samples"), judged({"--old-classes", "10"}).at("samples"));
}

TEST_F(TrainedFeatures, TheTestHalfOfABenchmarkIsClusteredByItselfWithoutLabels) {
  make_cifar10_binary(file("cifar"));
  const std::vector<std::string> data = {"--model", file("run"),   "--dataset", "cifar10",
                                         "--root",  file("cifar"), "--k",       "5"};
  auto test = data;
  test.insert(test.end(), {"--on", "test", "--out", file("test.csv")});
  const auto on_test = json_of(call("cluster", test));
  EXPECT_EQ(on_test.at("rows"), 10);
  EXPECT_FALSE(on_test.at("semi_supervised").get<bool>());
  EXPECT_EQ(on_test.at("accuracy").at("samples"), 10);
  const CsvTable table = CsvTable::read(file("test.csv"));
  for (const auto& row : table.rows()) EXPECT_THAT(row.fields[0], HasSubstr("test_batch"));
  const auto on_training = json_of(call("cluster", data));
  EXPECT_EQ(on_training.at("rows"), 50);
  EXPECT_TRUE(on_training.at("semi_supervised").get<bool>());

  const auto none = call("cluster", {"--model", file("run"), "--unlabelled",
                                     file("demo/unlabelled"), "--on", "test", "--k", "3"});
  EXPECT_EQ(none.exit_code, 4);
  EXPECT_THAT(none.errors, HasSubstr("--on: the data has no test images"));
}

}  // namespace
}  // namespace protogcd::testing
