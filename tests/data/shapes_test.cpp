// Random shapes to pre-train on: that they are none of the demo's objects, differ from each other,
// can be repeated, and never take the place of something else.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <map>
#include <numbers>

#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/image/decode.h"
#include "tests/data/layouts.h"
#include "tests/data/shape_helpers.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd::drawn {
namespace {

using namespace protogcd::testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

Shape moved(const Shape& shape, double angle, double scale, bool mirrored) {
  return shape.transformed({.angle = angle,
                            .scale = scale,
                            .stretch = 1,
                            .mirrored = mirrored,
                            .shift = {0.1 * scale, -0.2 * scale}});
}

TEST(Silhouettes, OverlapIsThatOfTheBestPose) {
  const Shape arrow =
      Shape().add(rectangle(-0.9, -0.2, 0.2, 0.2)).add({{0.1, -0.6}, {0.9, 0.1}, {0.1, 0.6}});
  const OverlapSearch fine{.grid = 256, .scales = {1}};
  for (const bool mirrored : {false, true}) {
    EXPECT_GT(best_overlap(arrow, moved(arrow, std::numbers::pi / 3, 0.5, mirrored), fine), 0.96);
  }
  // A disc's share of the square of equal area: both centred, only corners and caps differ. The
  // half-chord h = sqrt(1/pi - 1/4) of the disc above each side gives the common area.
  const double radius = std::sqrt(1 / std::numbers::pi), angle = std::acos(0.5 / radius);
  const double common = 1 - 4 * (radius * radius * angle - 0.5 * radius * std::sin(angle));
  EXPECT_NEAR(best_overlap(Shape().add(circle({0, 0}, 0.8)),
                           Shape().add(rectangle(-0.3, -0.3, 0.3, 0.3)), fine),
              common / (2 - common), 0.01);
}

TEST(ShapeClasses, NoneIsACategoryOfTheDemo) {
  double highest = 0;
  for (const std::uint64_t seed : {0, 1, 2})
    highest = std::max(highest, most_like_demo(classes_of(10, seed)));
  EXPECT_LE(highest, kMostLikeDemo);
  EXPECT_GT(highest, 0.5) << "so little in common with anything: is the search working?";
}

TEST(ShapeClasses, TheSearchKnowsTheDemosOwnObjects) {
  const auto categories = demo_categories();
  RandomStream one({.seed = 1, .purpose = RandomPurpose::kTest}), two(one);
  for (std::size_t i = 0; i < categories.size(); i += 3) {
    const Shape object = categories[i].draw(one);
    EXPECT_GT(best_overlap(object, moved(categories[i].draw(two), 2, 0.7, true)), kMostLikeDemo)
        << categories[i].name;
  }
}

TEST(ShapeClasses, DifferFromEachOther) {
  const auto classes = classes_of(12, 4);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_LT(best_overlap(classes[i], classes[j]), 0.85) << i << " and " << j;
    }
  }
}

TEST(ShapeClasses, TheFirstOnesAreTheSameWhateverTheNumberAndTheThreads) {
  const auto few = classes_of(3, 5, 1), more = classes_of(9, 5, 3), other = classes_of(3, 6);
  for (std::size_t i = 0; i < few.size(); ++i) {
    const Image image = draw_shape_image(few[i], i, 0, 24, 5);
    EXPECT_TRUE(image == draw_shape_image(more[i], i, 0, 24, 5));
    EXPECT_FALSE(image == draw_shape_image(few[i], i, 1, 24, 5));
    EXPECT_FALSE(image == draw_shape_image(other[i], i, 0, 24, 5));
  }
}

class MakeShapes : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  ProgramResult make(std::vector<std::string> more) const {
    std::vector<std::string> command = {"datasets",    "make-shapes", "--classes", "3",
                                        "--per-class", "2",           "--size",    "16"};
    command.insert(command.end(), more.begin(), more.end());
    return run_protogcd(command);
  }
  std::map<std::string, std::string> contents(const std::string& name) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / name)) {
      if (entry.is_regular_file())
        files[entry.path().lexically_relative(folder_ / name)] = read_text_file(entry.path());
    }
    return files;
  }
  TemporaryFolder folder_;
};

TEST_F(MakeShapes, WritesAFolderForEveryShape) {
  const auto result = make({"--out", at("s"), "--sheet", at("sheet.png"), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto summary = nlohmann::json::parse(result.output);
  EXPECT_EQ(summary["classes"], 3);
  EXPECT_EQ(summary["images"], 6);
  std::vector<std::string> names;
  for (const auto& [name, bytes] : contents("s")) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("shape-000/0000.png", "shape-000/0001.png", "shape-001/0000.png",
                                 "shape-001/0001.png", "shape-002/0000.png", "shape-002/0001.png"));
  EXPECT_EQ(std::get<Image>(read_image(folder_ / "s/shape-002/0001.png")).width, 16);
  EXPECT_EQ(std::get<Image>(read_image(folder_ / "sheet.png")).height, 3 * 16 + 2 * 2);
}

TEST_F(MakeShapes, SameSeedSameBytes) {
  ASSERT_EQ(make({"--out", at("a"), "--seed", "3", "--threads", "1"}).exit_code, 0);
  ASSERT_EQ(make({"--out", at("b"), "--seed", "3", "--threads", "4"}).exit_code, 0);
  EXPECT_TRUE(contents("a") == contents("b"));
}

TEST_F(MakeShapes, ReplacesOnlyItsOwnAndOnlyWhenTold) {
  ASSERT_EQ(make({"--out", at("s")}).exit_code, 0);
  const auto first = contents("s");
  const auto refused = make({"--out", at("s"), "--seed", "9"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr(at("s")), HasSubstr("--overwrite")));
  EXPECT_TRUE(contents("s") == first);
  EXPECT_EQ(make({"--out", at("s"), "--seed", "9", "--overwrite"}).exit_code, 0);
  EXPECT_FALSE(contents("s") == first);

  put_file(folder_ / "s/shape-001/notes.txt", "mine");
  put_image(folder_ / "photos/shape-me/0001.png");
  fs::create_directories(folder_ / "empty");
  for (const char* name : {"s", "photos", "empty"}) {
    const auto result = make({"--out", at(name), "--overwrite"});
    EXPECT_EQ(result.exit_code, 2) << name;
    EXPECT_THAT(result.errors, HasSubstr("is not a shapes dataset")) << name;
  }
  EXPECT_TRUE(fs::exists(folder_ / "s/shape-001/notes.txt"));
}

}  // namespace
}  // namespace protogcd::drawn
