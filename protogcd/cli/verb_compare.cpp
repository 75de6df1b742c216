// `protogcd compare`: on which images two runs agree, whatever they call their classes.
#include <fmt/core.h>

#include <memory>

#include "protogcd/cli/interrupt.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/report/comparison.h"

namespace protogcd::cli {
namespace {

struct CompareVerbOptions {
  std::filesystem::path first, second, out;
  bool overwrite = false;
};

nlohmann::json to_json(const RunComparison& comparison) {
  const auto name = [](const std::string& text) {
    return text.empty() ? nlohmann::json() : nlohmann::json(text);
  };
  nlohmann::json classes = nlohmann::json::array();
  for (const MatchedClasses& found : comparison.classes) {
    classes.push_back({{"class_1", name(found.first)},
                       {"class_2", name(found.second)},
                       {"images_1", found.images_first},
                       {"images_2", found.images_second},
                       {"both", found.both},
                       {"agreement", 100 * found.agreement()}});
  }
  return {{"images", comparison.images},
          {"only_1", comparison.only_first},
          {"only_2", comparison.only_second},
          {"agreeing", comparison.agreeing},
          {"agreement", 100 * comparison.agreement()},
          {"nmi", comparison.nmi},
          {"ari", comparison.ari},
          {"classes", classes}};
}

void print_comparison(const RunComparison& comparison) {
  say("{} of {} images agree ({:.1f}%); NMI {:.3f}, ARI {:.3f}\n", comparison.agreeing,
      comparison.images, 100 * comparison.agreement(), comparison.nmi, comparison.ari);
  if (comparison.only_first + comparison.only_second > 0) {
    say("not compared: {} images of the first run alone, {} of the second\n", comparison.only_first,
        comparison.only_second);
  }
  std::size_t first = 7, second = 7;
  for (const MatchedClasses& found : comparison.classes) {
    first = std::max(first, found.first.size());
    second = std::max(second, found.second.size());
  }
  say("{:<{}}  {:<{}}  images  images    both  agreement\n", "class 1", first, "class 2", second);
  for (const MatchedClasses& found : comparison.classes) {
    say("{:<{}}  {:<{}}  {:>6}  {:>6}  {:>6}  {:>8.1f}%\n", found.first.empty() ? "-" : found.first,
        first, found.second.empty() ? "-" : found.second, second, found.images_first,
        found.images_second, found.both, 100 * found.agreement());
  }
}

void compare(const CompareVerbOptions& options, Session& session) {
  for (const auto& [run, name] : {std::pair(options.first, "RUN1"), {options.second, "RUN2"}}) {
    if (!std::filesystem::exists(run))
      throw UsageError(fmt::format("{}: there is no folder '{}'", name, run.string()));
  }
  const std::string kind = options.out.extension().string();
  if (!options.out.empty()) {
    if (kind != ".html" && kind != ".csv") {
      throw UsageError(fmt::format("--out '{}': expected a name that ends in .html or .csv",
                                   options.out.string()));
    }
    check_output_file(options.out, options.overwrite, "out");
  }
  const InterruptGuard interrupt(session.host_stop);
  Context context = session.context;
  context.stop = interrupt.token();
  const RunComparison comparison = compare_runs(options.first, options.second);
  if (kind == ".csv") write_differences(comparison, options.out);
  if (kind == ".html") {
    write_comparison_page(comparison, options.first.string(), options.second.string(), options.out,
                          context);
  }
  if (session.json()) {
    nlohmann::json json = to_json(comparison);
    if (!options.out.empty()) json["out"] = options.out.string();
    return session.print_json(json);
  }
  print_comparison(comparison);
  if (!options.out.empty()) {
    say("{}: the {} images on which they differ\n", options.out.string(),
        comparison.differing.size());
  }
}

}  // namespace

Verb compare_verb() {
  return {.name = "compare",
          .summary = "on which images two runs agree, and on which they differ",
          .example = "protogcd compare run-1 run-2 --out differences.html",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<CompareVerbOptions>();
            table.add("run1", &options->first, "the folder of a run, or a table of predictions")
                .value_name("RUN1")
                .positional()
                .required();
            table.add("run2", &options->second, "the folder of the other, or its table")
                .value_name("RUN2")
                .positional()
                .required();
            table
                .add("out", &options->out,
                     "the images that differ: a page with thumbnails (.html) or a table (.csv)")
                .value_name("FILE");
            table.add("overwrite", &options->overwrite, "replace what is there").flag_only();
            return [options](Session& session) { compare(*options, session); };
          }};
}

}  // namespace protogcd::cli
