// Images in a folder for each class: nothing is moved, nothing is lost, nothing escapes the folder.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/image/encode.h"
#include "protogcd/report/sorted_folders.h"
#include "tests/data/layouts.h"
#include "tests/support/error_message.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::run_command;
using testing::run_protogcd;
using testing::TemporaryFolder;

struct Collection {
  Collection() { table("path,class,is_new,confidence,typicality,outlier_score,is_outlier\n"); }

  void table(const std::string& text) { rows_ = text; }
  void image(const std::string& name, const std::string& class_name) {
    create_folders((folder / name).parent_path());
    Image pixels(20, 16);
    std::ranges::fill(pixels.pixels, static_cast<std::uint8_t>(rows_.size() % 251));
    write_png(folder / name, pixels);
    row(name, class_name);
  }
  void row(const std::string& path, const std::string& class_name) {
    rows_ += csv_field(path) + "," + csv_field(class_name) + ",1,0.9,0.8,0.1,0\n";
  }
  SortSummary sort(SortOptions more = {}) const {
    write_file_atomically(folder / "predictions.csv", rows_);
    more.from = folder / "predictions.csv";
    if (more.out.empty()) more.out = folder / "sorted";
    return sort_into_folders(more, {});
  }
  /// Paths below `sorted`, sorted, files alone.
  std::vector<std::string> found(const std::string& below = "sorted") const {
    std::vector<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(folder / below)) {
      if (!entry.is_directory())
        paths.push_back(entry.path().lexically_relative(folder / below).generic_string());
    }
    std::ranges::sort(paths);
    return paths;
  }

  TemporaryFolder folder;
  std::string rows_;
};

TEST(SortedFolders, ImagesAreCopiedWithASheetOfEachClass) {
  Collection photos;
  photos.image("a/1.png", "owl");
  photos.image("b/1.png", "owl");
  photos.image("b/1-2.png", "owl");
  photos.image("b/2.png", "birds/heron");
  const SortSummary summary = photos.sort();
  EXPECT_EQ(summary.images, 4u);
  EXPECT_EQ(summary.classes, 2u);
  EXPECT_THAT(photos.found(), ElementsAre("birds/heron/2.png", "contact-sheets/birds/heron.jpg",
                                          "contact-sheets/owl.jpg", "owl/1-2-2.png", "owl/1-2.png",
                                          "owl/1.png", "sorted.csv"));
  EXPECT_EQ(read_text_file(photos.folder / "sorted/owl/1-2.png"),
            read_text_file(photos.folder / "b/1.png"));
  EXPECT_TRUE(fs::exists(photos.folder / "a/1.png"));  // never moved
  EXPECT_THAT(read_text_file(photos.folder / "sorted/sorted.csv"),
              HasSubstr("b/1.png,owl,owl/1-2.png"));
}

TEST(SortedFolders, NoClassEscapesTheFolderOrMeetsAnother) {
  Collection photos;
  photos.image("1.png", "..");
  photos.image("2.png", "_.._");
  photos.image("3.png", "../../outside");
  photos.image("4.png", "contact-sheets");
  photos.image("5.png", "/absolute");
  photos.image("6.png", "");
  photos.image("7.png", ".hidden");
  photos.image("8.png", std::string(400, 'x'));
  EXPECT_EQ(photos.sort().images, 8u);
  std::vector<std::string> images;
  for (const std::string& path : photos.found())
    if (path.ends_with(".png")) images.push_back(path);
  EXPECT_THAT(images, ElementsAre("_.._-2/2.png", "_.._/1.png", "_.._/_.._/outside/3.png",
                                  "_.hidden/7.png", "__/6.png", "__/absolute/5.png",
                                  "contact-sheets-2/4.png", std::string(200, 'x') + "/8.png"));
  EXPECT_FALSE(fs::exists(photos.folder / "outside"));
}

TEST(SortedFolders, LinksTakeNoRoom) {
  Collection photos;
  photos.image("a/1.png", "owl");
  photos.sort({.from = {}, .out = {}, .link = true, .images_root = {}});
  EXPECT_EQ(fs::read_symlink(photos.folder / "sorted/owl/1.png"), photos.folder / "a/1.png");
}

TEST(SortedFolders, RecordsBecomeFiles) {
  Collection photos;
  testing::make_cifar10_binary(photos.folder.path());
  photos.row("cifar-10-batches-bin/data_batch_1.bin#7", "cat");
  photos.sort();
  EXPECT_THAT(photos.found(),
              ElementsAre("cat/data_batch_1.bin-7.png", "contact-sheets/cat.jpg", "sorted.csv"));
}

TEST(SortedFolders, WhatIsGoneIsListedAndNothingAtAllIsAnError) {
  Collection photos;
  photos.image("1.png", "owl");
  photos.row("gone.png", "owl");
  EXPECT_EQ(photos.sort().missing, 1u);
  EXPECT_THAT(read_text_file(photos.folder / "sorted/skipped.csv"), HasSubstr("gone.png"));
  Collection nothing;
  nothing.row("gone.png", "owl");
  EXPECT_THAT(message_of([&] { nothing.sort(); }),
              AllOf(HasSubstr("none of the 1"), HasSubstr("gone.png")));
  EXPECT_FALSE(fs::exists(nothing.folder / "sorted"));
}

TEST(SortedFolders, AnExistingFolderIsReplacedOnlyIfItIsOneOfOursAndAskedFor) {
  Collection photos;
  photos.image("1.png", "owl");
  photos.sort();
  EXPECT_THROW(photos.sort(), UsageError);
  photos.image("2.png", "owl");
  SortOptions again;
  again.overwrite = true;
  EXPECT_EQ(photos.sort(again).images, 2u);
  create_folders(photos.folder / "mine");
  write_file_atomically(photos.folder / "mine/precious.txt", "x");
  again.out = photos.folder / "mine";
  EXPECT_THROW(photos.sort(again), UsageError);
  EXPECT_TRUE(fs::exists(photos.folder / "mine/precious.txt"));
}

TEST(SortedFolders, AFullDiskLeavesNothingBehind) {
  Collection photos;
  photos.image("1.png", "owl");
  write_file_atomically(photos.folder / "2.png", std::string(200'000, 'x'));
  photos.row("2.png", "owl");
  write_file_atomically(photos.folder / "predictions.csv", photos.rows_);
  const auto full = run_command(
      {"sh", "-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" sort \"$1\" --out \"$2\"",
       testing::protogcd_path(), photos.folder / "predictions.csv", photos.folder / "sorted"});
  EXPECT_EQ(full.exit_code, 7) << full.errors;
  EXPECT_THAT(full.errors, HasSubstr("2.png"));
  EXPECT_FALSE(fs::exists(photos.folder / "sorted"));
  for (const auto& entry : fs::directory_iterator(photos.folder.path()))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
}

}  // namespace
}  // namespace protogcd
