#include "protogcd/core/json_lines.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using testing::TemporaryFolder;

TEST(JsonLines, ALineThatDoesNotFitLeavesTheLinesBeforeItAsTheyWere) {
  const TemporaryFolder folder;
  const auto file = folder / "metrics.jsonl";
  append_line(file, R"({"epoch": 0})");
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{20, limit.rlim_max};  // 13 bytes are there; a second line would be cut after 7
  setrlimit(RLIMIT_FSIZE, &small);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  EXPECT_THROW(append_line(file, R"({"epoch": 1})"), FileError);
  std::signal(SIGXFSZ, old);
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_EQ(read_text_file(file), "{\"epoch\": 0}\n");
  append_line(file, R"({"epoch": 1})");
  EXPECT_EQ(read_text_file(file), "{\"epoch\": 0}\n{\"epoch\": 1}\n");
}

TEST(JsonLines, ALineWhoseNumberIsNoneIsNotKept) {
  const TemporaryFolder folder;
  const auto file = folder / "metrics.jsonl";
  write_file_atomically(file, "{\"epoch\": \"0\"}\n{\"epoch\": 0}\n{\"epoch\": [0]}\n{}\n");
  keep_json_lines_before(file, "epoch", 1);
  EXPECT_EQ(read_text_file(file), "{\"epoch\": 0}\n");
}

TEST(JsonLines, WhatIsKeptIsBeforeTheLimitAndWhole) {
  const TemporaryFolder folder;
  const auto file = folder / "metrics.jsonl";
  write_file_atomically(file, "{\"epoch\": 0}\n{\"epoch\": 1}\n{\"epoch\": 0, \"lo");
  keep_json_lines_before(file, "epoch", 1);
  EXPECT_EQ(read_text_file(file), "{\"epoch\": 0}\n");
  keep_json_lines_before(folder / "none.jsonl", "epoch", 1);
  EXPECT_FALSE(std::filesystem::exists(folder / "none.jsonl"));
}

}  // namespace
}  // namespace protogcd
