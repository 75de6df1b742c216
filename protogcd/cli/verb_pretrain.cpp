// `protogcd pretrain`: a backbone from scratch.
#include <fmt/core.h>

#include <memory>

#include "protogcd/cli/interrupt.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/data/user_data.h"
#include "protogcd/pretrain/pretrainer.h"

namespace protogcd::cli {
namespace {

struct PretrainVerbOptions {
  std::filesystem::path labelled, monitor, monitor_truth;
  PretrainOptions pretrain;
  std::string augment = "flip", weights_dtype = "float32";
};

void warn(const Dataset& dataset, const Logger& log) {
  for (const auto& warning : dataset.warnings) log.warning(warning);
}

/// A class is a folder; with a truth file, what that says of the images below the folder.
Dataset open_monitor(const PretrainVerbOptions& options, const Logger& log) {
  if (options.monitor.empty()) {
    if (!options.monitor_truth.empty())
      throw UsageError("--monitor-truth: which images? Give --monitor too");
    return {};
  }
  Dataset dataset = options.monitor_truth.empty() ? load_folders(options.monitor, {})
                                                  : load_images(options.monitor);
  if (!options.monitor_truth.empty())
    apply_truth(dataset, options.monitor_truth, std::span(&options.monitor, 1));
  warn(dataset, log);
  return dataset;
}

nlohmann::json json_of(const PretrainSummary& summary, const std::filesystem::path& out) {
  nlohmann::json json = {{"out", out.string()},
                         {"images", summary.images},
                         {"classes", summary.classes},
                         {"skipped", summary.skipped},
                         {"parameters", summary.parameters},
                         {"steps", summary.steps},
                         {"loss", summary.loss},
                         {"accuracy", summary.accuracy},
                         {"seconds", summary.seconds},
                         {"images_per_second", summary.images_per_second}};
  if (summary.knn) json["knn"] = *summary.knn;
  return json;
}

void pretrain_backbone(const PretrainVerbOptions& options, Session& session) {
  PretrainOptions pretrain_options = options.pretrain;
  if (pretrain_options.resume && pretrain_options.overwrite)
    throw UsageError("--resume and --overwrite contradict each other");
  pretrain_options.augment = parse_augment(options.augment);
  if (options.weights_dtype == "bfloat16") pretrain_options.weights_type = ElementType::kBfloat16;
  const InterruptGuard interrupt(session.host_stop);
  Context context = session.context;
  context.stop = interrupt.token();
  const Dataset labelled = load_folders(options.labelled, {});
  warn(labelled, context.log);
  const PretrainSummary summary = pretrain(labelled, open_monitor(options, context.log),
                                           pretrain_options, session.bad_image_policy(), context);
  const auto& out = pretrain_options.out;
  if (session.json()) {
    session.print_json(json_of(summary, out));
    return;
  }
  say("{}: {} steps on {} images of {} classes, loss {:.3f}, accuracy {:.1f}%", out.string(),
      summary.steps, summary.images, summary.classes, summary.loss, 100 * summary.accuracy);
  if (summary.knn) say(", k-NN {:.1f}%", 100 * *summary.knn);
  say("\n{:.0f} s, {:.0f} images/s\n", summary.seconds, summary.images_per_second);
}

void declare_network(OptionTable& table, PretrainOptions& o) {
  table.add("depth", &o.depth, "blocks").at_least(1).at_most(1000);
  table.add("width", &o.width, "channels of a token").at_least(1).at_most(65536);
  table.add("patch", &o.patch, "pixels along each side of a patch").at_least(1).at_most(1024);
  table.add("size", &o.size, "pixels along each side of an image, a multiple of the patch")
      .at_least(1)
      .at_most(4096);
  table.add("heads", &o.heads, "attention heads; width / 64 if not given").at_least(1);
}

void declare_training(OptionTable& table, PretrainVerbOptions& options) {
  PretrainOptions& o = options.pretrain;
  table.add("steps", &o.steps, "how long to train").at_least(1).at_most(100'000'000);
  table.add("batch_size", &o.batch, "images a step").at_least(1).at_most(65536);
  table.add("lr", &o.rate, "learning rate after the warm-up; falls to a thousandth").above(0);
  table.add("warmup", &o.warmup, "steps in which it rises; a twentieth of all if not given")
      .at_least(0);
  table.add("weight_decay", &o.adamw.weight_decay, "of matrices; biases and norms have none")
      .at_least(0);
  table.add("clip_norm", &o.adamw.clip_norm, "longest gradient, longer ones are scaled; 0: any")
      .at_least(0);
  table.add("drop_path", &o.drop_path, "share of images that skip the last block's branches")
      .at_least(0)
      .at_most(0.9);
  table.add("label_smoothing", &o.classification.label_smoothing, "share spread over all classes")
      .at_least(0)
      .at_most(0.9);
  table.add("scale", &o.classification.scale, "of the cosines before the softmax").above(0);
  table
      .add("augment", &options.augment,
           "what is done to images at random, each and the ones before")
      .one_of(augment_names());
}

void declare_rest(OptionTable& table, PretrainVerbOptions& options) {
  PretrainOptions& o = options.pretrain;
  table.add("monitor", &options.monitor, "images to watch k-NN accuracy on, a folder a class")
      .value_name("DIR");
  table
      .add("monitor_truth", &options.monitor_truth,
           "classes of the monitor's images as path,label, instead of folders")
      .value_name("FILE.csv");
  table.add("monitor_every", &o.monitor_every, "steps between two looks at it").at_least(1);
  table.add("knn", &o.neighbours, "neighbours that vote").at_least(1);
  table.add("report_every", &o.report_every, "steps between two lines of metrics").at_least(1);
  table
      .add("checkpoint_seconds", &o.checkpoint_seconds,
           "time between two states to resume from; 0: after every step")
      .at_least(0);
  table.add("weights_dtype", &options.weights_dtype, "of the backbone's file")
      .one_of({"float32", "bfloat16"});
  table.add("out", &o.out, "the backbone").value_name("FILE.safetensors").required();
  table.add("overwrite", &o.overwrite, "replace the file, and an unfinished training's state")
      .flag_only();
  table.add("resume", &o.resume, "go on with an unfinished training").flag_only();
}

}  // namespace

Verb pretrain_verb() {
  return {
      .name = "pretrain",
      .summary = "train a backbone from scratch by telling labelled classes apart",
      .example = "protogcd pretrain --labelled shapes --monitor photos --out backbone.safetensors",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<PretrainVerbOptions>();
        table.add("labelled", &options->labelled, "images to train on, a folder a class")
            .value_name("DIR")
            .required();
        declare_network(table, options->pretrain);
        declare_training(table, *options);
        declare_rest(table, *options);
        return [options](Session& session) { pretrain_backbone(*options, session); };
      }};
}

}  // namespace protogcd::cli
