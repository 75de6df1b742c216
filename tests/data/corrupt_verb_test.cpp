// `protogcd corrupt` as a user runs it.
#include <gmock/gmock.h>

#include <map>

#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/random.h"
#include "protogcd/image/decode.h"
#include "protogcd/image/encode.h"
#include "tests/data/layouts.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Image noise(int width, int height, std::uint64_t seed) {
  RandomStream random({.seed = seed});
  Image image(width, height);
  for (auto& value : image.pixels) value = static_cast<std::uint8_t>(random.below(256));
  return image;
}

/// Every file below a folder and its bytes.
std::map<std::string, std::string> files_below(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    files[entry.path().lexically_relative(folder).string()] = read_text_file(entry.path());
  }
  return files;
}

class CorruptVerb : public ::testing::Test {
 protected:
  CorruptVerb() {
    put_file(folder_ / "in/cat/1.png", encode_png(noise(32, 24, 1)));
    put_file(folder_ / "in/cat/old/2.jpg", encode_jpeg(noise(20, 20, 2)));
    put_file(folder_ / "in/3.PNG", encode_png(noise(80, 70, 3)));
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  ProgramResult run(const std::string& out, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command = {"corrupt", "--images", at("in"), "--out", at(out)};
    command.insert(command.end(), more.begin(), more.end());
    return run_protogcd(command);
  }
  TemporaryFolder folder_;
};

TEST_F(CorruptVerb, WritesEveryCorruptionAndSeverityBelowTheOutput) {
  const auto result = run("out", {"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto summary = nlohmann::json::parse(result.output);
  EXPECT_EQ(summary["images"], 3);
  EXPECT_EQ(summary["skipped"], 0);
  EXPECT_EQ(summary["files"], 3 * 15 * 5);
  EXPECT_EQ(summary["corruptions"].size(), 15u);
  EXPECT_EQ(summary["severities"], nlohmann::json({1, 2, 3, 4, 5}));
  const auto files = files_below(folder_ / "out");
  EXPECT_EQ(files.size(), 3u * 15 * 5);
  for (const char* name : {"fog/1/cat/1.png", "snow/5/cat/old/2.png", "jpeg_compression/3/3.png"}) {
    EXPECT_TRUE(files.contains(name)) << name;
  }
  const auto image = read_image(folder_ / "out/frost/2/cat/1.png");
  EXPECT_EQ(std::get<Image>(image).size(), (ImageSize{32, 24}));
}

TEST_F(CorruptVerb, BytesDependOnSeedAndNameAlone) {
  ASSERT_EQ(run("one", {"--threads", "1", "--seed", "7"}).exit_code, 0);
  ASSERT_EQ(run("other", {"--seed", "8", "--corruptions", "fog"}).exit_code, 0);
  put_file(folder_ / "in/a-new-one.png", encode_png(noise(9, 9, 4)));
  ASSERT_EQ(run("many", {"--threads", "5", "--seed", "7"}).exit_code, 0);
  const auto one = files_below(folder_ / "one");
  auto many = files_below(folder_ / "many");
  std::erase_if(many, [](const auto& file) { return file.first.ends_with("/a-new-one.png"); });
  EXPECT_TRUE(one == many);
  for (const auto& [name, bytes] : files_below(folder_ / "other")) {
    EXPECT_NE(bytes, one.at(name)) << name;
  }
}

TEST_F(CorruptVerb, WritesWhatWasChosenAndASheetOfIt) {
  const auto result = run(
      "out", {"--corruptions", "fog, snow,fog", "--severities", "5,1", "--sheet", at("sheet.png")});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("3 images, 2 corruptions, 2 severities: 12 files"));
  EXPECT_EQ(files_below(folder_ / "out").size(), 12u);
  // Two rows of the clean first image (80x70) and its two severities, 2 pixels apart.
  const auto sheet = std::get<Image>(read_image(folder_ / "sheet.png"));
  EXPECT_EQ(sheet.size(), (ImageSize{3 * 80 + 4, 2 * 70 + 2}));
}

TEST_F(CorruptVerb, ReplacesOnlyAnEarlierFolderOfItsKind) {
  const std::vector<std::string> fog = {"--corruptions", "fog", "--severities", "1"};
  ASSERT_EQ(run("out", fog).exit_code, 0);
  const auto again = run("out", fog);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.errors, AllOf(HasSubstr(at("out")), HasSubstr("--overwrite")));
  const auto forced = run("out", {"--corruptions", "snow", "--severities", "2", "--overwrite"});
  EXPECT_EQ(forced.exit_code, 0) << forced.errors;
  EXPECT_EQ(files_below(folder_ / "out").size(), 3u);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/snow/2/3.png"));

  put_file(folder_ / "out/snow/2/notes.txt", "mine");
  const auto foreign = run("out", {"--corruptions", "fog", "--overwrite"});
  EXPECT_EQ(foreign.exit_code, 2);
  EXPECT_THAT(foreign.errors, HasSubstr("not a folder of corrupted images"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/snow/2/notes.txt"));
}

TEST_F(CorruptVerb, UnreadableImagesAreSkippedWithinTheLimit) {
  put_file(folder_ / "in/page.jpg", "<html>404</html>");
  const auto strict = run("out", {"--max-bad", "0"});
  EXPECT_EQ(strict.exit_code, 4);
  EXPECT_THAT(strict.errors, AllOf(HasSubstr("in/page.jpg"), HasSubstr("--max-bad")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  const auto failing = run("out", {"--bad-images", "fail", "--max-bad", "50%"});
  EXPECT_EQ(failing.exit_code, 4);
  EXPECT_THAT(failing.errors, HasSubstr("in/page.jpg"));

  const auto patient = run("out", {"--max-bad", "50%", "--corruptions", "fog", "--json"});
  ASSERT_EQ(patient.exit_code, 0) << patient.errors;
  EXPECT_EQ(nlohmann::json::parse(patient.output)["skipped"], 1);
  const CsvTable skipped = CsvTable::read(folder_ / "out/skipped.csv");
  ASSERT_EQ(skipped.rows().size(), 1u);
  EXPECT_THAT(skipped.rows()[0].fields, ElementsAre("../in/page.jpg", HasSubstr("HTML")));
  EXPECT_EQ(run("out", {"--max-bad", "50%", "--corruptions", "snow", "--overwrite"}).exit_code, 0);
}

TEST_F(CorruptVerb, WrongInputIsNamed) {
  const auto unknown = run("out", {"--corruptions", "fog,gausian_noise"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.errors, AllOf(HasSubstr("--corruptions"), HasSubstr("'gausian_noise'"),
                                    HasSubstr("did you mean 'gaussian_noise'")));
  for (const char* severity : {"0", "6", "x", "", "1,,2"}) {
    const auto wrong = run("out", {"--severities", severity});
    EXPECT_EQ(wrong.exit_code, 2) << severity;
    EXPECT_THAT(wrong.errors, HasSubstr("--severities")) << severity;
  }
  const auto within = run("in/out");
  EXPECT_EQ(within.exit_code, 2);
  EXPECT_THAT(within.errors, AllOf(HasSubstr("in/out"), HasSubstr("--images")));
  EXPECT_EQ(run(".", {"--overwrite"}).exit_code, 2);

  const auto absent = run_protogcd({"corrupt", "--images", at("no"), "--out", at("out")});
  EXPECT_EQ(absent.exit_code, 4);
  EXPECT_THAT(absent.errors, HasSubstr(at("no")));
  std::filesystem::create_directory(folder_ / "empty");
  const auto empty = run_protogcd({"corrupt", "--images", at("empty"), "--out", at("out")});
  EXPECT_EQ(empty.exit_code, 4);
  EXPECT_THAT(empty.errors, HasSubstr("no image files"));

  put_image(folder_ / "in/cat/1.jpg");
  const auto twins = run("out");
  EXPECT_EQ(twins.exit_code, 4);
  EXPECT_THAT(twins.errors, AllOf(HasSubstr("in/cat/1.png"), HasSubstr("in/cat/1.jpg")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

}  // namespace
}  // namespace protogcd
