#include "protogcd/discovery/train_options.h"

#include <fmt/core.h>

#include "protogcd/discovery/as_published.h"
#include "protogcd/image/strong_view.h"
#include "protogcd/methods/registry.h"
#include "protogcd/model/stored_model.h"

namespace protogcd {
namespace {

/// What a bank of few views lacks in variety; docs/token-bank.md has the figures.
constexpr double kBankBorrow = 1;

void declare_views(OptionTable& table, MaterialOptions& material) {
  table.begin_group("Views");
  BankOptions& bank = material.bank;
  table.add_choice<bool, bool>(
      "views", &material.use_bank, {{"fresh", false}, {"bank", true}},
      "fresh: new crops for every draw; bank: of a few kept for every image, far faster");
  table.add("bank_views", &bank.views, "views of every image in the token bank")
      .at_least(2)
      .at_most(64);
  table
      .add_choice<BankHome, BankHome>("bank_home", &bank.home,
                                      {{"auto", BankHome::kAuto},
                                       {"device", BankHome::kDevice},
                                       {"host", BankHome::kHost},
                                       {"file", BankHome::kFile}},
                                      "where the bank lies; auto: the first of these that has room")
      .incidental();
  table
      .add("bank_dir", &bank.folder,
           "of a bank in files, which outlasts the run; RUN/bank if not given")
      .value_name("DIR")
      .incidental();
  table
      .add("bank_max", &bank.max_gb,
           "GB that the bank may take, with that of strong views: views are left out to fit")
      .above(0)
      .incidental();  // the number of views that fit is what counts
  table
      .add("bank_refresh", &bank.refresh,
           "redraw one view of every image every so many epochs; 0: never")
      .at_least(0)
      .at_most(1'000'000);
  table
      .add(
          "borrow", &material.borrow,
          "strength of borrowed differences of views; 0: none; if not given, 1 with a bank, else 0")
      .at_least(0)
      .at_most(100);
}

void declare_epochs(OptionTable& table, LoopOptions& loop) {
  table
      .add("epochs", &loop.schedule.epochs,
           "how long to train; an epoch draws as many images as there are")
      .at_least(1)
      .at_most(1'000'000)
      .usual();
  table.add("eval_every", &loop.eval_every, "epochs between evaluations").at_least(1).incidental();
  table
      .add("checkpoint_seconds", &loop.checkpoint_seconds,
           "time between checkpoints; 0: after every step")
      .at_least(0)
      .incidental();
}

void declare_training(OptionTable& table, TrainOptions& options) {
  table.begin_group("Training");
  table.add("batch_size", &options.material.batch, "images a step, two views each")
      .at_least(1)
      .at_most(65536);
  table.add("lr", &options.loop.schedule.rate, "learning rate at the start; falls to a thousandth")
      .above(0);
  table.add("momentum", &options.loop.sgd.momentum, "of the optimiser").at_least(0).at_most(1);
  table
      .add("weight_decay", &options.loop.sgd.weight_decay,
           "of matrices; biases and norms have none unless all are to decay")
      .at_least(0);
  table.add("decay_all", &options.decay_all,
            "weight decay on biases and norms too; if not given, as the method's release");
  table
      .add("grad_from_block", &options.material.grad_from_block,
           "first block of the backbone that is trained; the last if not given")
      .at_least(0);
}

}  // namespace

void declare_estimate_options(OptionTable& table, ClassNumberOptions& options,
                              const MethodOptions& method) {
  table.begin_group("Number of classes");
  table
      .add("k_max", &options.k_max,
           "most classes there can be; if not given, a fifth of the images by neighbours, 1,000 by "
           "max-acc, else 3 K_old + 20 (100 without labelled images)")
      .at_least(1)
      .incidental();  // the number that was found is what counts
  std::vector<std::pair<std::string, ClassNumberRule>> rules;
  for (const ClassNumberRule rule : kClassNumberRules) rules.emplace_back(name_of(rule), rule);
  table
      .add_choice<ClassNumberRule, ClassNumberRule>(
          "rule", &options.rule, std::move(rules),
          "how classes are counted: by nearest neighbours of labelled images, by clusters of "
          "trained features, as the paper's Algorithm 1, or in ways that others use "
          "(docs/class-number.md)")
      .incidental();
  if (!method.trains()) return;
  table
      .add("cluster_steps", &options.cluster_steps,
           "training steps of a model whose features are clustered; 18 epochs, but 450 to 1,000 "
           "steps, if not given")
      .at_least(1)
      .incidental();
  table
      .add("min_steps", &options.min_steps,
           "least training steps of a candidate of the Prototype Score")
      .at_least(1)
      .incidental();
  table.add("seeds", &options.seeds, "repetitions with other random numbers, for less noise")
      .at_least(1)
      .at_most(1000)
      .incidental();
}

void declare_as_published(OptionTable& table, TrainOptions& options) {
  table
      .add("as_published", &options.as_published,
           "all settings as in the published runs (docs/method.md); false: those that are right on "
           "more collections")
      .incidental();  // what it decides is what counts
}

void declare_model_options(OptionTable& table, TrainOptions& options) {
  const bool trains = options.method->trains();
  if (trains) declare_training(table, options);
  table.begin_group(fmt::format("{} {}", kMethodGroup, options.method->name()));
  options.method->declare(table);
  if (trains && options.method->sees_strong())
    declare_strong_view_options(table, options.material.strong);
  if (trains) declare_views(table, options.material);
  table
      .add("cache_gb", &options.material.cache_gb,
           "memory for decoded images and tokens; half of what is free if not given")
      .at_least(0)
      .incidental();
}

void declare_train_options(OptionTable& table, TrainOptions& options) {
  table.begin_group("Run");
  table.add("out", &options.out, "the run's folder")
      .value_name("RUN")
      .required()
      .usual()
      .incidental();
  table.add("overwrite", &options.overwrite, "replace the run that is there")
      .flag_only()
      .usual()
      .incidental();
  table.add("resume", &options.resume, "go on with the run that is there, with its configuration")
      .flag_only()
      .usual()
      .incidental();
  table.add("k", &options.k, "K: number of classes, old and new together")
      .at_least(1)
      .usual()
      .incidental();  // what it comes to is what counts
  table
      .add("from", &options.from,
           "begin with the trained blocks of an earlier run, and with its prototypes where classes "
           "agree (docs/training.md)")
      .value_name("RUN")
      .incidental();  // what is in it is what counts
  if (options.method->trains()) {
    declare_epochs(table, options.loop);
    declare_as_published(table, options);
    table
        .add(
            "beginnings", &options.beginnings,
            "short trainings from different beginnings, of which the surest goes on; if not given, "
            "4, or 1 as published and in runs of up to 450 steps")
        .at_least(1)
        .at_most(1000);
    table
        .add("calibrate_confidence", &options.calibrate_confidence,
             "confidence that says how often a class is right, by a short training that does not "
             "see some labels; if not given, yes, but not as published and in runs of up to 450 "
             "steps")
        .incidental();  // training is the same with and without
    table
        .add("tune", &options.tune,
             "first try multiples of the method's weight and of borrow on labelled classes whose "
             "labels are hidden, and take what finds them clearly better (docs/tuning.md)")
        .incidental();  // as above
  }
  table.add("deterministic", &options.deterministic, "on CUDA: the same bits every time")
      .incidental();
  std::vector<std::pair<std::string, OutlierScore>> scores;
  for (const std::string_view name : outlier_score_names())
    scores.emplace_back(name, find_outlier_score(name));
  table
      .add_choice<OutlierScore, OutlierScore>(
          "outlier_score", &options.outlier_score, std::move(scores),
          "how outlying an image is, in predictions (docs/outliers.md)")
      .incidental();
  table
      .add("outlier_keep", &options.outlier_keep,
           "share of images of known classes that are not called outliers")
      .above(0)
      .at_most(1)
      .incidental();
  table
      .add("calibration_share", &options.calibration_share,
           "share of the labelled images of a class (of 8 or more) that training does not see, to "
           "find the outlier threshold on; 0: none")
      .at_least(0)
      .at_most(0.5);
  table
      .add("drop_empty", &options.drop_empty,
           "leave new classes that no image was found for out of the model; if not given, where "
           "their number was estimated, but not as published")
      .incidental();  // training is the same with and without
  table
      .add("set_foreign_aside", &options.set_foreign_aside,
           "do not train on unlabelled images that look unlike all that is labelled, but predict "
           "them: right where they are strays, wrong where new classes are that different "
           "(docs/defaults.md)")
      .incidental();  // the images that are trained on are what counts
  table
      .add(
          "look_at_data", &options.look_at_data,
          "say how well the backbone fits the labelled classes and what else is in the collection, "
          "before training")
      .incidental();
  table.add("report", &options.report, "write report.html at the end; false: do not").incidental();
  declare_model_options(table, options);
  table.begin_group("Number of classes");
  table.add("estimate_k", &options.estimate_k, "estimate K first where it is not given")
      .incidental();
  declare_estimate_options(table, options.estimate, *options.method);
}

void settle_as_published(OptionTable& table, const TrainOptions& options,
                         const std::string& dataset) {
  table.when_read([&options, &dataset](OptionTable& read) {
    if (options.as_published.value_or(false))
      take(published_settings(*options.method, dataset), read);
  });
}

std::vector<std::string> resolve(TrainOptions& options, const TrainFacts& facts) {
  std::vector<std::string> decided =
      options.method->resolve({.epochs = options.loop.schedule.epochs,
                               .has_builtin_backbone = facts.has_builtin_backbone,
                               .as_published = !options.has_general_settings()});
  if (options.method->trains() && !options.decay_all)
    options.decay_all = options.method->decays_all();
  options.loop.sgd.decays_all = options.decay_all.value_or(false);
  MaterialOptions& material = options.material;
  if (options.method->trains() && !material.borrow) {
    material.borrow = material.use_bank ? kBankBorrow : 0;
    if (material.use_bank) decided.push_back(fmt::format("borrow {}: with a bank", kBankBorrow));
  }
  return decided;
}

std::map<std::string, std::string> identity_of(const TrainOptions& options) {
  TrainOptions copy = options;
  OptionTable table;
  declare_train_options(table, copy);
  auto identity = table.identity();
  identity["method"] = options.method->name();
  if (!options.from.empty()) identity["from"] = stored_info(options.from).tensors_sha256;
  for (auto& [key, value] : options.method->identity()) identity[key] = std::move(value);
  return identity;
}

}  // namespace protogcd
