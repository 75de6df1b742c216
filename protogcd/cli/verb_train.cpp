// `protogcd train` and `protogcd discover`: the method, on a known dataset or on one's own images.
#include <memory>

#include "protogcd/cli/train_options.h"
#include "protogcd/cli/verbs.h"

namespace protogcd::cli {
namespace {

/// The verbs differ in where views come from if nothing is said: as the paper, or fast.
Action declare_with(const char* views, OptionTable& table) {
  auto options = std::make_shared<TrainVerbOptions>();
  options->views = views;
  declare_train_options(table, *options);
  return [options, &table](Session& session) {
    resolve_train_options(*options, table, session);
    run_training(*options, session);
  };
}

}  // namespace

Verb train_verb() {
  return {.name = "train",
          .summary = "train on a known dataset, a manifest or folders, and evaluate",
          .example =
              "protogcd train --config configs/cub.toml --root data/CUB_200_2011 --backbone "
              "dino-vitb16 --out runs/cub",
          .declare = [](OptionTable& table) { return declare_with("fresh", table); }};
}

Verb discover_verb() {
  return {.name = "discover",
          .summary = "find the classes hiding among unlabelled images",
          .example =
              "protogcd discover --labelled known --unlabelled all --k 30 --backbone "
              "dino-vitb16 --out run",
          .declare = [](OptionTable& table) { return declare_with("bank", table); }};
}

}  // namespace protogcd::cli
