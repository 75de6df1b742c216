// The built-in dataset: what it holds, that it can be repeated, and that it never takes the place
// of something else.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/data/drawn/categories.h"
#include "protogcd/data/drawn/demo_dataset.h"
#include "protogcd/data/user_data.h"
#include "protogcd/image/decode.h"
#include "tests/data/layouts.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd::drawn {
namespace {

using namespace protogcd::testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

DemoSummary write_demo(const DemoOptions& options, std::uint64_t seed, std::size_t threads = 2) {
  return write_demo_dataset(options, {.threads = threads, .seed = seed});
}

/// Every file below a folder with its bytes.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      files[entry.path().lexically_relative(folder)] = read_text_file(entry.path());
    }
  }
  return files;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

TEST(DrawnDataset, SameSeedSameBytesWhateverTheThreads) {
  const TemporaryFolder folder;
  write_demo({.out = folder / "a", .per_class = 4, .size = 32}, 7, 1);
  write_demo({.out = folder / "b", .per_class = 4, .size = 32}, 7, 5);
  write_demo({.out = folder / "c", .per_class = 4, .size = 32}, 8);
  const auto a = contents(folder / "a"), b = contents(folder / "b"), c = contents(folder / "c");
  EXPECT_EQ(a.size(), 4u * 20 + 1);
  EXPECT_TRUE(a == b);
  std::size_t equal = 0;
  for (const auto& [name, bytes] : c) equal += a.contains(name) && a.at(name) == bytes;
  EXPECT_EQ(equal, 0u) << "another seed must give other images, and another order in truth.csv";
}

TEST(DrawnDataset, AnImageIsThatOfItsCategoryAndIndex) {
  const TemporaryFolder folder;
  write_demo({.out = folder / "a", .per_class = 4, .size = 32}, 3);
  const auto file = read_image(folder / "a/labelled/key/0002.png");
  EXPECT_TRUE(std::get<Image>(file) == draw_demo_image(1, 1, 32, 3));
  // A larger dataset of the same seed holds the same labelled images and more.
  write_demo({.out = folder / "b", .per_class = 6, .size = 32}, 3);
  EXPECT_EQ(read_text_file(folder / "b/labelled/key/0002.png"),
            read_text_file(folder / "a/labelled/key/0002.png"));
}

TEST(DrawnDataset, HalfOfTheOldImagesAreLabelledAndTheTruthIsComplete) {
  const TemporaryFolder folder;
  const DemoSummary summary = write_demo({.out = folder / "d", .per_class = 7, .size = 16}, 1);
  EXPECT_EQ(summary.old_classes, 10u);
  EXPECT_EQ(summary.new_classes, 6u);
  EXPECT_EQ(summary.outlier_classes, 4u);
  EXPECT_EQ(summary.labelled, 30u);
  EXPECT_EQ(summary.unlabelled, 10u * 4 + 6 * 7);
  EXPECT_EQ(summary.outliers, 4u * 7);
  EXPECT_THAT(names_in(folder / "d"),
              ElementsAre("labelled", "outliers", "truth.csv", "unlabelled"));

  std::map<std::string, std::size_t> unlabelled, outliers;
  std::set<std::string> listed;
  const CsvTable truth = CsvTable::read(folder / "d/truth.csv");
  EXPECT_THAT(truth.header(), ElementsAre("path", "label"));
  for (const auto& row : truth.rows()) {
    const std::string& path = row.fields[0];
    EXPECT_TRUE(fs::is_regular_file(folder / "d" / path)) << path;
    EXPECT_TRUE(listed.insert(path).second) << path << " is listed twice";
    ++(path.starts_with("unlabelled/") ? unlabelled : outliers)[row.fields[1]];
  }
  EXPECT_EQ(listed.size(), summary.unlabelled + summary.outliers);
  for (const auto& category : demo_categories()) {
    const std::string name(category.name);
    const bool outlier = category.role == CategoryRole::kOutlier;
    EXPECT_EQ(unlabelled[name], outlier ? 0u : category.role == CategoryRole::kOld ? 4u : 7u);
    EXPECT_EQ(outliers[name], outlier ? 7u : 0u);
    EXPECT_EQ(fs::exists(folder / "d/labelled" / name), category.role == CategoryRole::kOld);
  }
  const Dataset dataset = load_folders(folder / "d/labelled", folder / "d/unlabelled");
  EXPECT_EQ(dataset.old_classes, 10u);
  EXPECT_EQ(dataset.samples.size(), summary.labelled + summary.unlabelled);
}

TEST(DrawnDataset, NamesOfUnlabelledImagesTellNothing) {
  const TemporaryFolder folder;
  write_demo({.out = folder / "d", .per_class = 6, .size = 16}, 1);
  std::vector<std::string> labels;
  const CsvTable truth = CsvTable::read(folder / "d/truth.csv");
  for (const auto& row : truth.rows()) {
    const fs::path path = row.fields[0];
    if (path.parent_path() != "unlabelled") continue;
    labels.push_back(row.fields[1]);
    EXPECT_EQ(path, fmt::format("unlabelled/{:05}.png", labels.size()));
  }
  // In the order of the names, neighbours share a category only by chance (1 in 13 here).
  std::size_t same = 0;
  for (std::size_t i = 1; i < labels.size(); ++i) same += labels[i] == labels[i - 1];
  EXPECT_LT(same, labels.size() / 3);
}

/// The category's silhouette, averaged over some of its objects: the share of them that covers each
/// sample point.
std::vector<double> mean_silhouette(const Category& category, int size) {
  constexpr int kObjects = 12;
  std::vector<double> mean;
  for (int i = 0; i < kObjects; ++i) {
    RandomStream random({.seed = 5, .purpose = RandomPurpose::kTest, .position = std::uint64_t(i)});
    const Mask mask = rasterise(
        category.draw(random).transformed(
            {.angle = 0, .scale = size / 2.0, .stretch = 1, .shift = {size / 2.0, size / 2.0}}),
        size);
    mean.resize(mask.inside.size());
    for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += double(mask.inside[k]) / kObjects;
  }
  return mean;
}

/// Intersection over union of two soft silhouettes; `mirrored` turns the second one round.
double overlap(const std::vector<double>& a, const std::vector<double>& b, int side,
               bool mirrored) {
  double common = 0, either = 0;
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      const double first = a[std::size_t(y) * side + x];
      const double second = b[std::size_t(y) * side + (mirrored ? side - 1 - x : x)];
      common += std::min(first, second);
      either += std::max(first, second);
    }
  }
  return common / either;
}

TEST(DrawnDataset, SilhouettesOfTheCategoriesDiffer) {
  constexpr int kSize = 32, kSide = kSize * Mask::kSamples;
  const auto categories = demo_categories();
  EXPECT_GE(categories.size(), 20u);
  std::vector<std::vector<double>> shapes;
  for (const auto& category : categories) {
    shapes.push_back(mean_silhouette(category, kSize));
    // All of it lies within the square: nothing touches the outermost sample points by much.
    double border = 0;
    for (int i = 0; i < kSide; ++i) border += shapes.back()[i] + shapes.back()[i * kSide];
    EXPECT_LT(border, 0.15 * 2 * kSide) << category.name;
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      for (const bool mirrored : {false, true}) {
        EXPECT_LT(overlap(shapes[i], shapes[j], kSide, mirrored), 0.70)
            << categories[i].name << " and " << categories[j].name;
      }
    }
  }
}

TEST(DrawnDataset, AnObjectCoversAReasonableShareOfItsSquare) {
  for (const auto& category : demo_categories()) {
    for (std::uint64_t i = 0; i < 8; ++i) {
      RandomStream random({.seed = 2, .purpose = RandomPurpose::kTest, .position = i});
      const Mask mask = rasterise(
          category.draw(random).transformed({.scale = 32, .stretch = 1, .shift = {32, 32}}), 64);
      EXPECT_GT(mask.area_share(), 0.10) << category.name;
      EXPECT_LT(mask.area_share(), 0.75) << category.name;
    }
  }
}

TEST(DrawnDataset, ImagesOfACategoryVary) {
  std::set<std::string> seen;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const auto pixels = draw_demo_image(2, i, 24, 0).pixels;
    seen.emplace(pixels.begin(), pixels.end());
  }
  EXPECT_EQ(seen.size(), 20u);
  EXPECT_FALSE(draw_demo_image(2, 0, 24, 0) == draw_demo_image(3, 0, 24, 0));
}

TEST(DrawnDataset, ExtremeSizesAreDrawn) {
  for (const int size : {16, 1024}) {
    const Image image = draw_demo_image(8, 0, size, 1);
    EXPECT_EQ(image.size(), (ImageSize{size, size}));
    const auto [lowest, highest] = std::ranges::minmax(image.pixels);
    EXPECT_GT(highest - lowest, 50);
  }
  EXPECT_EQ(demo_contact_sheet(3, 16, 1).width, 3 * 16 + 2 * 2);
}

class MakeDemo : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  ProgramResult make(std::vector<std::string> more) const {
    std::vector<std::string> command = {"datasets", "make-demo", "--per-class",
                                        "2",        "--size",    "16"};
    command.insert(command.end(), more.begin(), more.end());
    return run_protogcd(command);
  }
  TemporaryFolder folder_;
};

TEST_F(MakeDemo, WritesADatasetThatTheOtherVerbsRead) {
  const auto result = make({"--out", at("new/d/"), "--sheet", at("sheet.png"), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto summary = nlohmann::json::parse(result.output);
  EXPECT_EQ(summary["labelled"], 10);
  EXPECT_EQ(summary["unlabelled"], 22);
  EXPECT_EQ(summary["outliers"], 8);
  EXPECT_TRUE(std::holds_alternative<Image>(read_image(folder_ / "sheet.png")));
  const auto check = run_protogcd({"datasets", "verify", "--labelled", at("new/d/labelled"),
                                   "--unlabelled", at("new/d/unlabelled"), "--truth",
                                   at("new/d/truth.csv"), "--bad-images", "fail"});
  EXPECT_EQ(check.exit_code, 0) << check.output << check.errors;
  EXPECT_THAT(names_in(folder_ / "new"), ElementsAre("d"));
}

TEST_F(MakeDemo, ReplacesADemoDatasetOnlyWhenTold) {
  ASSERT_EQ(make({"--out", at("d"), "--seed", "1"}).exit_code, 0);
  const auto first = contents(folder_ / "d");
  const auto refused = make({"--out", at("d"), "--seed", "2"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr(at("d")), HasSubstr("--overwrite")));
  EXPECT_TRUE(contents(folder_ / "d") == first);
  EXPECT_EQ(make({"--out", at("d"), "--seed", "2", "--overwrite"}).exit_code, 0);
  EXPECT_EQ(make({"--out", at("d"), "--seed", "1", "--overwrite"}).exit_code, 0);
  EXPECT_TRUE(contents(folder_ / "d") == first);
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("d"));
}

TEST_F(MakeDemo, NeverReplacesAFolderOfTheUsers) {
  put_file(folder_ / "photos/cat.jpg", "mine");
  // Arranged as the demo is, with names of one's own.
  put_image(folder_ / "like/labelled/star/0001.png");
  put_image(folder_ / "like/unlabelled/holiday.png");
  put_file(folder_ / "like/truth.csv", "path,label\n");
  fs::create_directories(folder_ / "like/outliers");
  put_file(folder_ / "file", "mine");
  ASSERT_EQ(make({"--out", at("more")}).exit_code, 0);
  put_file(folder_ / "more/notes.txt", "mine");
  fs::create_directories(folder_ / "empty");
  fs::create_directory_symlink("photos", folder_ / "link");
  fs::create_symlink("nowhere", folder_ / "dangling");
  const auto before = contents(folder_.path());
  for (const char* name :
       {"photos", "like", "file", "more", "empty", "link", "dangling", "photos/.."}) {
    const auto result = make({"--out", at(name), "--overwrite"});
    EXPECT_EQ(result.exit_code, 2) << name << result.errors;
    EXPECT_THAT(result.errors, HasSubstr("is not a demo dataset")) << name;
  }
  EXPECT_TRUE(contents(folder_.path()) == before);
}

TEST_F(MakeDemo, NeverReplacesTheWorkingFolder) {
  put_file(folder_ / "photos/cat.jpg", "mine");
  for (const char* out : {"", ".", "./", "../photos"}) {
    const auto result = run_command({"sh", "-c",
                                     "cd \"$1\"; exec \"$2\" datasets make-demo --out "
                                     "\"$3\" --overwrite --per-class 2 --size 16",
                                     "sh", at("photos"), protogcd_path(), out});
    EXPECT_EQ(result.exit_code, 2) << out << result.errors;
    EXPECT_THAT(result.errors, HasSubstr("--out"));
  }
  EXPECT_EQ(read_text_file(folder_ / "photos/cat.jpg"), "mine");
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("photos"));
}

TEST_F(MakeDemo, LeavesNothingBehindWhereItCannotWrite) {
  put_file(folder_ / "file", "mine");
  const auto below_file = make({"--out", at("file/d")});
  EXPECT_EQ(below_file.exit_code, 7);
  EXPECT_THAT(below_file.errors, HasSubstr("file"));
  const auto sheet = make({"--out", at("d"), "--sheet", at("absent/sheet.png")});
  EXPECT_EQ(sheet.exit_code, 7);
  EXPECT_THAT(sheet.errors, HasSubstr("absent/sheet.png"));
  ASSERT_EQ(make({"--out", at("ok"), "--sheet", at("s.png")}).exit_code, 0);
  const auto second = make({"--out", at("d"), "--sheet", at("s.png")});
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.errors, HasSubstr("--sheet: '" + at("s.png")));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("file", "ok", "s.png"));
}

TEST_F(MakeDemo, ADiskThatFillsUpLeavesNothingBehind) {
  // The limit on a file's size stands in for a full disk: a PNG of this size is larger.
  const auto result = run_command({"sh", "-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh",
                                   protogcd_path(), "datasets", "make-demo", "--out", at("d"),
                                   "--per-class", "2", "--size", "256", "--threads", "2"});
  EXPECT_EQ(result.exit_code, 7) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("cannot write"));
  EXPECT_THAT(names_in(folder_.path()), IsEmpty());
}

TEST_F(MakeDemo, TwoProcessesDoNotWriteTheSameFolder) {
  const auto partial = folder_ / ".d.protogcd-partial", lock = folder_ / ".d.protogcd-lock";
  std::filesystem::create_directory(partial);
  put_file(partial / "left-by-a-killed-call", "");
  const auto busy = run_command({"flock", lock, protogcd_path(), "datasets", "make-demo", "--out",
                                 at("d"), "--per-class", "2", "--size", "16"});
  EXPECT_EQ(busy.exit_code, 7);
  EXPECT_THAT(busy.errors, AllOf(HasSubstr(at("d")), HasSubstr("another process")));
  EXPECT_THAT(names_in(partial), ElementsAre("left-by-a-killed-call"));
  EXPECT_EQ(make({"--out", at("d")}).exit_code, 0);
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("d"));
  EXPECT_THAT(names_in(folder_ / "d"),
              ElementsAre("labelled", "outliers", "truth.csv", "unlabelled"));
}

TEST_F(MakeDemo, TooManyThreadsAreAnErrorNotACrash) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve more address space than the limit of this test";
#endif
  const auto result =
      run_command({"sh", "-c", "ulimit -v 4000000; exec \"$@\"", "sh", protogcd_path(), "datasets",
                   "make-demo", "--out", at("d"), "--threads", "4096"});
  EXPECT_EQ(result.exit_code, 6) << result.errors;
  EXPECT_THAT(result.errors, AllOf(HasSubstr("4096 threads"), HasSubstr("--threads")));
  EXPECT_THAT(names_in(folder_.path()), IsEmpty());
}

}  // namespace
}  // namespace protogcd::drawn
