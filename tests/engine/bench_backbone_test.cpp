// `protogcd bench backbone` and `bench embed` on a tiny random ViT: what they report is consistent,
// and nothing is replaced unasked.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/nn/random_state.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;
using testing::run_protogcd;
using testing::TemporaryFolder;

std::string write_tiny_vit(const std::filesystem::path& file) {
  const VitConfig config{.patch = 8, .width = 64, .depth = 3, .heads = 1, .hidden = 96, .grid = 4};
  const StateDict state = random_vit_state(config, at::kFloat);
  std::vector<TensorEntry> entries;
  for (const auto& [name, tensor] : state.tensors) entries.push_back(entry_of(name, tensor));
  write_safetensors(file, entries);
  return file.string();
}

TEST(BenchBackbone, ReportsARateItsArithmeticAndItsShareOfTheRoof) {
  const TemporaryFolder folder;
  const std::vector<std::string> command = {
      "bench",   "backbone", "--backbone",    write_tiny_vit(folder / "tiny.safetensors"),
      "--runs",  "1",        "--batch",       "4",
      "--dtype", "float32",  "--device",      "cpu",
      "--json",  "--csv",    folder / "b.csv"};
  const auto result = run_protogcd(command);
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto row = nlohmann::json::parse(result.output).at("results").at(0);
  EXPECT_EQ(row.at("batch"), 4);
  EXPECT_EQ(row.at("dtype"), "float32");
  // 17 tokens, 2 frozen blocks: 2*17*(4*64*64 + 2*64*96) + 4*17*17*64 each, and 2*17*64*3*64 for
  // the patches.
  const double operations =
      2 * (2 * 17 * (4 * 64 * 64 + 2 * 64 * 96) + 4 * 17 * 17 * 64) + 2 * 17 * 64 * 3 * 64;
  const double rate = row.at("images_per_second"), achieved = row.at("achieved_gflops");
  EXPECT_GT(rate, 0);
  EXPECT_NEAR(achieved, rate * operations / 1e9,
              0.06 + 1e-3 * achieved);  // printed with one decimal
  EXPECT_NEAR(row.at("share").get<double>(), achieved / row.at("roof_gflops").get<double>(), 0.01);
  EXPECT_EQ(CsvTable::read(folder / "b.csv").rows().size(), 1u);

  const auto again = run_protogcd(command);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.errors, HasSubstr("--csv"));
}

/// Answers as the script in PyTorch does, and logs nothing else: 4 images in half a second.
constexpr const char* kFakePython = R"(#!/bin/sh
echo 9.9
while read -r mode batch; do
  if [ "$batch" = 4 ]; then echo 0.5; elif [ "$batch" = 8 ]; then echo failed; else echo 50; fi
done
)";

TEST(BenchBackbone, StandsBesideTheFastestVariantOfPyTorchInBothTypes) {
  const TemporaryFolder folder;
  const std::filesystem::path python = folder / "python";
  write_file_atomically(python, kFakePython);
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  const auto result = run_protogcd(
      {"bench", "backbone", "--backbone", write_tiny_vit(folder / "tiny.safetensors"), "--runs",
       "1", "--batch", "4", "--device", "cpu", "--json", "--python", python});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto rows = nlohmann::json::parse(result.output).at("results");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("dtype"), "float32");
  EXPECT_EQ(rows[1].at("dtype"), "bfloat16");
  for (const auto& row : rows) {
    EXPECT_EQ(row.at("torch"), "9.9 eager 4");
    EXPECT_EQ(row.at("torch_images_per_second"), 8);
    EXPECT_NEAR(row.at("ratio").get<double>(), row.at("images_per_second").get<double>() / 8, 0.01);
  }
}

TEST(BenchBackbone, APythonWithoutTorchIsAUsageError) {
  const TemporaryFolder folder;
  for (const char* python : {"/bin/false", "/no/such/program"}) {
    const auto result =
        run_protogcd({"bench", "backbone", "--backbone",
                      write_tiny_vit(folder / "tiny.safetensors"), "--python", python});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.errors, HasSubstr("--python"));
    EXPECT_THAT(result.errors, HasSubstr("import torch"));
    std::filesystem::remove(folder / "tiny.safetensors");
  }
}

TEST(BenchEmbed, ReportsBothHalvesAndTheWhole) {
  const TemporaryFolder folder;
  const auto result =
      run_protogcd({"bench", "embed", "--backbone", write_tiny_vit(folder / "tiny.safetensors"),
                    "--images", "50", "--runs", "1", "--device", "cpu", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.output);
  const double decoding = json.at("decoding_images_per_second"),
               model = json.at("model_images_per_second"),
               embed = json.at("embed_images_per_second"),
               bound = json.at("shared_bound_images_per_second");
  EXPECT_NEAR(bound, decoding * model / (decoding + model), 1e-6 * bound);
  EXPECT_NEAR(json.at("share_of_slower"), embed / std::min(decoding, model), 1e-6);
  EXPECT_NEAR(json.at("share_of_shared_bound"), embed / bound, 1e-6);
}

}  // namespace
}  // namespace protogcd
