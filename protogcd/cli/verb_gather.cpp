// `protogcd gather`: the shards of `embed` or `predict`, joined.
#include <fmt/core.h>

#include <memory>

#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/json.h"
#include "protogcd/data/gather.h"

namespace protogcd::cli {
namespace {

struct GatherOptions {
  std::vector<std::string> shards;
  std::filesystem::path out;
  bool overwrite = false;
};

void gather_shards(const GatherOptions& options, Session& session) {
  const std::vector<std::filesystem::path> shards(options.shards.begin(), options.shards.end());
  const GatherSummary summary =
      gather(shards, options.out, options.overwrite, session.bad_image_policy());
  if (session.json()) {
    session.print_json({{"out", options.out.string()},
                        {"shards", summary.shards},
                        {"images", summary.images},
                        {"skipped", summary.skipped}});
    return;
  }
  say("{}: {} shards, {} images\n", options.out.string(), summary.shards, summary.images);
  if (summary.skipped > 0) say("{} images skipped\n", summary.skipped);
}

}  // namespace

Verb gather_verb() {
  return {
      .name = "gather",
      .summary = "join what `embed --shard` or `predict --shard` wrote",
      .example = "protogcd gather predictions-*-of-8.csv --out predictions.csv",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<GatherOptions>();
        table.add("shards", &options->shards, "the files of all shards, in any order")
            .value_name("FILE")
            .positional()
            .required();
        table.add("out", &options->out, "what one process would have written")
            .value_name("FILE")
            .required();
        table.add("overwrite", &options->overwrite, "replace the output if it exists").flag_only();
        return [options](Session& session) { gather_shards(*options, session); };
      }};
}

}  // namespace protogcd::cli
