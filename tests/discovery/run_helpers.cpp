#include "tests/discovery/run_helpers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "protogcd/core/files.h"
#include "protogcd/core/sha256.h"
#include "protogcd/methods/registry.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/nn/random_state.h"

namespace protogcd::testing {

TinyRun::TinyRun(int per_class) {
  const VitConfig tiny{.patch = 8, .width = 64, .depth = 3, .heads = 1, .hidden = 96, .grid = 4};
  save_backbone(folder / "tiny.safetensors", Vit(tiny, random_vit_state(tiny)), {},
                ElementType::kFloat32);
  const auto drawn = run_protogcd({"datasets", "make-demo", "--out", folder / "demo", "--per-class",
                                   std::to_string(per_class), "--size", "40"});
  EXPECT_EQ(drawn.exit_code, 0) << drawn.errors;
}

std::vector<std::string> fit_to_method(std::vector<std::string> words, const std::string& method) {
  OptionTable table;
  const auto options = find_method(method)->copy();
  options->declare(table);
  for (const std::string flag : {"--head-hidden", "--projection"}) {
    const auto given = std::ranges::find(words, flag);
    const bool is_known =
        std::ranges::any_of(table.options(), [&](const Option& o) { return o.flag() == flag; });
    if (given != words.end() && !is_known) words.erase(given, given + 2);
  }
  // Projections as wide as released take minutes on a CPU.
  const Option* wide = table.find("wide_projection");
  if (wide != nullptr && wide->text() != "0" &&
      std::ranges::find(words, "--wide-projection") == words.end())
    words.insert(words.end(), {"--wide-projection", "48"});
  return words;
}

std::vector<std::string> TinyRun::command(const std::string& verb, const std::string& name,
                                          const std::vector<std::string>& more) const {
  std::vector<std::string> words = {verb,
                                    "--labelled",
                                    folder / "demo/labelled",
                                    "--unlabelled",
                                    folder / "demo/unlabelled",
                                    "--truth",
                                    folder / "demo/truth.csv",
                                    "--k",
                                    "16",
                                    "--backbone",
                                    folder / "tiny.safetensors",
                                    "--image-size",
                                    "32",
                                    "--epochs",
                                    "3",
                                    "--batch-size",
                                    "16",
                                    "--head-hidden",
                                    "32",
                                    "--projection",
                                    "16",
                                    "--eval-every",
                                    "2",
                                    "--threads",
                                    "1",
                                    "--dtype",
                                    "float32",
                                    "--device",
                                    "cpu",
                                    "--json",
                                    "--out",
                                    folder / name};
  if (verb != "estimate-k") words.push_back("--report=false");
  for (std::size_t i = 0; i < more.size(); ++i) {
    const auto given = std::ranges::find(words, more[i]);
    if (more[i].starts_with("--") && given != words.end() && i + 1 < more.size()) {
      *(given + 1) = more[++i];  // in place of the default above
    } else {
      words.push_back(more[i]);
    }
  }
  const auto method = std::ranges::find(words, "--method");
  const auto known = method_names();
  if (method == words.end() || std::ranges::find(known, *(method + 1)) == known.end()) return words;
  return fit_to_method(words, *(method + 1));
}

std::string TinyRun::read(const std::string& name) const {
  return read_text_file(folder / name);
}

std::vector<nlohmann::json> TinyRun::metrics(const std::string& run) const {
  std::vector<nlohmann::json> lines;
  std::istringstream text(read(run + "/metrics.jsonl"));
  for (std::string line; std::getline(text, line);) {
    lines.push_back(nlohmann::json::parse(line));
    lines.back().erase("seconds");
  }
  return lines;
}

void TinyRun::expect_same(const std::string& run, const std::string& other) const {
  for (const char* file : {"/model/model.safetensors", "/model/model.json", "/predictions.csv"}) {
    EXPECT_EQ(sha256_file(folder / (run + file)), sha256_file(folder / (other + file))) << file;
  }
  EXPECT_EQ(metrics(run), metrics(other));
  const auto one = nlohmann::json::parse(read(run + "/result.json")),
             two = nlohmann::json::parse(read(other + "/result.json"));
  for (const char* key :
       {"evaluated_epochs", "last", "best_on_unlabelled", "best_on_test", "intervals"}) {
    EXPECT_EQ(one.value(key, nlohmann::json()), two.value(key, nlohmann::json())) << key;
  }
}

nlohmann::json json_of(const ProgramResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  return result.exit_code == 0 ? nlohmann::json::parse(result.output) : nlohmann::json::object();
}

}  // namespace protogcd::testing
