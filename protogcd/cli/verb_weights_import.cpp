// `protogcd weights import`: checkpoints of the published code as models.
#include <fmt/core.h>

#include <memory>

#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/data/data_options.h"
#include "protogcd/model/checkpoint_import.h"
#include "protogcd/model/stored_model.h"

namespace protogcd::cli {
namespace {

struct ImportOptions {
  CheckpointImport checkpoint;
  DataOptions data;
  bool overwrite = false;
};

bool names_data(const DataOptions& data) {
  return data.is_benchmark() || !data.root.empty() || !data.labelled.empty() ||
         !data.unlabelled.empty() || !data.manifest.empty() || !data.images.empty();
}

/// The data's own names, or numbers where only their count is given.
std::vector<std::string> old_class_names(const DataOptions& data, const Logger& log) {
  if (names_data(data)) return open_data(data, log).old_names();
  if (!data.old_classes) {
    throw UsageError("which classes are old is not in a checkpoint",
                     "name the data it was trained on (--dataset NAME --root DIR), or their number "
                     "(--old-classes N)");
  }
  log.warning(
      "the old classes get numbers for names: evaluate tells old from new by the names of "
      "--dataset");
  std::vector<std::string> names;
  const std::size_t digits = std::max<std::size_t>(2, std::to_string(*data.old_classes).size());
  for (std::int64_t i = 1; i <= *data.old_classes; ++i)
    names.push_back(fmt::format("old-{:0{}}", i, digits));
  return names;
}

void import(ImportOptions options, Session& session) {
  check_model_output(options.checkpoint.out, options.overwrite, "out");
  options.checkpoint.old_classes = old_class_names(options.data, session.context.log);
  const ModelInfo info = import_checkpoint(options.checkpoint, session.context);
  if (session.json()) {
    session.print_json({{"out", options.checkpoint.out.string()},
                        {"k", info.k()},
                        {"k_old", info.old_classes},
                        {"width", info.width},
                        {"image_size", info.preprocessing.size}});
    return;
  }
  say("{}: a model of {} classes, {} of them old; for predict, evaluate, embed, ood\n",
      options.checkpoint.out.string(), info.k(), info.old_classes);
}

}  // namespace

Verb weights_import_verb() {
  return {
      .name = "weights import",
      .summary = "a checkpoint of the published ProtoGCD code as a model",
      .example =
          "protogcd weights import --checkpoint protogcd_cub.pt --dataset cub --root "
          "data/CUB_200_2011 --out model",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<ImportOptions>();
        CheckpointImport& checkpoint = options->checkpoint;
        table.add("checkpoint", &checkpoint.checkpoint, "a state_dict that torch saved")
            .value_name("FILE.pt")
            .required()
            .usual();
        table.add("out", &checkpoint.out, "a folder for the model and its backbone")
            .value_name("DIR")
            .required()
            .usual();
        table.add("heads", &checkpoint.heads, "attention heads, where not width / 64").at_least(1);
        table
            .add("image_size", &checkpoint.image_size,
                 "pixels along each side, a multiple of the patch")
            .at_least(1)
            .at_most(4096);
        table.add("temperature", &checkpoint.temperature, "of the posterior that was trained")
            .above(0);
        table.add("overwrite", &options->overwrite, "replace the model if it exists").flag_only();
        declare_data_options(table, options->data);
        return [options](Session& session) { import(*options, session); };
      }};
}

}  // namespace protogcd::cli
