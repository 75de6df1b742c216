// `protogcd train` and `protogcd discover`: the method, on a known dataset or on one's own images.
#include <memory>

#include "protogcd/cli/train_options.h"
#include "protogcd/cli/verbs.h"

namespace protogcd::cli {
namespace {

/// `discover` is for one's own images: fast views, and a number of classes that nobody knows.
Action declare_with(bool discovers, OptionTable& table) {
  auto options = std::make_shared<TrainVerbOptions>();
  options->views = discovers ? "bank" : "fresh";
  options->estimates_k = discovers;
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
          .declare = [](OptionTable& table) { return declare_with(false, table); }};
}

Verb discover_verb() {
  return {.name = "discover",
          .summary = "find the classes hiding among unlabelled images",
          .example =
              "protogcd discover --labelled known --unlabelled all --backbone dino-vitb16 "
              "--out run",
          .declare = [](OptionTable& table) { return declare_with(true, table); }};
}

}  // namespace protogcd::cli
