// Areas may include only what lies below them, and torch stays out of those that promise to do
// without it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "protogcd/core/files.h"
#include "tests/support/run_program.h"

namespace protogcd {
namespace {

// Lowest first. `cli` has two layers: the framework (core only) and the verbs, which may use
// everything.
const std::vector<std::string> kAreas = {
    "core",  "image",   "data",     "analysis", "run",       "nn",  "cluster", "engine", "pretrain",
    "model", "methods", "training", "studies",  "discovery", "api", "report",  "sweep",  "cli"};
const std::set<std::string> kTorchFree = {"core", "image",  "data", "analysis",
                                          "run",  "report", "sweep"};

struct Include {
  std::string file, area, target;
  int line = 0;
};

std::vector<Include> includes_of_the_project() {
  std::vector<Include> includes;
  const std::filesystem::path root = std::filesystem::path(testing::source_folder()) / "protogcd";
  const std::regex pattern(R"(^\s*#\s*include\s*["<]([^">]+)[">])");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const auto extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
    const auto relative = std::filesystem::relative(entry.path(), root);
    std::istringstream text(read_text_file(entry.path()));
    std::string line;
    for (int number = 1; std::getline(text, line); ++number) {
      std::smatch match;
      if (std::regex_search(line, match, pattern)) {
        includes.push_back({relative.string(), relative.begin()->string(), match[1], number});
      }
    }
  }
  return includes;
}

/// The area of a header of ours ("protogcd/AREA/..."); empty for any other.
std::string area_of(const std::string& target) {
  if (!target.starts_with("protogcd/")) return {};
  return target.substr(9, target.find('/', 9) - 9);
}

std::ptrdiff_t rank_of(const std::string& area) {
  return std::ranges::find(kAreas, area) - kAreas.begin();
}

TEST(Architecture, EveryFolderIsAKnownArea) {
  const std::filesystem::path root = std::filesystem::path(testing::source_folder()) / "protogcd";
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (entry.is_directory()) {
      EXPECT_NE(std::ranges::find(kAreas, entry.path().filename().string()), kAreas.end())
          << entry.path();
      EXPECT_TRUE(std::filesystem::exists(entry.path() / "README.md"))
          << entry.path() << " has no README.md";
    }
  }
}

TEST(Architecture, AreasIncludeOnlyWhatLiesBelowThem) {
  int checked = 0;
  for (const auto& include : includes_of_the_project()) {
    const std::string area = area_of(include.target);
    if (area.empty()) continue;
    EXPECT_LE(rank_of(area), rank_of(include.area))
        << include.file << ":" << include.line << " includes " << include.target;
    ++checked;
  }
  EXPECT_GT(checked, 50);
}

// What is not named is linked by luck, through another area; what is named and not used makes areas
// wait for each other.
TEST(Architecture, EveryAreaNamesTheAreasThatItIncludesAndNoOthers) {
  std::map<std::string, std::set<std::string>> included, named;
  for (const auto& include : includes_of_the_project()) {
    const std::string area = area_of(include.target);
    if (!area.empty() && area != include.area) included[include.area].insert(area);
  }
  const std::regex pattern(R"(protogcd::(\w+))");
  for (const std::string& area : kAreas) {
    const std::string text =
        read_text_file(testing::source_folder() + "/protogcd/" + area + "/CMakeLists.txt");
    for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
      if ((*match)[1] != area) named[area].insert((*match)[1]);
    EXPECT_EQ(named[area], included[area]) << area << "/CMakeLists.txt, and what its files include";
  }
}

TEST(Architecture, TorchStaysOutOfTheTorchFreeAreasAndOfAllTheyInclude) {
  const std::regex torch(R"(^(torch|ATen|c10|caffe2)/)");
  std::map<std::string, std::vector<Include>> by_file;
  for (const auto& include : includes_of_the_project())
    by_file["protogcd/" + include.file].push_back(include);
  std::set<std::string> seen;
  std::vector<std::string> open;
  for (const auto& [file, includes] : by_file)
    if (kTorchFree.contains(includes.front().area)) open.push_back(file);
  while (!open.empty()) {
    const std::string file = open.back();
    open.pop_back();
    if (!seen.insert(file).second) continue;
    for (const Include& include : by_file[file]) {
      EXPECT_FALSE(std::regex_search(include.target, torch))
          << include.file << ":" << include.line << " includes " << include.target
          << " and is in, or included from, an area without torch";
      open.push_back(include.target);
    }
  }
  EXPECT_GT(seen.size(), 100u);
}

// Two types of one name in one namespace break the program silently, as soon as something links
// both.
TEST(Architecture, EveryTypeOfAHeaderHasANameOfItsOwn) {
  const std::filesystem::path root = std::filesystem::path(testing::source_folder()) / "protogcd";
  const std::regex opening(R"(^namespace ([\w:]+) \{)");
  const std::regex type(R"(^(?:struct|class|enum class) (\w+)\b[^;]*\{)");
  std::map<std::string, std::filesystem::path> homes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".h") continue;
    std::istringstream text(read_text_file(entry.path()));
    std::string line, scope;
    for (std::smatch match; std::getline(text, line);) {
      if (std::regex_search(line, match, opening)) scope = match[1];
      if (!std::regex_search(line, match, type)) continue;
      const auto [home, is_new] = homes.emplace(scope + "::" + match[1].str(), entry.path());
      EXPECT_TRUE(is_new) << home->first << " is in " << home->second << " and " << entry.path();
    }
  }
  EXPECT_GT(homes.size(), 100u);
}

struct Line {
  std::string file, area, code, literals;  ///< what is outside of quotes, and what is inside
  int number = 0;
  bool joins_a_path = false;  ///< a literal follows a slash
};

/// The source without comments.
std::vector<Line> source_lines() {
  std::vector<Line> lines;
  const std::filesystem::path root = std::filesystem::path(testing::source_folder()) / "protogcd";
  const std::regex quoted(R"re("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)')re");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const auto extension = entry.path().extension();
    const auto relative = std::filesystem::relative(entry.path(), root);
    const std::string area = relative.begin()->string();
    if ((extension != ".h" && extension != ".cpp" && extension != ".cu")) continue;
    std::istringstream text(read_text_file(entry.path()));
    std::string source;
    for (int number = 1; std::getline(text, source); ++number) {
      Line line{
          .file = relative.string(), .area = area, .code = {}, .literals = {}, .number = number};
      auto rest = source.cbegin();
      for (std::sregex_iterator i(source.begin(), source.end(), quoted), end; i != end; ++i) {
        line.code.append(rest, (*i)[0].first);
        if (line.code.find("//") != std::string::npos) break;
        line.literals += i->str();
        if (line.code.ends_with("/ ")) line.joins_a_path = true;
        rest = (*i)[0].second;
      }
      line.code.append(rest, source.cend());
      line.code.resize(std::min(line.code.size(), line.code.find("//")));
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

// Another host spells options otherwise (core/option_name.h).
TEST(Architecture, NoMessageBelowTheCommandLineSpellsAFlag) {
  const std::regex flag("--[a-z]");
  for (const Line& line : source_lines()) {
    if (line.area == "cli") continue;
    // A sweep runs the program: these are words of its commands.
    if (line.file == "sweep/cells.cpp") continue;
    EXPECT_FALSE(std::regex_search(line.literals, flag))
        << line.file << ":" << line.number << " " << line.literals;
  }
}

TEST(Architecture, OnlyTheCommandLineOwnsTheProcess) {
  const std::regex taken(
      R"(\b(stderr|stdout|std::cerr|std::cout|fmt::print|(std::)?printf|std::puts|std::exit|std::abort|quick_exit|sigaction)\b|\b_exit\(|\bsignal\()");
  int lines = 0;
  for (const Line& line : source_lines()) {
    if (line.area == "cli") continue;
    ++lines;
    // The child of a sweep, between fork and exec, must not run our destructors.
    if (line.file == "sweep/child_process.cpp" && line.code.find("_exit(127)") != std::string::npos)
      continue;
    EXPECT_FALSE(std::regex_search(line.code, taken))
        << line.file << ":" << line.number << " " << line.code;
  }
  EXPECT_GT(lines, 10000);
}

// Names of a run's files: run/run_files.h. Two belong to lower areas, which others use too.
TEST(Architecture, NamesOfARunsFilesStandInOnePlace) {
  const std::set<std::string> homes = {"run/run_files.h", "core/event_file.h", "data/skipped.h"};
  const std::regex names(
      R"re("([^" ]*/)?(config\.toml|run\.json|estimate\.json|metrics\.jsonl|predictions\.csv|(embeddings|attention)\.safetensors|skipped\.csv|result\.json|report\.html|model\.json|events\.out\.tfevents[^"]*)")re");
  const std::regex folders(R"re("(model|bank|checkpoints)")re");
  std::set<std::string> found;
  for (const Line& line : source_lines()) {
    const bool folder = std::regex_search(line.literals, folders) && line.joins_a_path;
    if (!folder && !std::regex_search(line.literals, names)) continue;
    if (homes.contains(line.file)) {
      found.insert(line.file);
      continue;
    }
    ADD_FAILURE() << line.file << ":" << line.number << " " << line.literals;
  }
  EXPECT_EQ(found, homes);
}

// libtorch brings another fmt, and json.hpp costs seconds per file: neither may reach a user of our
// headers. cli/terminal.h is the program's own: no library includes it.
TEST(Architecture, PublicHeadersDoNotBringFmtOrJson) {
  for (const auto& include : includes_of_the_project()) {
    if (include.target == "protogcd/cli/terminal.h") {
      EXPECT_TRUE(include.file.starts_with("cli/"));
    }
    if (!include.file.ends_with(".h") || include.file == "core/json.h" ||
        include.file == "cli/terminal.h")
      continue;
    EXPECT_FALSE(include.target.starts_with("fmt/") || include.target == "nlohmann/json.hpp" ||
                 include.target == "protogcd/core/json.h" || include.target.starts_with("spdlog/"))
        << include.file << ":" << include.line << " includes " << include.target;
  }
}

// Whoever uses the installed library must not come to depend on what is behind its public headers.
TEST(Architecture, InstalledHeadersAreThePublicOnesAndWhatTheyInclude) {
  const std::filesystem::path root = testing::source_folder();
  std::set<std::string> reached, todo;
  for (const auto& entry : std::filesystem::directory_iterator(root / "protogcd/api")) {
    const std::string name = "api/" + entry.path().filename().string();
    if (name.ends_with(".h") && name != "api/request_options.h") todo.insert(name);
  }
  const auto includes = includes_of_the_project();
  while (!todo.empty()) {
    const std::string header = todo.extract(todo.begin()).value();
    if (!reached.insert(header).second) continue;
    EXPECT_TRUE(read_text_file(root / "protogcd" / header).starts_with("// Public")) << header;
    for (const Include& include : includes) {
      if (include.file != header) continue;
      EXPECT_FALSE(include.target.starts_with("ATen/") || include.target.starts_with("torch/"))
          << header << " includes " << include.target;
      if (include.target.starts_with("protogcd/")) todo.insert(include.target.substr(9));
    }
  }
  std::set<std::string> installed;
  std::istringstream list(read_text_file(root / "cmake/ProtogcdInstall.cmake"));
  const std::regex header(R"(^  ([a-z]+/[a-z_]+\.h)\)?$)");
  std::string line;
  while (std::getline(list, line)) {
    std::smatch match;
    if (std::regex_match(line, match, header)) installed.insert(match[1]);
  }
  EXPECT_EQ(installed, reached);
}

// A second method must not have to edit what the first one is named in.
TEST(Architecture, NothingOutsideMethodsNamesAMethodOrItsTerms) {
  const std::regex terms(
      R"(\b(dapl|lambda_[a-z]+|hard_[a-z]+|ramp[a-z_]*|pseudo.?labels?|tau_[a-z_]+|memax[a-z_]*|distill[a-z]*|ProtoGcd\w*|SimGcd\w*|simgcd)\b)");
  const std::filesystem::path root = testing::source_folder();
  int looked_at = 0, inside = 0;
  for (const char* top : {"protogcd", "web/src"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / top)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp" && extension != ".cu" && extension != ".ts")
        continue;
      const auto relative = std::filesystem::relative(entry.path(), root).string();
      const bool of_methods = relative.starts_with("protogcd/methods/");
      std::istringstream text(read_text_file(entry.path()));
      std::string line;
      for (int number = 1; std::getline(text, line); ++number) {
        std::smatch match;
        if (!std::regex_search(line, match, terms)) continue;
        ++inside;
        EXPECT_TRUE(of_methods) << relative << ":" << number << " names " << match[0];
      }
      ++looked_at;
    }
  }
  EXPECT_GT(looked_at, 300);
  EXPECT_GT(inside, 50) << "the terms are not found where they belong either";
}

}  // namespace
}  // namespace protogcd
