// What else is in a collection, through the command line: what was planted is in findings.csv.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "protogcd/core/files.h"
#include "protogcd/image/decode.h"
#include "protogcd/image/encode.h"
#include "protogcd/image/resize.h"
#include "protogcd/run/findings_file.h"
#include "protogcd/run/run_result.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::json_of;
using testing::run_protogcd;
using testing::TemporaryFolder;

Image read(const fs::path& file) {
  return std::get<Image>(read_image(file, {}));
}

/// 160 labelled images of the demo's ten known categories and a few unlabelled ones.
void draw_collection(const fs::path& demo) {
  const auto drawn =
      run_protogcd({"datasets", "make-demo", "--out", demo.string(), "--per-class", "32"});
  ASSERT_EQ(drawn.exit_code, 0) << drawn.errors;
  std::size_t kept = 0;
  for (const auto& entry : fs::directory_iterator(demo / "unlabelled"))
    if (++kept > 40) fs::remove(entry.path());
}

void plant(const fs::path& demo) {
  const fs::path labelled = demo / "labelled", unlabelled = demo / "unlabelled";
  fs::rename(labelled / "fish/0005.png", labelled / "house/misplaced fish.png");
  fs::rename(labelled / "mug/0006.png", labelled / "bolt/misplaced mug.png");
  const Image house = read(labelled / "house/0002.png");
  write_png(unlabelled / "larger house.png", resize_bicubic(house, {90, 90}));
  fs::copy_file(labelled / "house/0004.png", labelled / "key/a house.png");
  fs::rename(labelled / "star/0003.png", labelled / "mug/misplaced star.png");
  Image dark = read(labelled / "key/0004.png");
  for (std::uint8_t& value : dark.pixels) value /= 6;
  fs::remove(labelled / "key/0004.png");
  write_png(labelled / "heart/dark key.png", dark);
  const Image soft = resize_bicubic(resize_bicubic(house, {9, 9}), {64, 64});
  write_png(unlabelled / "soft.png", soft);
  write_png(unlabelled / "tiny.png", resize_bicubic(read(labelled / "gear/0002.png"), {12, 12}));
  write_file_atomically(unlabelled / "broken.png", "no image");
}

TEST(Findings, OfARunAreWhatWasPlanted) {
  const TemporaryFolder folder;
  draw_collection(folder / "demo");
  plant(folder / "demo");
  const auto result =
      run_protogcd({"discover", "--labelled", folder / "demo/labelled", "--unlabelled",
                    folder / "demo/unlabelled", "--k", "16", "--epochs", "1", "--bank-views", "2",
                    "--device", "cpu", "--json", "--report=false", "--out", folder / "run"});
  const auto json = json_of(result);
  std::map<std::string, std::vector<Finding>> found;
  for (const Finding& one : read_findings(folder / "run/findings.csv"))
    found[std::string(name_of(one.kind))].push_back(one);
  const auto of = [&](const char* kind, const std::string& path) {
    for (const Finding& one : found[kind])
      if (one.path == folder / "demo" / path) return one;
    ADD_FAILURE() << kind << ": " << path << " is not there";
    return Finding{};
  };
  EXPECT_EQ(of("label-error", "labelled/house/misplaced fish.png").other, "fish");
  EXPECT_EQ(of("label-error", "labelled/house/misplaced fish.png").class_name, "house");
  EXPECT_EQ(of("label-error", "labelled/bolt/misplaced mug.png").other, "mug");
  EXPECT_EQ(of("label-error", "labelled/mug/misplaced star.png").set, "calibration")
      << "images kept out of training have labels too";
  EXPECT_LE(found["label-error"].size(), 6u);
  const Finding larger = of("near-duplicate", "unlabelled/larger house.png");
  EXPECT_EQ(larger.other, folder / "demo/labelled/house/0002.png");
  EXPECT_EQ(larger.set, "unlabelled");
  EXPECT_EQ(larger.other_class, "house");
  const Finding twice = of("near-duplicate", "labelled/key/a house.png");
  EXPECT_EQ(twice.class_name, "key");
  EXPECT_EQ(twice.other_class, "house");
  EXPECT_EQ(found["near-duplicate"].size(), 2u);
  EXPECT_EQ(of("dark", "labelled/heart/dark key.png").class_name, "heart");
  EXPECT_EQ(found["dark"].size(), 1u);
  EXPECT_EQ(of("blurred", "unlabelled/soft.png").set, "unlabelled");
  EXPECT_LE(found["blurred"].size(), 2u);
  EXPECT_EQ(of("tiny", "unlabelled/tiny.png").score, 12);
  EXPECT_EQ(found["tiny"].size(), 1u);
  for (const auto& [kind, list] : found)
    EXPECT_EQ(json.at("findings").at(kind), list.size()) << kind;
  EXPECT_EQ(read_result(folder / "run/result.json").findings->of(FindingKind::kDark), 1u);
  EXPECT_THAT(result.errors, HasSubstr("2 near-duplicates, 1 very dark image"));
  EXPECT_TRUE(fs::exists(folder / "demo/labelled/house/misplaced fish.png")) << "nothing is moved";
}

}  // namespace
}  // namespace protogcd
