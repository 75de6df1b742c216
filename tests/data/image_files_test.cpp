#include "protogcd/data/image_files.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/data/skipped.h"
#include "protogcd/image/formats.h"
#include "tests/data/layouts.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::put_file;
using testing::put_image;
namespace fs = std::filesystem;

std::vector<std::string> paths_below(const fs::path& root, ImageListing* listing = nullptr) {
  SourceTable sources;
  const ImageListing found = list_images(root, sources);
  if (listing != nullptr) *listing = found;
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    paths.push_back(sources.path(i).substr(root.string().size() + 1));
  }
  return paths;
}

TEST(ImageFiles, FindsEveryExtensionThatCanBeReadInAnyCase) {
  const testing::TemporaryFolder folder;
  std::vector<std::string> names;
  for (const ImageKind& kind : image_kinds()) {
    if (!kind.obstacle.empty()) continue;
    for (const auto extension : kind.extensions) names.push_back(fmt::format("a.{}", extension));
  }
  names.emplace_back("B.TIF.Jpg");
  for (const auto& name : names) put_image(folder / name);
  for (const char* name : {"jpg", "a.jpg.txt", "a."}) put_file(folder / name, "x");
  ImageListing listing;
  EXPECT_THAT(paths_below(folder.path(), &listing), ::testing::UnorderedElementsAreArray(names));
  EXPECT_EQ(listing.ignored_files, 3u);
  EXPECT_TRUE(listing_warnings(folder.path(), listing).empty());
}

TEST(ImageFiles, KindsThatCannotBeReadAreCountedApartAndWarnedAboutOnce) {
  const testing::TemporaryFolder folder;
  put_image(folder / "a.png");
  for (const char* name : {"b.CR2", "deep/c.cr2", "d.nef", "e.psd", "notes.txt"})
    put_file(folder / name, "x");
  SourceTable sources;
  const ImageListing listing = list_images(folder.path(), sources);
  EXPECT_EQ(listing.count, 1u);
  EXPECT_EQ(sources.size(), 1u);
  EXPECT_EQ(listing.ignored_files, 1u);
  ASSERT_EQ(sources.unreadable().size(), 4u);
  EXPECT_EQ(sources.unreadable().front().path, (folder / "b.CR2").string());
  EXPECT_THAT(sources.unreadable().front().reason, HasSubstr("raw file is not read: export it"));
  const auto warnings = listing_warnings(folder.path(), listing);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings.front(), HasSubstr(folder.path().string() + ": 4 image files"));
  EXPECT_THAT(warnings.front(), HasSubstr("2 cr2, 1 nef (a camera's raw file is not read"));
  EXPECT_THAT(warnings.front(), HasSubstr("1 psd"));
  EXPECT_THAT(listing_notes(folder.path(), listing), ElementsAre(HasSubstr("1 other files")));
}

TEST(ImageFiles, AFolderOfSuchKindsAloneIsAnErrorThatNamesThem) {
  const testing::TemporaryFolder folder;
  put_file(folder / "a.dng", "x");
  SourceTable sources;
  const ImageListing listing = list_images(folder.path(), sources);
  EXPECT_THAT(no_images_error("photos", listing).what(), HasSubstr("photos: 1 image files"));
  EXPECT_THAT(no_images_error("photos", listing).what(), HasSubstr("1 dng"));
  EXPECT_THAT(no_images_error("photos", {}).what(), HasSubstr("no image files below this folder"));
}

TEST(ImageFiles, TiffFilesOfSeveralPagesAreNoted) {
  if (!kind_of_file_name("a.tif")->obstacle.empty()) GTEST_SKIP() << "built without TIFF";
  const testing::TemporaryFolder folder;
  const fs::path fixtures = fs::path(testing::source_folder()) / "tests/fixtures/images";
  for (const char* name : {"three_pages.tif", "raw.tif"})
    fs::copy_file(fixtures / name, folder / name);
  ImageListing listing;
  paths_below(folder.path(), &listing);
  EXPECT_THAT(listing_notes(folder.path(), listing),
              ElementsAre(HasSubstr(": 1 TIFF files have several pages; the first is used")));
}

TEST(SkippedFiles, KindsThatCannotBeReadAreListedButNotCounted) {
  const testing::TemporaryFolder folder;
  put_image(folder / "images/a.png");
  put_file(folder / "images/b.svg", "<svg/>");
  SourceTable sources;
  list_images(folder / "images", sources);
  SkippedFiles skipped(BadImagePolicy::parse("fail", "0"), sources.size());
  EXPECT_EQ(skipped.count(), 0u);
  EXPECT_EQ(skipped.listed(sources), 1u);
  skipped.write_if_any(folder / "skipped.csv", sources);
  EXPECT_THAT(read_text_file(folder / "skipped.csv"),
              HasSubstr("path,reason\nimages/b.svg,\"a drawing (SVG) is not read"));
  skipped.write_if_any(folder / "skipped.csv", SourceTable());
  EXPECT_FALSE(fs::exists(folder / "skipped.csv"));
}

TEST(ImageFiles, ListsNestedUnicodeAndBrokenNamesInByteOrder) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"b.png", "10.jpg", "2.jpg", "sub/deep/c.JPG", "\xC3\xA9t\xC3\xA9.gif",
                           "bad\xFF name,\"x\".png"}) {
    put_image(folder / name);
  }
  put_file(folder / "notes.txt", "x");
  put_image(folder / ".hidden.png");
  put_image(folder / ".git/x.png");
  ImageListing listing;
  EXPECT_THAT(paths_below(folder.path(), &listing),
              ElementsAre("10.jpg", "2.jpg", "b.png", "bad\xFF name,\"x\".png",
                          "\xC3\xA9t\xC3\xA9.gif", "sub/deep/c.JPG"));
  EXPECT_EQ(listing.ignored_files, 1u);
  EXPECT_EQ(listing.hidden_files, 2u);
  EXPECT_TRUE(listing.problems.empty());
}

TEST(ImageFiles, FollowsLinksButNotInCircles) {
  const testing::TemporaryFolder folder;
  put_image(folder / "real/a.png");
  fs::create_directory_symlink(folder / "real", folder / "linked");
  fs::create_directory_symlink(folder.path(), folder / "real/up");
  fs::create_symlink(folder / "real/a.png", folder / "b.png");
  fs::create_symlink("nowhere.png", folder / "dangling.png");
  ImageListing listing;
  EXPECT_THAT(paths_below(folder.path(), &listing),
              ElementsAre("b.png", "linked/a.png", "real/a.png"));
  EXPECT_THAT(listing.problems,
              ::testing::UnorderedElementsAre(HasSubstr("dangling.png"), HasSubstr("linked/up"),
                                              HasSubstr("real/up")));
}

TEST(ImageFiles, AManyfoldTreeOfLinksEnds) {
  const testing::TemporaryFolder folder;
  // Each of thirty folders links twice to the next: 2^30 paths without any loop.
  for (int i = 0; i < 30; ++i) fs::create_directory(folder / std::to_string(i));
  for (int i = 0; i + 1 < 30; ++i) {
    for (const char* name : {"x", "y"}) {
      fs::create_directory_symlink(folder / std::to_string(i + 1),
                                   folder / std::to_string(i) / name);
    }
  }
  ImageListing listing;
  EXPECT_TRUE(paths_below(folder / "0", &listing).empty());
  EXPECT_FALSE(listing.problems.empty());
}

TEST(ImageFiles, ReportsFoldersThatCannotBeRead) {
  const testing::TemporaryFolder folder;
  put_image(folder / "a.png");
  put_image(folder / "closed/b.png");
  fs::permissions(folder / "closed", fs::perms::none);
  // Root may read everything, so that the listing is done as somebody else.
  const bool is_root = ::geteuid() == 0;
  constexpr uid_t kNobody = 65534;
  fs::permissions(folder.path(), static_cast<fs::perms>(0755));
  if (is_root && ::seteuid(kNobody) != 0) FAIL() << "cannot become nobody";
  ImageListing listing;
  const auto paths = paths_below(folder.path(), &listing);
  if (is_root && ::seteuid(0) != 0) FAIL() << "cannot become root again";
  EXPECT_THAT(paths, ElementsAre("a.png"));
  EXPECT_THAT(listing.problems, ElementsAre(HasSubstr("closed")));
  fs::permissions(folder / "closed", fs::perms::owner_all);
}

TEST(ImageFiles, AFolderThatIsNotThereIsAnErrorThatNamesIt) {
  SourceTable sources;
  EXPECT_THROW(list_images("/no/such/folder", sources), DataError);
}

TEST(SourceTable, AMillionFilesTakeTensOfMegabytes) {
  SourceTable sources;
  const std::uint32_t folder = sources.add_folder("collection/camera-7/2024");
  for (int i = 0; i < 1'000'000; ++i) {
    sources.add_file(folder, "image-" + std::to_string(1'000'000 + i) + ".jpg");
  }
  EXPECT_EQ(sources.path(123'456), "collection/camera-7/2024/image-1123456.jpg");
  EXPECT_EQ(sources.place_count(), 1u);
}

TEST(CsvPaths, AreRelativeToTheCsvFile) {
  SourceTable sources;
  const testing::TemporaryFolder folder;
  sources.add_path(folder / "data/a.png");
  sources.add_path(folder / "out/b.png");
  sources.add_path(folder / "out/deep/../c.png");
  CsvPaths paths(folder / "out/table.csv");
  EXPECT_EQ(paths(sources, 0), "../data/a.png");
  EXPECT_EQ(paths(sources, 1), "b.png");
  EXPECT_EQ(paths(sources, 2), "c.png");
}

TEST(CsvPaths, OfALinkedFolderStillLeadToTheImages) {
  const testing::TemporaryFolder folder;
  put_image(folder / "data/a.png");
  fs::create_directories(folder / "far/away/out");
  fs::create_directory_symlink(folder / "far/away/out", folder / "out");
  SourceTable sources;
  sources.add_path(folder / "data/a.png");
  CsvPaths paths(folder / "out/table.csv");
  EXPECT_TRUE(fs::exists(folder / "out" / paths(sources, 0))) << paths(sources, 0);
}

}  // namespace
}  // namespace protogcd
