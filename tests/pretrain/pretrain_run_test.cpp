// `protogcd pretrain` from images to a backbone: learning, stopping, resuming, refusing.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/data/drawn/shapes_dataset.h"
#include "protogcd/data/user_data.h"
#include "protogcd/image/encode.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/pretrain/augment.h"
#include "protogcd/pretrain/pixel_set.h"
#include "protogcd/pretrain/pretrainer.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::run_protogcd;
using testing::signal_protogcd;

/// Four shapes of 24 pixels, shared by all tests, and a ViT of two blocks.
class Pretrain : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shapes_ = new testing::TemporaryFolder;
    drawn::write_shapes_dataset(
        {.out = *shapes_ / "train", .classes = 4, .per_class = 40, .size = 24},
        {.threads = 2, .seed = 1});
  }
  static void TearDownTestSuite() {
    delete shapes_;
    shapes_ = nullptr;
  }

  static std::string train_folder() { return (*shapes_ / "train").string(); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  /// `more` replaces what it names again.
  std::vector<std::string> command(const std::string& out,
                                   const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"pretrain", "--json", "--threads", "1", "--out", at(out)};
    for (const auto& [flag, value] :
         std::map<std::string, std::string>{{"--labelled", train_folder()},
                                            {"--depth", "2"},
                                            {"--width", "32"},
                                            {"--heads", "2"},
                                            {"--patch", "6"},
                                            {"--size", "24"},
                                            {"--batch-size", "16"}}) {
      if (std::ranges::find(more, flag) == more.end()) words.insert(words.end(), {flag, value});
    }
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  nlohmann::json train(const std::string& out, const std::vector<std::string>& more) const {
    const ProgramResult result = run_protogcd(command(out, more));
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return parse_json_or_discard(result.output);
  }
  /// Lines of metrics without the time they took.
  std::vector<nlohmann::json> metrics(const std::string& out) const {
    std::vector<nlohmann::json> lines;
    std::istringstream text(read_text_file(at(out) + ".metrics.jsonl"));
    for (std::string line; std::getline(text, line);) {
      lines.push_back(nlohmann::json::parse(line));
      lines.back().erase("images_per_second");
    }
    return lines;
  }

  static Context quiet() { return {.device = "cpu", .dtype = "float32", .threads = 1}; }
  PretrainOptions tiny(const std::string& out, std::int64_t steps) const {
    PretrainOptions options;
    options.out = at(out);
    options.depth = options.heads.emplace(2);
    options.width = 32;
    options.patch = 6;
    options.size = 24;
    options.steps = steps;
    options.batch = 16;
    return options;
  }
  /// Without the program around it, which saves the time to start.
  static PretrainSummary run(const PretrainOptions& options,
                             const std::string& labelled = train_folder()) {
    return pretrain(load_folders(labelled, {}), {}, options, BadImagePolicy::parse("skip", "100%"),
                    quiet());
  }
  static void expect_error(const PretrainOptions& options, int code, const std::string& text,
                           const std::string& labelled = train_folder()) {
    try {
      run(options, labelled);
      ADD_FAILURE() << "no error, expected: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), code) << error.what();
      EXPECT_THAT(std::string(error.what()) + error.hint(), HasSubstr(text));
    }
  }

  static testing::TemporaryFolder* shapes_;
  testing::TemporaryFolder folder_;
};

testing::TemporaryFolder* Pretrain::shapes_ = nullptr;

TEST_F(Pretrain, LearnsToTellShapesApart) {
  const auto summary =
      train("b.safetensors", {"--steps", "300", "--lr", "3e-3", "--augment", "none", "--monitor",
                              train_folder(), "--monitor-every", "150", "--knn", "5"});
  EXPECT_EQ(summary["images"], 160);
  EXPECT_EQ(summary["classes"], 4);
  EXPECT_GT(summary["accuracy"], 0.7) << "chance is 0.25";
  EXPECT_LT(summary["loss"], 1.0) << "chance is 1.386";
  EXPECT_GT(summary["knn"], 0.5);
  const auto lines = metrics("b.safetensors");
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0]["step"], 50);
  EXPECT_GT(lines[0]["loss"], lines[5]["loss"]);
  EXPECT_FALSE(lines[1].contains("knn"));
  EXPECT_TRUE(lines[2].contains("knn"));
  EXPECT_FALSE(fs::exists(at("b.safetensors.state")));
}

TEST_F(Pretrain, TheFileIsABackboneWithTheFeaturesOfTraining) {
  run(tiny("b.safetensors", 3));
  const Backbone backbone = load_backbone({at("b.safetensors"), {}, {}});
  EXPECT_EQ(backbone.config.heads, 2);
  EXPECT_EQ(backbone.config.patch, 6);
  EXPECT_EQ(backbone.config.grid, 4);
  EXPECT_EQ(backbone.preprocessing.size, 24);
  EXPECT_EQ(backbone.preprocessing.mean, Preprocessing{}.mean);
  EXPECT_TRUE(backbone.vit.unused().empty());

  // Training's own forward pass, with the file's weights.
  const Context context = quiet();
  const PixelSet set = load_pixels(load_folders(train_folder(), {}), 24, {}, at::kCPU, {}, context);
  const at::Tensor images =
      ViewMaker(Augment::kNone, {}, at::kFloat, at::kCPU).plain(set.pixels.narrow(0, 0, 8));
  PretrainNetwork network(backbone.config, place(context), 0, 9);
  const at::NoGradGuard no_grad;
  const auto from_file = named_tensors(backbone.vit);
  for (const auto& [name, tensor] : network.named_parameters()) {
    EXPECT_FALSE(tensor.dim() > 1 && tensor.equal(from_file.at(name))) << name;
    tensor.copy_(from_file.at(name));
  }
  EXPECT_TRUE(at::allclose(network.features(images), backbone.vit.forward(images), 1e-5, 1e-6));
}

TEST_F(Pretrain, ABackboneInBfloat16EmbedsWithoutMoreFlags) {
  train("b.safetensors", {"--steps", "2", "--weights-dtype", "bfloat16"});
  const StateDict state = load_state_dict(at("b.safetensors"));
  EXPECT_EQ(state.tensors.at("norm.weight").scalar_type(), at::kBFloat16);
  EXPECT_EQ(state.metadata.at("protogcd.heads"), "2");
  const auto embedded = run_protogcd({"embed", "--images", train_folder(), "--backbone",
                                      at("b.safetensors"), "--out", at("f.npy"), "--json"});
  ASSERT_EQ(embedded.exit_code, 0) << embedded.errors;
  EXPECT_EQ(nlohmann::json::parse(embedded.output)["width"], 32);
}

const std::vector<std::string> kEverything = {"--steps",         "40",     "--drop-path",    "0.2",
                                              "--augment",       "colour", "--report-every", "7",
                                              "--monitor-every", "20",     "--monitor"};

TEST_F(Pretrain, StoppedAndResumedItGivesTheSameBits) {
  auto more = kEverything;
  more.push_back(train_folder());
  train("straight.safetensors", more);
  more.insert(more.end(), {"--checkpoint-seconds", "0"});
  const auto stopped = signal_protogcd(command("stopped.safetensors", more), SIGINT, [&] {
    return fs::exists(at("stopped.safetensors.metrics.jsonl"));
  });
  ASSERT_EQ(stopped.exit_code, 130) << stopped.errors;
  EXPECT_THAT(stopped.errors, AllOf(HasSubstr("stopped at step"), HasSubstr("--resume")));
  EXPECT_FALSE(fs::exists(at("stopped.safetensors")));
  EXPECT_TRUE(fs::exists(at("stopped.safetensors.state")));

  const auto refused = run_protogcd(command("stopped.safetensors", more));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("unfinished"), HasSubstr("--resume")));
  more.push_back("--resume");
  auto other = more;
  other.insert(other.end(), {"--lr", "0.01"});
  const auto another = run_protogcd(command("stopped.safetensors", other));
  EXPECT_EQ(another.exit_code, 2);
  EXPECT_THAT(another.errors, HasSubstr("another schedule"));

  // Killed once more, at a moment that nothing prepares for.
  const auto metrics_file = at("stopped.safetensors.metrics.jsonl");
  const auto seen = fs::file_size(metrics_file);
  const auto killed = signal_protogcd(command("stopped.safetensors", more), SIGKILL,
                                      [&] { return fs::file_size(metrics_file) > seen; });
  EXPECT_EQ(killed.exit_code, -SIGKILL);
  train("stopped.safetensors", more);
  EXPECT_EQ(read_text_file(at("stopped.safetensors")), read_text_file(at("straight.safetensors")));
  EXPECT_EQ(metrics("stopped.safetensors"), metrics("straight.safetensors"));
  EXPECT_FALSE(fs::exists(at("stopped.safetensors.state")));
}

TEST_F(Pretrain, NothingIsLostUnasked) {
  PretrainOptions options = tiny("b.safetensors", 2);
  run(options);
  const auto bytes = read_text_file(at("b.safetensors"));
  expect_error(options, 2, "add overwrite");
  fs::rename(at("b.safetensors"), at("kept.safetensors"));
  expect_error(options, 2, "metrics.jsonl");
  fs::rename(at("kept.safetensors"), at("b.safetensors"));
  options.resume = true;
  expect_error(options, 2, "no unfinished training");
  EXPECT_EQ(read_text_file(at("b.safetensors")), bytes);
  options.resume = false;
  options.overwrite = true;
  options.rate = 0.01;
  run(options);
  EXPECT_NE(read_text_file(at("b.safetensors")), bytes);
  EXPECT_EQ(metrics("b.safetensors").size(), 1u) << "the first training's lines are gone";
  const auto both = run_protogcd(command("b.safetensors", {"--resume", "--overwrite"}));
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.errors, HasSubstr("contradict"));
}

TEST_F(Pretrain, SaysWhatIsWrongWithItsImages) {
  fs::create_directories(folder_ / "one");
  fs::copy(train_folder() + "/shape-000", folder_ / "one/shape-000");
  fs::create_directories(folder_ / "none/empty");
  for (const char* name : {"a", "b"}) {
    fs::create_directories(folder_ / "broken" / name);
    std::ofstream(folder_ / "broken" / name / "1.png") << "not a picture";
  }
  const PretrainOptions options = tiny("b.safetensors", 1);
  expect_error(options, 4, "1 class", at("one"));
  expect_error(options, 4, "none", at("none"));
  expect_error(options, 4, "none of the", at("broken"));
  expect_error(options, 4, "absent", at("absent"));
}

TEST_F(Pretrain, SaysWhatIsWrongWithItsOptions) {
  PretrainOptions options = tiny("b.safetensors", 20);
  options.size = 25;
  expect_error(options, 2, "size: 25 is no multiple of the patch size 6");
  options = tiny("b.safetensors", 20);
  options.heads = 5;
  expect_error(options, 2, "32 channels cannot be divided among 5 heads");
  options = tiny("b.safetensors", 20);
  options.rate = 1e30;
  options.warmup = 0;
  expect_error(options, 2, "diverged");
  options = tiny("absent/b.safetensors", 20);
  expect_error(options, 7, "absent");
  const auto without = run_protogcd(command("b.safetensors", {"--monitor-truth", at("truth.csv")}));
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.errors, HasSubstr("--monitor too"));
  EXPECT_FALSE(fs::exists(at("b.safetensors")));
}

TEST_F(Pretrain, DamagedStateIsRefused) {
  std::ofstream(at("b.safetensors.state")) << "garbage";
  PretrainOptions options = tiny("b.safetensors", 2);
  options.resume = true;
  expect_error(options, 5, "b.safetensors.state");
}

}  // namespace
}  // namespace protogcd
