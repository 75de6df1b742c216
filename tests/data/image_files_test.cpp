#include "protogcd/data/image_files.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "protogcd/core/error.h"
#include "tests/data/layouts.h"
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

TEST(ImageFiles, KnowsImagesByExtensionInAnyCase) {
  for (const char* name : {"a.jpg", "a.JPEG", "a.b.Png", "\xFF.webp"}) {
    EXPECT_TRUE(has_image_extension(name)) << name;
  }
  for (const char* name : {"a.gif", "jpg", ".jpg", "a.jpg.txt", "a."}) {
    EXPECT_FALSE(has_image_extension(name)) << name;
  }
}

TEST(ImageFiles, ListsNestedUnicodeAndBrokenNamesInByteOrder) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"b.png", "10.jpg", "2.jpg", "sub/deep/c.JPG", "\xC3\xA9t\xC3\xA9.webp",
                           "bad\xFF name,\"x\".png"}) {
    put_image(folder / name);
  }
  put_file(folder / "notes.txt", "x");
  put_image(folder / ".hidden.png");
  put_image(folder / ".git/x.png");
  ImageListing listing;
  EXPECT_THAT(paths_below(folder.path(), &listing),
              ElementsAre("10.jpg", "2.jpg", "b.png", "bad\xFF name,\"x\".png",
                          "\xC3\xA9t\xC3\xA9.webp", "sub/deep/c.JPG"));
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
