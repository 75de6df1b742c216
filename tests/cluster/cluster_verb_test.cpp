// `protogcd cluster` and `bench cluster` through the command line.
#include <ATen/ATen.h>
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>

#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/npy.h"
#include "protogcd/image/encode.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/nn/random_state.h"
#include "tests/support/blobs.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::run_protogcd;
using testing::TemporaryFolder;

/// 60 rows of three far classes, in turn.
void write_embeddings(const std::filesystem::path& path) {
  at::Tensor rows = at::randn({60, 6}) * 0.1;
  for (std::int64_t i = 0; i < 60; ++i) rows[i][i % 3] += 5.0;
  rows *= at::arange(1, 61).unsqueeze(1);  // lengths differ, directions do not
  write_npy(path, entry_of("features", rows.to(at::kFloat).contiguous()));
}

void write_list(const std::filesystem::path& path, const std::vector<std::string>& header,
                int rows) {
  CsvWriter writer(path, header);
  for (int i = 0; i < rows; ++i) {
    std::vector<std::string> fields = {fmt::format("images/{}.png", i)};
    if (header.size() > 1) fields.push_back(fmt::format("class{}", i % 3));
    writer.row(fields);
  }
  writer.commit();
}

TEST(ClusterVerb, ClustersEmbeddingsAndScoresThemWhereTheTruthIsGiven) {
  const TemporaryFolder folder;
  write_embeddings(folder / "f.npy");
  write_list(folder / "f.csv", {"path"}, 60);
  write_list(folder / "truth.csv", {"path", "label"}, 60);
  const std::vector<std::string> command = {
      "cluster", "--embeddings",   folder / "f.npy", "--k", "3", "--truth", folder / "truth.csv",
      "--out",   folder / "c.csv", "--device",       "cpu"};
  const auto words = run_protogcd(command);
  ASSERT_EQ(words.exit_code, 0) << words.errors;
  EXPECT_THAT(words.output, AllOf(HasSubstr("60 rows in 3 clusters"), HasSubstr("All 100.0")));
  const CsvTable table = CsvTable::read(folder / "c.csv");
  EXPECT_THAT(table.header(), ElementsAre("path", "cluster", "label"));
  ASSERT_EQ(table.rows().size(), 60u);
  EXPECT_EQ(table.rows()[4].fields[0], "images/4.png");
  EXPECT_EQ(table.rows()[4].fields[1], table.rows()[1].fields[1]);
  EXPECT_EQ(table.rows()[4].fields[2], "class1");

  const auto refused = run_protogcd(command);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("--overwrite"));
  std::vector<std::string> again = command;
  again.insert(again.end(), {"--overwrite", "--json"});
  const auto result = run_protogcd(again);
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_THAT(json.at("sizes").get<std::vector<int>>(), ElementsAre(20, 20, 20));
  EXPECT_EQ(json.at("accuracy").at("all"), 100);
  EXPECT_EQ(json.at("accuracy").at("ari"), 1);
  EXPECT_FALSE(json.at("semi_supervised").get<bool>());
}

TEST(ClusterVerb, NormalisesUnlessToldNotTo) {
  const TemporaryFolder folder;
  write_embeddings(folder / "f.npy");
  const auto inertia = [&](std::vector<std::string> more) {
    std::vector<std::string> command = {"cluster", "--embeddings", folder / "f.npy", "--k",
                                        "3",       "--json"};
    command.insert(command.end(), more.begin(), more.end());
    const auto result = run_protogcd(command);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return nlohmann::json::parse(result.output).at("inertia").get<double>();
  };
  EXPECT_LT(inertia({}), 1);
  EXPECT_GT(inertia({"--no-normalise"}), 1000);
}

TEST(ClusterVerb, OfASampleEveryRowGoesToTheNearestCentroid) {
  const TemporaryFolder folder;
  const at::Tensor rows = testing::blobs(140'000, 8, 5, 4, 3).to(at::kHalf);  // three parts
  write_npy(folder / "f.npy", entry_of("features", rows));
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> command = {"cluster",
                                        "--embeddings",
                                        folder / "f.npy",
                                        "--k",
                                        "5",
                                        "--starts",
                                        "2",
                                        "--json",
                                        "--overwrite",
                                        "--no-normalise",
                                        "--out",
                                        folder / "c.csv"};
    command.insert(command.end(), more.begin(), more.end());
    const auto result = run_protogcd(command);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return nlohmann::json::parse(result.output);
  };
  const auto clusters = [&] {
    std::vector<std::int64_t> numbers;
    const CsvTable table = CsvTable::read(folder / "c.csv");
    for (const CsvRow& row : table.rows()) numbers.push_back(std::stoll(row.fields[1]));
    return at::tensor(numbers);
  };
  const auto json = run({"--sample", "3000"});
  EXPECT_EQ(json.at("sample"), 3000);
  EXPECT_EQ(json.at("rows"), 140'000);
  const at::Tensor found = clusters();
  // Blobs of equal size far from each other: a sample finds them as all rows do.
  std::vector<at::Tensor> means;
  for (std::int64_t k = 0; k < 5; ++k)
    means.push_back(rows.to(at::kDouble).index({found == k}).mean(0));
  const at::Tensor nearest = at::cdist(rows.to(at::kDouble), at::stack(means)).argmin(1);
  EXPECT_LT((nearest != found).sum().item<int>(), 140);
  const at::Tensor sizes = at::bincount(found);
  for (std::int64_t k = 0; k < 5; ++k)
    EXPECT_EQ(json.at("sizes").at(static_cast<std::size_t>(k)), sizes[k].item<std::int64_t>());
  const auto all = run({});
  EXPECT_NEAR(all.at("inertia").get<double>() / json.at("inertia").get<double>(), 1, 0.01);
  EXPECT_FALSE(all.contains("sample"));
  run({"--sample", "3000"});
  EXPECT_TRUE(at::equal(found, clusters())) << "another sample for the same seed";
}

TEST(ClusterVerb, ABadRowOutsideOfTheSampleIsNamed) {
  const TemporaryFolder folder;
  at::Tensor rows = testing::blobs(70'000, 4, 3, 9);
  rows[69'990][1] = std::numeric_limits<float>::infinity();
  write_npy(folder / "f.npy", entry_of("features", rows));
  const auto result = run_protogcd({"cluster", "--embeddings", folder / "f.npy", "--k", "3",
                                    "--sample", "100", "--starts", "1"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.errors, AllOf(HasSubstr("f.npy, from row 65536 on"), HasSubstr("row 4454")));
}

TEST(ClusterVerb, RowsWithoutPathsAreNumbered) {
  const TemporaryFolder folder;
  write_embeddings(folder / "f.npy");
  const auto result = run_protogcd(
      {"cluster", "--embeddings", folder / "f.npy", "--k", "3", "--out", folder / "c.csv"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const CsvTable table = CsvTable::read(folder / "c.csv");
  EXPECT_THAT(table.header(), ElementsAre("row", "cluster"));
  EXPECT_EQ(table.rows()[59].fields[0], "59");
  for (int again = 0; again < 2; ++again) {  // the name that embed would give its list of paths
    const auto beside = run_protogcd({"cluster", "--embeddings", folder / "f.npy", "--k", "3",
                                      "--out", folder / "f.csv", "--overwrite"});
    EXPECT_EQ(beside.exit_code, 0) << beside.errors;
  }
}

TEST(ClusterVerb, BadInputIsNamed) {
  const TemporaryFolder folder;
  write_embeddings(folder / "f.npy");
  write_list(folder / "truth.csv", {"path", "label"}, 60);
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), "cluster");
    return run_protogcd(more);
  };
  const std::string file = folder / "f.npy";
  const auto many = run({"--embeddings", file, "--k", "61"});
  EXPECT_EQ(many.exit_code, 2);
  EXPECT_THAT(many.errors, HasSubstr("61 clusters of 60 rows"));
  EXPECT_EQ(run({"--embeddings", file, "--k", "0"}).exit_code, 2);
  EXPECT_THAT(run({"--k", "3"}).errors, HasSubstr("no data given"));
  EXPECT_THAT(run({"--embeddings", file, "--images", folder.path(), "--k", "3"}).errors,
              HasSubstr("not both"));
  EXPECT_THAT(run({"--embeddings", file, "--truth", folder / "truth.csv", "--k", "3"}).errors,
              HasSubstr("f.csv"));
  write_list(folder / "f.csv", {"path"}, 59);
  const auto list = run({"--embeddings", file, "--k", "3"});
  EXPECT_EQ(list.exit_code, 4);
  EXPECT_THAT(list.errors, HasSubstr("lists 59 paths"));
  const at::Tensor whole = at::arange(8, at::kLong).view({4, 2});
  write_npy(folder / "whole.npy", entry_of("features", whole));
  EXPECT_THAT(run({"--embeddings", folder / "whole.npy", "--k", "2"}).errors,
              HasSubstr("expected float32 or float64"));
  at::Tensor large = at::ones({4, 2});
  large[1][0] = 1e25;
  write_npy(folder / "large.npy", entry_of("features", large));
  EXPECT_THAT(run({"--embeddings", folder / "large.npy", "--k", "2"}).errors, HasSubstr("row 1"));
  at::Tensor nan = at::zeros({4, 2});
  nan[2][0] = std::nan("");
  write_npy(folder / "nan.npy", entry_of("features", nan));
  const auto bad = run({"--embeddings", folder / "nan.npy", "--k", "2"});
  EXPECT_EQ(bad.exit_code, 4);
  EXPECT_THAT(bad.errors, AllOf(HasSubstr("nan.npy"), HasSubstr("row 2")));
}

/// Plain images of three colours, in folders of their colour below labelled/, or in rest/.
void write_images(const TemporaryFolder& folder) {
  const VitConfig tiny{.patch = 8, .width = 64, .depth = 2, .heads = 1, .hidden = 96, .grid = 4};
  save_backbone(folder / "tiny.safetensors", Vit(tiny, random_vit_state(tiny)), {},
                ElementType::kFloat32);
  CsvWriter truth(folder / "truth.csv", {"path", "label"});
  for (int i = 0; i < 24; ++i) {
    const bool labelled = i < 12 && i % 3 < 2;
    const std::string name =
        fmt::format("{}/{}.png", labelled ? fmt::format("labelled/c{}", i % 3) : "rest", i);
    Image image(32, 32);
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x)
        image.at(x, y)[i % 3] = static_cast<std::uint8_t>(200 + (x * i + y) % 20);
    create_folders((folder / name).parent_path());
    write_png(folder / name, image);
    if (!labelled) truth.row({name, fmt::format("c{}", i % 3)});
  }
  truth.commit();
}

TEST(ClusterVerb, LabelledImagesGuideTheClusters) {
  const TemporaryFolder folder;
  write_images(folder);
  std::vector<std::string> command = {"cluster",
                                      "--labelled",
                                      folder / "labelled",
                                      "--unlabelled",
                                      folder / "rest",
                                      "--truth",
                                      folder / "truth.csv",
                                      "--backbone",
                                      folder / "tiny.safetensors",
                                      "--heads",
                                      "1",
                                      "--image-size",
                                      "32",
                                      "--k",
                                      "3",
                                      "--json",
                                      "--device",
                                      "cpu",
                                      "--out",
                                      folder / "c.csv"};
  const auto guided = run_protogcd(command);
  ASSERT_EQ(guided.exit_code, 0) << guided.errors;
  const auto json = nlohmann::json::parse(guided.output);
  EXPECT_TRUE(json.at("semi_supervised").get<bool>());
  EXPECT_EQ(json.at("accuracy").at("samples"), 16);  // the unlabelled ones
  EXPECT_EQ(json.at("accuracy").at("old"), 100);
  EXPECT_EQ(json.at("accuracy").at("new"), 100);
  const CsvTable table = CsvTable::read(folder / "c.csv");
  for (const auto& row : table.rows())
    EXPECT_EQ("c" + row.fields[1], row.fields[2]) << row.fields[0];  // cluster 0 is class c0

  // The centroids as prototypes of a model: it predicts what the clusters said.
  command.insert(command.end(), {"--overwrite", "--save-model", folder / "model"});
  ASSERT_EQ(run_protogcd(command).exit_code, 0);
  const auto predicted =
      run_protogcd({"predict", "--model", folder / "model", "--images", folder / "rest", "--out",
                    folder / "p.csv", "--device", "cpu"});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.errors;
  const CsvTable predictions = CsvTable::read(folder / "p.csv");
  ASSERT_EQ(predictions.rows().size(), 16u);
  std::map<std::string, std::string> clusters;
  for (const auto& row : table.rows())  // paths of the one are relative, of the other absolute
    clusters[folder / row.fields[0]] = row.fields[1];
  for (const auto& row : predictions.rows()) {
    const std::string& cluster = clusters.at(row.fields[0]);
    EXPECT_EQ(row.fields[1], cluster == "2" ? "new-01" : "c" + cluster) << row.fields[0];
    EXPECT_TRUE(row.fields[6] == "0" || row.fields[6] == "1");
  }

  // A trained run's folder keeps its model.
  create_folders(folder / "run/model");
  write_file_atomically(folder / "run/model/model.json", "{}");
  command.back() = folder / "run";
  EXPECT_THAT(run_protogcd(command).errors, HasSubstr("trained run"));

  command.resize(command.size() - 2);
  command.push_back("--no-labels");
  const auto plain = run_protogcd(command);
  ASSERT_EQ(plain.exit_code, 0) << plain.errors;
  EXPECT_FALSE(nlohmann::json::parse(plain.output).at("semi_supervised").get<bool>());
}

TEST(BenchCluster, ReportsAFitAndLloydAlone) {
  const auto result = run_protogcd({"bench", "cluster", "--rows", "500", "--width", "16", "--k",
                                    "5", "--runs", "3", "--device", "cpu", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto results = nlohmann::json::parse(result.output).at("results");
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results.at(0).at("work"), "fit");
  EXPECT_EQ(results.at(1).at("work"), "lloyd");
  // The same start, so the same result.
  EXPECT_EQ(results.at(0).at("inertia"), results.at(1).at("inertia"));
  EXPECT_LE(results.at(0).at("lowest").get<double>(), results.at(0).at("seconds").get<double>());
  const auto refused = run_protogcd({"bench", "cluster", "--rows", "50", "--width", "4", "--k", "5",
                                     "--runs", "1", "--device", "cpu", "--python", "/bin/true"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("/bin/true"));
}

}  // namespace
}  // namespace protogcd
