// `protogcd embed` through the command line, on a tiny random ViT: the numbers, the files, kills.
#include <ATen/ATen.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <regex>

#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/npy.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/image/encode.h"
#include "protogcd/image/image_reader.h"
#include "protogcd/image/transform.h"
#include "protogcd/nn/random_state.h"
#include "protogcd/nn/vit.h"
#include "tests/data/layouts.h"
#include "tests/image/image_helpers.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::random_image;
using testing::run_protogcd;
using testing::TemporaryFolder;

constexpr int kSide = 32;
const VitConfig kTiny{.patch = 8, .width = 128, .depth = 3, .heads = 2, .hidden = 96, .grid = 4};

/// A folder with a backbone and some images, and the command that embeds them.
struct Work {
  explicit Work(int images, const VitConfig& config = kTiny, int size = 40) {
    state = random_vit_state(config);
    std::vector<TensorEntry> entries;
    for (auto& [name, tensor] : state.tensors) {
      tensor = tensor.to(at::kFloat);
      entries.push_back(entry_of(name, tensor));
    }
    write_safetensors(folder / "tiny.safetensors", entries);
    create_folders(folder / "images/sub");
    for (int i = 0; i < images; ++i) {
      const std::string name = std::to_string(10000 + i) + ".png";
      write_png(folder / "images" / (i % 2 == 0 ? "" : "sub") / name,
                random_image(size, size + 10, static_cast<std::uint64_t>(i)));
    }
  }

  std::vector<std::string> command(std::vector<std::string> more = {},
                                   const std::string& out = "features.npy") const {
    std::vector<std::string> words = {
        "embed", "--images",   folder / "images", "--backbone",         folder / "tiny.safetensors",
        "--out", folder / out, "--image-size",    std::to_string(kSide)};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  /// What the plain model gives for the image of each row.
  at::Tensor expected_tokens(at::ScalarType type, const Normalization& normalization = {}) const {
    const Vit vit(kTiny, state, type);
    ImageReader reader({.apply_orientation = true});
    std::vector<at::Tensor> tokens;
    const CsvTable table = CsvTable::read(folder / "features.csv");
    for (const auto& row : table.rows()) {
      Image view;
      EXPECT_FALSE(
          reader.read_center_view(folder / row.fields[0], ViewSize::for_crop(kSide), view));
      at::Tensor pixels = at::empty({1, 3, kSide, kSide}, at::kFloat);
      Normalizer(normalization)
          .apply(view, {0, 0, kSide, kSide}, false,
                 {static_cast<float*>(pixels.data_ptr()), 3 * kSide * kSide});
      tokens.push_back(vit.forward_tokens(pixels.to(type)));
    }
    return at::cat(tokens, 0);
  }

  TemporaryFolder folder;
  StateDict state;
};

at::Tensor read_array(const std::filesystem::path& path) {
  const auto file = std::make_shared<NpyFile>(path);
  return tensor_of(file->array(), file).clone();
}

double deviation(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  return ((actual - expected).abs().max() / expected.abs().max()).item<double>();
}

TEST(Embed, FastDecodeIsNearButNotExact) {
  const Work work(0);
  Image photo(640, 480);
  for (int y = 0; y < photo.height; ++y) {
    for (int x = 0; x < photo.width; ++x) {
      photo.at(x, y)[0] = static_cast<std::uint8_t>(128 + 100 * std::sin(x / 50.0));
      photo.at(x, y)[1] = static_cast<std::uint8_t>(128 + 100 * std::cos(y / 40.0));
      photo.at(x, y)[2] = static_cast<std::uint8_t>((x + y) / 5);
    }
  }
  write_file_atomically(work.folder / "images/photo.jpg", encode_jpeg(photo));
  ASSERT_EQ(run_protogcd(work.command({"--dtype", "float32"}, "exact.npy")).exit_code, 0);
  ASSERT_EQ(
      run_protogcd(work.command({"--dtype", "float32", "--fast-decode"}, "fast.npy")).exit_code, 0);
  const double difference =
      deviation(read_array(work.folder / "fast.npy"), read_array(work.folder / "exact.npy"));
  EXPECT_GT(difference, 0);
  EXPECT_LT(difference, 0.1);
}

TEST(Embed, PhotosOfABenchmarkStayAsTheyLieAndOnesOwnAreTurnedUpright) {
  const Work work(0);
  testing::make_aircraft(work.folder / "planes");
  const std::string jpeg = encode_jpeg(random_image(60, 40, 1));
  const std::string turned(
      "\xFF\xE1\x00\x22"
      "Exif\0\0MM\0\x2A\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0",
      36);
  const auto put = [&](const char* name, const std::string& bytes) {
    testing::put_file(work.folder / name, bytes);
  };
  put("planes/data/images/0009000.jpg", jpeg.substr(0, 2) + turned + jpeg.substr(2));  // its test
  put("own/a.jpg", jpeg.substr(0, 2) + turned + jpeg.substr(2));
  put("lying/a.jpg", jpeg);
  const auto features = [&](const std::string& set, const std::string& out) {
    const auto result = run_protogcd({"embed", "--images", set, "--backbone",
                                      work.folder / "tiny.safetensors", "--out", work.folder / out,
                                      "--image-size", std::to_string(kSide), "--dtype", "float32"});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return read_array(work.folder / out);
  };
  const at::Tensor lying = features(work.folder / "lying", "lying.npy");
  const std::string planes = "aircraft:" + (work.folder / "planes").string();
  EXPECT_TRUE(at::equal(features(planes, "planes.npy"), lying));
  EXPECT_FALSE(at::equal(features(work.folder / "own", "own.npy"), lying));
}

TEST(Embed, FeaturesAreThePlainModelsClassToken) {
  const Work work(7);
  const auto result = run_protogcd(work.command({"--dtype", "float32", "--batch", "3", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json.at("images"), 7);
  EXPECT_EQ(json.at("skipped"), 0);
  EXPECT_EQ(json.at("width"), 128);
  EXPECT_GT(json.at("images_per_second").get<double>(), 0);
  const at::Tensor features = read_array(work.folder / "features.npy");
  EXPECT_EQ(features.scalar_type(), at::kFloat);
  EXPECT_LT(deviation(features, work.expected_tokens(at::kFloat).select(1, 0)), 1e-5);
  EXPECT_FALSE(std::filesystem::exists(work.folder / "skipped.csv"));
  EXPECT_FALSE(std::filesystem::exists(work.folder / ".features.npy.partial"));
}

TEST(Embed, Float64IsExact) {
  const Work work(4);
  const auto result = run_protogcd(work.command({"--dtype", "float64", "--batch", "3"}));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_LT(deviation(read_array(work.folder / "features.npy"),
                      work.expected_tokens(at::kDouble).select(1, 0)),
            1e-12);
}

TEST(Embed, TokensAreThePlainModelsAndTheirFirstIsTheFeature) {
  const Work work(4);
  const auto result = run_protogcd(work.command({"--dtype", "float64", "--tokens"}));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const at::Tensor tokens = read_array(work.folder / "features-tokens.npy");
  EXPECT_LT(deviation(tokens, work.expected_tokens(at::kDouble)), 1e-12);
  EXPECT_TRUE(at::equal(tokens.select(1, 0), read_array(work.folder / "features.npy")));
}

TEST(Embed, MeanAndStdReplaceTheBackbonesOwn) {
  const Work work(3);
  const auto result =
      run_protogcd(work.command({"--dtype", "float64", "--mean", "0.5", "--std", "0.5,0.25,0.4"}));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const Normalization half{.mean = {0.5F, 0.5F, 0.5F}, .deviation = {0.5F, 0.25F, 0.4F}};
  EXPECT_LT(deviation(read_array(work.folder / "features.npy"),
                      work.expected_tokens(at::kDouble, half).select(1, 0)),
            1e-12);
  EXPECT_THAT(run_protogcd(work.command({"--std", "0.5,0"}, "other.npy")).errors,
              HasSubstr("--std: '0.5,0' is not allowed"));
}

TEST(Embed, BadImagesAreSkippedAndListed) {
  const Work work(6);
  write_file_atomically(work.folder / "images/10002.png", "broken");
  const auto refused = run_protogcd(work.command({"--max-bad", "0"}));
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("--max-bad"), HasSubstr("10002.png: ")));
  // What was computed is not thrown away.
  EXPECT_EQ(CsvTable::read(work.folder / "features.csv").rows().size(), 5u);
  const auto result =
      run_protogcd(work.command({"--json", "--batch", "3", "--overwrite", "--dtype", "float32"}));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(nlohmann::json::parse(result.output).at("skipped"), 1);
  EXPECT_EQ(CsvTable::read(work.folder / "features.csv").rows().size(), 5u);
  EXPECT_LT(deviation(read_array(work.folder / "features.npy"),
                      work.expected_tokens(at::kFloat).select(1, 0)),
            1e-5);
  const CsvTable skipped = CsvTable::read(work.folder / "skipped.csv");
  ASSERT_EQ(skipped.rows().size(), 1u);
  EXPECT_EQ(skipped.rows()[0].fields[0], "images/10002.png");
}

TEST(Embed, KindsThatCannotBeReadAreWarnedAboutAndListedAndCountAgainstNoLimit) {
  const Work work(3);
  write_file_atomically(work.folder / "images/photo.cr2", "II*");
  write_file_atomically(work.folder / "images/notes.txt", "x");
  const auto result = run_protogcd(work.command({"--bad-images", "fail", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.errors, AllOf(HasSubstr("1 image files are of kinds that cannot be read"),
                                   HasSubstr("1 cr2"), HasSubstr("1 other files ignored")));
  EXPECT_EQ(nlohmann::json::parse(result.output).at("images"), 3);
  EXPECT_EQ(nlohmann::json::parse(result.output).at("skipped"), 1);
  const CsvTable skipped = CsvTable::read(work.folder / "skipped.csv");
  ASSERT_EQ(skipped.rows().size(), 1u);
  EXPECT_THAT(skipped.rows()[0].fields,
              ::testing::ElementsAre("images/photo.cr2", HasSubstr("raw file")));
}

TEST(Embed, DoesNotOverwriteUnlessTold) {
  const Work work(2);
  ASSERT_EQ(run_protogcd(work.command()).exit_code, 0);
  const auto refused = run_protogcd(work.command());
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("exists already"), HasSubstr("--overwrite")));
  EXPECT_EQ(run_protogcd(work.command({"--overwrite"})).exit_code, 0);
}

TEST(Embed, WrongInputIsNamed) {
  const Work work(2);
  const auto backbone = run_protogcd({"embed", "--images", work.folder / "images", "--backbone",
                                      "dino-vitb61", "--out", work.folder / "x.npy"});
  EXPECT_EQ(backbone.exit_code, 2);
  EXPECT_THAT(backbone.errors, HasSubstr("did you mean 'dino-vitb16'?"));
  write_file_atomically(work.folder / "page.pth", "<html>not found</html>");
  const auto page = run_protogcd({"embed", "--images", work.folder / "images", "--backbone",
                                  work.folder / "page.pth", "--out", work.folder / "x.npy"});
  EXPECT_EQ(page.exit_code, 5);
  EXPECT_THAT(page.errors, HasSubstr("is a web page"));
  create_folders(work.folder / "empty");
  const auto empty =
      run_protogcd({"embed", "--images", work.folder / "empty", "--backbone",
                    work.folder / "tiny.safetensors", "--out", work.folder / "x.npy"});
  EXPECT_EQ(empty.exit_code, 4);
  EXPECT_THAT(empty.errors, HasSubstr("no image files"));
  const auto size = run_protogcd({"embed", "--images", work.folder / "images", "--backbone",
                                  work.folder / "tiny.safetensors", "--out", work.folder / "x.npy",
                                  "--image-size", "30"});
  EXPECT_EQ(size.exit_code, 2);
  EXPECT_THAT(size.errors, HasSubstr("--image-size: 30 is no multiple"));
  EXPECT_EQ(run_protogcd(work.command({}, "features.bin")).exit_code, 2);
}

/// Starts the program and sends it a signal once it has promised some rows.
testing::ProgramResult signal_in_the_middle(const Work& work,
                                            const std::vector<std::string>& arguments, int number) {
  const auto journal = work.folder / ".features.npy.partial/journal";
  return testing::signal_protogcd(arguments, number, [&] {
    std::error_code error;
    return std::filesystem::file_size(journal, error) > 0 && !error;
  });
}

/// Many small steps, one of them with an image that cannot be read, and the files of a run that
/// nothing stopped.
struct SlowWork : Work {
  SlowWork() : Work(120, kTiny, 150) {
    write_file_atomically(folder / "images/10004.png", "broken");
    slow = command({"--batch", "1", "--image-size", "128", "--max-bad", "1", "--json", "--dtype",
                    "float32", "--threads", "1"});
    // The first --image-size of the command would be given twice.
    slow.erase(slow.begin() + 7, slow.begin() + 9);
    auto whole = slow;
    whole[6] = folder / "whole.npy";
    EXPECT_EQ(run_protogcd(whole).exit_code, 0);
    std::filesystem::rename(folder / "skipped.csv", folder / "whole-skipped.csv");
  }

  void expect_resumes_to_the_same_bytes() const {
    auto command = slow;
    command.emplace_back("--resume");
    const auto result = run_protogcd(command);
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    const auto json = nlohmann::json::parse(result.output);
    EXPECT_GT(json.at("resumed").get<int>(), 0);
    EXPECT_LT(json.at("resumed").get<int>(), 120);
    EXPECT_EQ(json.at("images"), 119);
    for (const auto& [ours, theirs] : {std::pair{"features.npy", "whole.npy"},
                                       {"features.csv", "whole.csv"},
                                       {"skipped.csv", "whole-skipped.csv"}}) {
      EXPECT_EQ(read_text_file(folder / ours), read_text_file(folder / theirs)) << ours;
    }
    EXPECT_FALSE(std::filesystem::exists(folder / ".features.npy.partial"));
  }

  std::vector<std::string> slow;
};

TEST(Embed, AKilledRunGoesOnToTheSameBytes) {
  const SlowWork work;
  ASSERT_EQ(signal_in_the_middle(work, work.slow, SIGKILL).exit_code, -SIGKILL);
  EXPECT_FALSE(std::filesystem::exists(work.folder / "features.npy"));
  const auto refused = run_protogcd(work.slow);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("--resume"));

  auto other = work.slow;
  other.insert(other.end(), {"--resume", "--mean", "0.5"});
  EXPECT_THAT(run_protogcd(other).errors, HasSubstr("begun with other preprocessing"));
  work.expect_resumes_to_the_same_bytes();
}

TEST(Embed, CtrlCKeepsWhatIsDoneAndSaysHowToGoOn) {
  const SlowWork work;
  const auto stopped = signal_in_the_middle(work, work.slow, SIGINT);
  ASSERT_EQ(stopped.exit_code, 130);
  const std::string& errors = stopped.errors;
  EXPECT_THAT(errors, AllOf(HasSubstr("Ctrl-C again"), HasSubstr("--resume")));
  // Every image it speaks of is in the journal.
  std::smatch match;
  ASSERT_TRUE(std::regex_search(errors, match, std::regex("interrupted: (\\d+) of 120 images")));
  EXPECT_THAT(read_text_file(work.folder / ".features.npy.partial/journal"),
              HasSubstr("\ndone " + match[1].str() + " "));
  EXPECT_FALSE(std::filesystem::exists(work.folder / "features.npy"));
  work.expect_resumes_to_the_same_bytes();
}

}  // namespace
}  // namespace protogcd
