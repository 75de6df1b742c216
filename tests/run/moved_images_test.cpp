// Images that were moved after a run are found again, and none is taken for another.
#include <gtest/gtest.h>

#include "protogcd/core/files.h"
#include "protogcd/run/moved_images.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using testing::TemporaryFolder;

TEST(MovedImages, AreFoundUnderOneReplacementOfTheirCommonFolder) {
  const TemporaryFolder folder;
  const auto write = [&](const std::filesystem::path& file) {
    create_folders(file.parent_path());
    write_file_atomically(file, "");
  };
  for (const char* name : {"birds/a/1.jpg", "birds/a/2.jpg", "birds/b/1.jpg"})
    write(folder.path() / "new" / name);
  const std::vector<std::filesystem::path> images = {"/old/birds/a/1.jpg", "/old/birds/a/2.jpg",
                                                     "/old/birds/b/1.jpg", "/old/birds/b/3.jpg"};
  for (const char* root : {"new", "new/birds"}) {
    const LocatedImages found = locate_images(images, folder.path() / root);
    EXPECT_EQ(found.moved, 3u);
    EXPECT_EQ(found.missing, 1u);
    EXPECT_EQ(found.files[2], folder.path() / "new/birds/b/1.jpg");
    EXPECT_EQ(found.files[3], images[3]);
  }
  // a/1.jpg is another image than b/1.jpg, though both are called 1.jpg.
  const LocatedImages none = locate_images(images, folder.path() / "new/birds/a");
  EXPECT_EQ(none.moved, 0u);
  EXPECT_EQ(none.missing, 4u);
  EXPECT_EQ(none.files, images);
  // A folder of the same name that holds none of them does not stand in the way.
  write(folder.path() / "new/birds/birds/c/9.jpg");
  EXPECT_EQ(locate_images(images, folder.path() / "new/birds").moved, 3u);
}

TEST(MovedImages, ThoseThatStayedAreLeftAlone) {
  const TemporaryFolder folder;
  const std::vector<std::filesystem::path> images = {folder.path() / "old/a/1.jpg",
                                                     folder.path() / "old/b/1.jpg"};
  create_folders(folder / "old/a");
  create_folders(folder / "new/a");
  write_file_atomically(images[0], "");
  write_file_atomically(folder / "new/a/1.jpg", "");
  const LocatedImages found = locate_images(images, folder.path() / "new");
  EXPECT_EQ(found.files, images);
  EXPECT_EQ(found.missing, 1u);
  // Only b is missing, but a's images are not b's.
  EXPECT_EQ(locate_images(images, folder.path() / "new/a").files, images);
}

TEST(MovedImages, RecordsMoveWithTheirContainer) {
  const TemporaryFolder folder;
  create_folders(folder / "new/cifar");
  write_file_atomically(folder / "new/cifar/data_batch_1.bin", "");
  const std::vector<std::filesystem::path> images = {"/old/cifar/data_batch_1.bin#17",
                                                     "/old/cifar/data_batch_2.bin#17",
                                                     "/old/cifar/data_batch_1.bin#x"};
  for (const char* root : {"new", "new/cifar"}) {
    const LocatedImages found = locate_images(images, folder.path() / root);
    EXPECT_EQ(found.files[0], folder.path() / "new/cifar/data_batch_1.bin#17");
    EXPECT_EQ(found.moved, 1u);
    EXPECT_EQ(found.missing, 2u);
  }
}

TEST(MovedImages, ThoseInATarFileMoveWithIt) {
  const TemporaryFolder folder;
  create_folders(folder / "new/birds");
  create_folders(folder / "new/cats.tar");
  write_file_atomically(folder / "new/birds/one.tar", "");
  write_file_atomically(folder / "new/cats.tar/5.jpg", "");  // of a folder
  // One archive, one folder in it, and several archives.
  const std::vector<std::vector<std::filesystem::path>> lists = {
      {"/old/birds/one.tar/a/1.jpg", "/old/birds/one.tar/2.jpg"},
      {"/old/birds/one.tar/a/1.jpg", "/old/birds/one.tar/a/2.jpg"},
      {"/old/birds/one.tar/a/1.jpg", "/old/birds/one.tar/2.jpg", "/old/cats.tar/5.jpg",
       "/old/birds/two.tar/3.jpg", "/old/cats.tar/6.jpg"}};
  for (const auto& images : lists) {
    const LocatedImages found = locate_images(images, folder.path() / "new");
    EXPECT_EQ(found.files[0], folder.path() / "new/birds/one.tar/a/1.jpg");
    EXPECT_EQ(found.missing, images.size() == 5 ? 2u : 0u);
  }
}

}  // namespace
}  // namespace protogcd
