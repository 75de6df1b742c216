// Rows on disk that survive a kill: what the journal promises is there, and nothing more is kept.
#include "protogcd/core/partial_rows.h"

#include <gmock/gmock.h>

#include <numeric>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/npy.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::TemporaryFolder;

using Identity = std::map<std::string, std::string>;
const Identity kIdentity = {{"images", "a"}, {"weights", "b"}};

std::vector<PartialArray> arrays_in(const TemporaryFolder& folder) {
  return {{folder / "x.npy", ElementType::kFloat32, {2}},
          {folder / "y.npy", ElementType::kInt64, {1, 3}}};
}

void append(PartialRows& rows, int row) {
  const std::vector<float> x = {static_cast<float>(row), 0.5F};
  const std::vector<std::int64_t> y = {row, row + 1, row + 2};
  rows.append(0, std::as_bytes(std::span(x)));
  rows.append(1, std::as_bytes(std::span(y)));
}

/// Leaves the folder as a kill would: the last promise in the journal, more data behind it.
void leave_unfinished(const TemporaryFolder& folder) {
  {
    PartialRows rows(arrays_in(folder), kIdentity, false);
    append(rows, 0);
    append(rows, 1);
  }
  const auto partial = PartialRows::folder_of(folder / "x.npy");
  write_file_atomically(partial / "journal",
                        "bad 1 not an image\ndone 2 1\nbad 2 promised too late\ndone 5");
}

TEST(PartialRows, CompleteFilesAppearAndTheFolderGoes) {
  const TemporaryFolder folder;
  PartialRows rows(arrays_in(folder), kIdentity, false);
  for (int i = 0; i < 3; ++i) {
    append(rows, i);
    rows.finish_items(i + 1, 1);
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "x.npy"));
  rows.commit();
  EXPECT_FALSE(std::filesystem::exists(PartialRows::folder_of(folder / "x.npy")));
  const NpyFile x(folder / "x.npy"), y(folder / "y.npy");
  EXPECT_THAT(x.array().shape, ElementsAre(3, 2));
  EXPECT_THAT(testing::values_of<float>(x.array()), ElementsAre(0, 0.5F, 1, 0.5F, 2, 0.5F));
  EXPECT_THAT(y.array().shape, ElementsAre(3, 1, 3));
}

TEST(PartialRows, ResumingKeepsWhatTheJournalPromisesAndDropsTheRest) {
  const TemporaryFolder folder;
  leave_unfinished(folder);
  PartialRows rows(arrays_in(folder), kIdentity, true);
  EXPECT_EQ(rows.items(), 2u);
  EXPECT_EQ(rows.rows(), 1u);
  EXPECT_THAT(rows.rejected(), ElementsAre(Pair(1, "not an image")));
  append(rows, 7);
  rows.finish_items(3, 1);
  rows.commit();
  EXPECT_THAT(testing::values_of<float>(NpyFile(folder / "x.npy").array()),
              ElementsAre(0, 0.5F, 7, 0.5F));
}

TEST(PartialRows, WithoutResumeItStartsAnew) {
  const TemporaryFolder folder;
  leave_unfinished(folder);
  const PartialRows rows(arrays_in(folder), kIdentity, false);
  EXPECT_EQ(rows.items(), 0u);
  EXPECT_THAT(rows.rejected(), ElementsAre());
}

TEST(PartialRows, OtherWorkIsNotContinued) {
  const TemporaryFolder folder;
  leave_unfinished(folder);
  try {
    PartialRows rows(arrays_in(folder), {{"images", "a"}, {"weights", "c"}}, true);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("other weights"));
    EXPECT_THAT(error.hint(), HasSubstr("with overwrite"));
  }
}

TEST(PartialRows, MissingRowsAreNoticed) {
  const TemporaryFolder folder;
  leave_unfinished(folder);
  std::filesystem::resize_file(PartialRows::folder_of(folder / "x.npy") / "0.npy", 130);
  EXPECT_THROW(PartialRows(arrays_in(folder), kIdentity, true), FileError);
}

TEST(PartialRows, ACommitInterruptedBetweenItsFilesIsFinished) {
  const TemporaryFolder folder;
  leave_unfinished(folder);
  std::filesystem::rename(PartialRows::folder_of(folder / "x.npy") / "1.npy", folder / "y.npy");
  PartialRows rows(arrays_in(folder), kIdentity, true);
  rows.commit();
  EXPECT_THAT(NpyFile(folder / "x.npy").array().shape, ElementsAre(1, 2));
}

TEST(PartialRows, TwoProcessesDoNotWriteTheSameOutput) {
  const TemporaryFolder folder;
  const PartialRows rows(arrays_in(folder), kIdentity, false);
  EXPECT_THROW(PartialRows(arrays_in(folder), kIdentity, true), FileError);
}

}  // namespace
}  // namespace protogcd
