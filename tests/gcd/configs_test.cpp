// The files in configs/ (but for sweeps) are what `train` takes: every key, and every value that
// any file gives it.
#include <gmock/gmock.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "protogcd/core/files.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;

TEST(Configs, TrainTakesEveryKeyAndValue) {
  std::map<std::string, std::set<std::string>> values;
  const std::filesystem::path root = std::filesystem::path(testing::source_folder()) / "configs";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const auto folder = entry.path().parent_path().filename();
    const bool is_sweep = folder == "paper" || folder == "demo";
    if (entry.path().extension() != ".toml" || is_sweep) continue;
    std::istringstream text(read_text_file(entry.path()));
    const std::regex assignment(R"(^(\w+)\s*=\s*(\S+))");
    std::smatch match;
    for (std::string line; std::getline(text, line);) {
      if (std::regex_search(line, match, assignment)) values[match[1]].insert(match[2]);
    }
  }
  ASSERT_GT(values.size(), 5u);
  // One file per round holds one value of every key that has so many; the missing folder is what
  // `train` then complains about, after it has read the file.
  const testing::TemporaryFolder folder;
  for (std::size_t round = 0;; ++round) {
    std::string text;
    for (const auto& [key, choices] : values) {
      if (round < choices.size()) {
        text +=
            key + " = " + *std::next(choices.begin(), static_cast<std::ptrdiff_t>(round)) + "\n";
      }
    }
    if (text.empty()) break;
    write_file_atomically(folder / "some.toml", text);
    const auto result = testing::run_protogcd({"train", "--config", folder / "some.toml"});
    EXPECT_EQ(result.exit_code, 2) << text;
    EXPECT_THAT(result.errors, HasSubstr("--out")) << text;
  }
}

}  // namespace
}  // namespace protogcd
