// Links of the documents lead somewhere, and what they list is all there is.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "protogcd/core/files.h"
#include "tests/support/run_program.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> documents() {
  const fs::path root = testing::source_folder();
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  for (const char* folder : {"docs", "protogcd", "configs", "tests", "examples", "fuzz", "web"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.path().extension() == ".md") files.push_back(entry.path());
  }
  return files;
}

/// The places that a link may name: headings in lower case, blanks as dashes, as GitHub has them.
std::set<std::string> anchors_of(const fs::path& file) {
  std::set<std::string> anchors;
  std::istringstream text(read_text_file(file));
  for (std::string line; std::getline(text, line);) {
    const std::size_t level = line.find_first_not_of('#');
    if (level == 0 || level == std::string::npos || line[level] != ' ') continue;
    std::string anchor;
    for (const char c : line.substr(level + 1)) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == ' ' || c == '-') anchor += '-';
      if (std::isalnum(byte) || c == '_') anchor += static_cast<char>(std::tolower(byte));
    }
    anchors.insert(anchor);
  }
  return anchors;
}

TEST(Documents, EveryLinkLeadsToAFileAndAHeadingOfIt) {
  const std::regex link(R"(\]\(([^)\s#]*)(?:#([^)\s]*))?\))");
  int checked = 0;
  for (const fs::path& file : documents()) {
    const std::string text = read_text_file(file);
    for (std::sregex_iterator match(text.begin(), text.end(), link), end; match != end; ++match) {
      const std::string target = (*match)[1], anchor = (*match)[2];
      if (target.find("://") != std::string::npos) continue;
      const fs::path path = target.empty() ? file : file.parent_path() / target;
      EXPECT_TRUE(fs::exists(path)) << file << ": " << match->str();
      if (!anchor.empty() && fs::is_regular_file(path)) {
        EXPECT_TRUE(anchors_of(path).contains(anchor)) << file << ": " << match->str();
      }
      ++checked;
    }
  }
  EXPECT_GT(checked, 50);
}

// What people copy is what is compiled and tested.
TEST(Documents, TheMethodToCopyIsTheTestedOne) {
  const fs::path root = testing::source_folder();
  const std::string document = read_text_file(root / "docs/method-template.md");
  EXPECT_NE(document.find("```cpp\n" + read_text_file(root / "tests/training/skeleton_method.cpp") +
                          "```\n"),
            std::string::npos);
}

std::string between(const fs::path& file, const std::string& from, const std::string& to) {
  const std::string text = read_text_file(file);
  const std::size_t begin = text.find(from);
  EXPECT_NE(begin, std::string::npos) << file << ": " << from;
  return text.substr(begin, text.find(to, begin) - begin);
}

std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end; ++match)
    found.push_back((*match)[1]);
  return found;
}

/// What is installed to build, to run and to test: by apt and pip in setup.sh, by pip for the
/// module, by npm.
std::set<std::string> installed_packages(const fs::path& root) {
  std::set<std::string> packages;
  const auto add = [&](const std::vector<std::string>& names) {
    packages.insert(names.begin(), names.end());
  };
  const std::string setup = read_text_file(root / "scripts/setup.sh");
  for (const std::string& list : matches(setup, R"((?:required|optional|packages)\+?=\(([^)]*)\))"))
    add(matches(list, R"(([^\s]+))"));
  add(matches(setup, R"(pinned_(\w+)=)"));
  for (const char* list : {"requires = [", "\ndependencies = [", "progress = [", "sklearn = [",
                           "tables = [", "images = ["})
    add(matches(between(root / "pyproject.toml", list, "]"), "\"([\\w-]+)"));
  add(matches(between(root / "web/package.json", "\"dependencies\"", "\n}"),
              "\"([\\w-]+)\": \"\\d"));
  return packages;
}

// Whoever adds a package says there why.
TEST(Documents, EveryPackageThatIsInstalledIsExplained) {
  const fs::path root = testing::source_folder();
  const std::vector<std::string> words =
      matches(read_text_file(root / "docs/dependencies.md"), R"(([A-Za-z0-9][\w.+-]*))");
  const std::set<std::string> explained(words.begin(), words.end());
  const std::set<std::string> packages = installed_packages(root);
  for (const char* known :
       {"g++", "libwebp-dev", "clang-16", "nanobind", "onnxruntime", "pillow", "uplot", "esbuild"})
    EXPECT_TRUE(packages.contains(known)) << known << " is not found where packages are listed";
  for (const std::string& package : packages)
    EXPECT_TRUE(explained.contains(package)) << package << " is not in docs/dependencies.md";
}

}  // namespace
}  // namespace protogcd
