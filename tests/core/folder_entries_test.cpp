#include "protogcd/core/folder_entries.h"

#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using testing::TemporaryFolder;

TEST(FolderEntries, AreSortedByName) {
  const TemporaryFolder folder;
  for (const char* name : {"b", "a10", "a2"}) write_file_atomically(folder / name, "");
  std::vector<std::string> names;
  for (const auto& entry : folder_entries(folder / "")) names.push_back(entry.path().filename());
  EXPECT_THAT(names, ::testing::ElementsAre("a10", "a2", "b"));
}

TEST(FolderEntries, OfAFolderThatCannotBeListedAreAnErrorThatNamesIt) {
  const TemporaryFolder folder;
  try {
    folder_entries(folder / "gone");
    FAIL();
  } catch (const FileError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr((folder / "gone").string()));
  }
}

}  // namespace
}  // namespace protogcd
