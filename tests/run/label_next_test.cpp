// label-next.csv, written and read.
#include "protogcd/run/label_next.h"

#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "tests/support/error_message.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::TemporaryFolder;

TEST(LabelNext, IsReadAsItWasWritten) {
  const TemporaryFolder folder;
  write_label_next(folder / "q.csv", {{"a, b.png", "new-01", 0.5, "new-01 has no label yet"},
                                      {"c.png", "\"owl\"", 0.25, "hardly told from a, b"}});
  EXPECT_EQ(read_text_file(folder / "q.csv"),
            "rank,path,class,confidence,why\n"
            "1,\"a, b.png\",new-01,0.500000,new-01 has no label yet\n"
            "2,c.png,\"\"\"owl\"\"\",0.250000,\"hardly told from a, b\"\n");
  const auto queue = read_label_next(folder / "q.csv");
  ASSERT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue[0].path, "a, b.png");
  EXPECT_EQ(queue[1].class_name, "\"owl\"");
  EXPECT_EQ(queue[1].confidence, 0.25);
  EXPECT_EQ(queue[1].why, "hardly told from a, b");
}

TEST(LabelNext, NamesFileAndLineOfWhatIsWrong) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "q.csv", "path,class,confidence,why\na,b,high,c\n");
  EXPECT_THAT(message_of<DataError>([&] { read_label_next(folder / "q.csv"); }),
              HasSubstr("q.csv:2: confidence 'high' is not a number"));
}

}  // namespace
}  // namespace protogcd
