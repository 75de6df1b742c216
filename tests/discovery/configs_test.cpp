// The files in configs/ (but for sweeps and sets of outliers) are what `train` takes: every key,
// and every value that any file gives it.
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
    const bool is_ood = entry.path().filename().string().starts_with("ood-");
    if (entry.path().extension() != ".toml" || is_sweep || is_ood) continue;
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

TEST(Configs, OodTakesThePapersSets) {
  const auto config = [](const std::string& name) {
    return testing::source_folder() + "/configs/ood-" + name + ".toml";
  };
  // What it then complains about is the first folder, which is not here.
  const auto cifar =
      testing::run_protogcd({"ood", "--config", config("cifar100"), "--model", "nowhere"});
  EXPECT_EQ(cifar.exit_code, 4) << cifar.errors;
  EXPECT_THAT(cifar.errors, HasSubstr("data/cifar100"));
  const auto imagenet =
      testing::run_protogcd({"ood", "--config", config("imagenet100"), "--model", "nowhere"});
  EXPECT_NE(imagenet.exit_code, 3) << imagenet.errors;
  EXPECT_THAT(imagenet.errors, HasSubstr("data/imagenet100/val-100"));
}

}  // namespace
}  // namespace protogcd
