#include "protogcd/cli/train_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/interrupt.h"
#include "protogcd/core/text.h"
#include "protogcd/report/page.h"
#include "protogcd/report/report.h"
#include "protogcd/run/corrections.h"

namespace protogcd::cli {
namespace {

/// What a bank of few views lacks in variety; docs/token-bank.md has the figures.
constexpr double kBankBorrow = 1;
/// With the built-in backbone a narrow projection is faster and costs half a point
/// (docs/builtin-backbone.md).
constexpr std::int64_t kBuiltinHeadHidden = 512;

void declare_objective(OptionTable& table, TrainVerbOptions& options) {
  ObjectiveOptions& o = options.train.objective;
  table.add("lambda_sup", &o.lambda_sup, "lambda_sup: share of the supervised terms (Eq. 6, 17)")
      .at_least(0)
      .at_most(1);
  table
      .add("lambda_entropy", &o.lambda_entropy,
           "lambda_entropy: weight of the marginal entropy (Eq. 15)")
      .at_least(0);
  table.add("lambda_sep", &o.lambda_sep, "lambda_sep: weight of the separation (Eq. 15)")
      .at_least(0);
  table.add("weight_dapl", &o.weight_dapl, "weight of L_dapl (Eq. 11); 0: ablated").at_least(0);
  table.add("weight_sup", &o.weight_sup, "weight of L_sup (Eq. 16)").at_least(0);
  table.add("weight_contrastive", &o.weight_unsup_con, "weight of L_con^u (Eq. 4)").at_least(0);
  table.add("weight_supcon", &o.weight_sup_con, "weight of L_con^l (Eq. 5)").at_least(0);
  table.add("tau_base", &o.tau_base, "tau_base: temperature of predictions (Eq. 2)").above(0);
  table.add("tau_sharp", &o.tau_sharp, "tau_sharp: temperature of soft pseudo-labels (Eq. 9)")
      .above(0);
  table.add("tau_sep", &o.tau_sep, "tau_sep: temperature of the separation (Eq. 14)").above(0);
  table.add("tau_unsup_con", &o.tau_unsup_con, "tau_c of the unsupervised contrast (Eq. 4)")
      .above(0);
  table.add("tau_sup_con", &o.tau_sup_con, "tau_c of the supervised contrast (Eq. 5)").above(0);
  table.add("scale_regularisers", &o.scale_regularisers,
            "regularisers times 1 - lambda_sup, as the released code");
  table
      .add("confidence_floor", &o.confidence_floor,
           "added to the second probability in the confidence (Eq. 8)")
      .at_least(0);
  table.add("hard_labels", &options.hard_labels, "r(e): which pseudo-labels are hard (Eq. 10)")
      .one_of({"ramp", "all", "none", "half"});
  table
      .add("hard_scope", &options.hard_scope,
           "hard labels for the most confident of each batch, or of all unlabelled images")
      .one_of({"batch", "set"});
  table.add("ramp_epochs", &options.ramp_epochs, "e_ramp (Eq. 10); half the epochs if not given")
      .at_least(0);
  table.add("ramp_as_published", &options.train.schedule.ramp_as_published,
            "the ramp ends at epoch e_ramp - 1, as in the released code");
  table
      .add("prior", &options.train.prior,
           "expected shares as class,share instead of uniform (after Theorem 2)")
      .value_name("FILE.csv");
}

void declare_hyperparameters(OptionTable& table, TrainVerbOptions& options) {
  TrainOptions& train = options.train;
  table
      .add("preset", &options.preset,
           "reference: as the released code computes; paper: as the equations say")
      .one_of({"reference", "paper"});
  table.add("batch_size", &train.material.batch, "images a step, two views each")
      .at_least(1)
      .at_most(65536);
  table.add("lr", &train.schedule.rate, "learning rate at the start; falls to a thousandth")
      .above(0);
  table.add("momentum", &train.sgd.momentum, "of the optimiser").at_least(0).at_most(1);
  table.add("weight_decay", &train.sgd.weight_decay, "of matrices; biases and norms have none")
      .at_least(0);
  table
      .add("grad_from_block", &train.material.grad_from_block,
           "first block of the backbone that is trained; the last if not given")
      .at_least(0);
  declare_objective(table, options);
  table.add("head_hidden", &train.head_hidden, "width of the projection's inner layers")
      .at_least(1);
  table.add("projection", &train.projection, "numbers that the projection gives").at_least(1);
  table
      .add("wide_projection", &train.wide_projection,
           "numbers of a further layer (the paper's 65536); 0: none")
      .at_least(0);
}

void declare_views(OptionTable& table, TrainVerbOptions& options) {
  BankOptions& bank = options.train.material.bank;
  table
      .add("views", &options.views,
           "fresh: new crops for every draw; bank: of a few kept for every image, far faster")
      .one_of({"fresh", "bank"});
  table.add("bank_views", &bank.views, "views of every image in the token bank")
      .at_least(2)
      .at_most(64);
  table
      .add("bank_home", &options.bank_home,
           "where the bank lies; auto: the first of these that has room")
      .one_of({"auto", "device", "host", "file"});
  table
      .add("bank_dir", &bank.folder,
           "of a bank in files, which outlasts the run; RUN/bank if not given")
      .value_name("DIR");
  table.add("bank_max", &bank.max_gb, "GB that the bank may take: views are left out to fit")
      .above(0);
  table
      .add("bank_refresh", &bank.refresh,
           "redraw one view of every image every so many epochs; 0: never")
      .at_least(0)
      .at_most(1'000'000);
  table
      .add(
          "borrow", &options.borrow,
          "strength of borrowed differences of views; 0: none; if not given, 1 with a bank, else 0")
      .at_least(0)
      .at_most(100);
}

void apply_views(TrainVerbOptions& options) {
  options.train.material.use_bank = options.views == "bank";
  options.train.material.borrow =
      options.borrow.value_or(options.train.material.use_bank ? kBankBorrow : 0);
  options.borrow = options.train.material.borrow;
  const std::string& home = options.bank_home;
  options.train.material.bank.home = home == "device" ? BankHome::kDevice
                                     : home == "host" ? BankHome::kHost
                                     : home == "file" ? BankHome::kFile
                                                      : BankHome::kAuto;
}

/// `--preset paper` moves the defaults; what a flag or file says stays.
void apply_preset(TrainVerbOptions& options, OptionTable& table) {
  options.train.schedule.ramp_epochs =
      options.ramp_epochs.value_or(std::max<std::int64_t>(options.train.schedule.epochs / 2, 1));
  options.ramp_epochs = options.train.schedule.ramp_epochs;
  if (options.preset == "paper") {
    const auto unset = [&](const char* key) {
      return table.find(key)->source() == OptionSource::kDefault;
    };
    const ObjectiveOptions paper = ObjectiveOptions::paper();
    ObjectiveOptions& o = options.train.objective;
    if (unset("tau_unsup_con")) o.tau_unsup_con = paper.tau_unsup_con;
    if (unset("scale_regularisers")) o.scale_regularisers = paper.scale_regularisers;
    if (unset("confidence_floor")) o.confidence_floor = paper.confidence_floor;
    if (unset("hard_scope")) options.hard_scope = "set";
    if (unset("ramp_as_published")) options.train.schedule.ramp_as_published = false;
    if (unset("wide_projection")) options.train.wide_projection = 65536;
  }
  options.train.hard_from_whole_set = options.hard_scope == "set";
  options.train.schedule.hard_labels = options.hard_labels == "all"    ? HardLabels::kAll
                                       : options.hard_labels == "none" ? HardLabels::kNone
                                       : options.hard_labels == "half" ? HardLabels::kHalf
                                                                       : HardLabels::kRamp;
}

nlohmann::json json_of(const TrainSummary& summary, const std::filesystem::path& out) {
  nlohmann::json json = to_json(summary.on_unlabelled);
  json["out"] = out.string();
  json["k"] = summary.k;
  json["k_new"] = summary.k - summary.k_old;
  if (summary.estimate) json["estimate"] = summary.estimate->to_json();
  json["images"] = {{"labelled", summary.labelled},
                    {"unlabelled", summary.unlabelled},
                    {"test", summary.test},
                    {"skipped", summary.skipped}};
  json["outliers"] = summary.outliers;
  json["epochs"] = summary.epochs;
  json["seconds"] = summary.seconds;
  json["classes"] = nlohmann::json::array();
  for (const FoundClass& found : summary.classes) {
    nlohmann::json one = {{"name", found.name},
                          {"is_new", found.is_new},
                          {"images", found.images},
                          {"confidence", found.confidence}};
    if (!found.truth.empty()) {
      one["truth"] = found.truth;
      one["truth_share"] = found.truth_share;
    }
    json["classes"].push_back(std::move(one));
  }
  json["test"] = summary.on_test ? to_json(*summary.on_test) : nlohmann::json("none");
  return json;
}

/// New classes first, as they are what was looked for; large ones before small ones.
void print_classes(std::vector<FoundClass> classes) {
  constexpr std::size_t kMostRows = 40;
  std::ranges::stable_sort(classes, [](const FoundClass& a, const FoundClass& b) {
    return a.is_new != b.is_new ? a.is_new : a.images > b.images;
  });
  std::size_t width = 5;
  for (const FoundClass& found : classes) width = std::max(width, found.name.size());
  const bool with_truth =
      std::ranges::any_of(classes, [](const FoundClass& found) { return !found.truth.empty(); });
  fmt::print("\n{:{}}  images  sure{}\n", "class", width, with_truth ? "   in truth mostly" : "");
  for (std::size_t i = 0; i < std::min(classes.size(), kMostRows); ++i) {
    const FoundClass& found = classes[i];
    fmt::print("{:{}}  {:6}  {:3.0f}%", found.name, width, found.images, 100 * found.confidence);
    if (!found.truth.empty()) fmt::print("   {} ({:.0f}%)", found.truth, 100 * found.truth_share);
    fmt::print("\n");
  }
  if (classes.size() > kMostRows)
    fmt::print("... and {} more, in result.json\n", classes.size() - kMostRows);
  fmt::print("\n");
}

void print(const TrainSummary& summary, const std::filesystem::path& out) {
  if (summary.estimate) fmt::print("{}\n", summary.estimate->in_words());
  fmt::print("{}: {} classes, {} of them new, in {}\n", out.string(), summary.k,
             summary.k - summary.k_old, human_seconds(summary.seconds));
  const double in_new =
      (1 - summary.on_unlabelled.predicted_old) * static_cast<double>(summary.unlabelled);
  fmt::print("unlabelled images: {}, of which {:.0f} went to new classes\n", summary.unlabelled,
             in_new);
  print_classes(summary.classes);
  if (summary.outliers > 0) {
    fmt::print(
        "outliers: {} unlabelled images look like none of the classes (is_outlier in "
        "predictions.csv)\n",
        summary.outliers);
  }
  if (summary.on_unlabelled.samples > 0) {
    fmt::print("accuracy on the unlabelled images: {}\n", in_words(summary.on_unlabelled));
  }
  if (summary.on_test) {
    fmt::print("test images ({}): {}\n", summary.test, in_words(*summary.on_test));
  }
  if (summary.skipped > 0) {
    fmt::print("{} images could not be read, see {}\n", summary.skipped,
               (out / "skipped.csv").string());
  }
  fmt::print("predictions: {}\n", (out / "predictions.csv").string());
}

/// Mean and standard deviation (of a sample) over the runs.
nlohmann::json spread_of(const std::vector<nlohmann::json>& runs) {
  nlohmann::json mean, deviation;
  for (const char* key : {"all", "old", "new"}) {
    std::vector<double> values;
    for (const auto& run : runs) {
      values.push_back(run.at(key).is_null() ? std::nan("") : run.at(key).get<double>());
    }
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    const double average = sum / static_cast<double>(values.size());
    for (const double value : values) squares += (value - average) * (value - average);
    mean[key] = average;
    deviation[key] =
        values.size() < 2 ? 0 : std::sqrt(squares / static_cast<double>(values.size() - 1));
  }
  return {{"mean", mean}, {"std", deviation}};
}

/// The configuration with another value of a key.
std::string with_value(const std::string& config, const std::string& key,
                       const std::string& value) {
  const std::size_t start = fmt::format("\n{}", config).find(fmt::format("\n{} = ", key));
  if (start == std::string::npos) return config;
  const std::size_t end = std::min(config.find('\n', start), config.size());
  return fmt::format("{}{} = {}{}", config.substr(0, start), key, value, config.substr(end));
}

/// The images, with the labels that corrections of an earlier run give them.
Dataset open_corrected_data(const TrainVerbOptions& options, Logger& log) {
  Dataset dataset = open_data(options.data, log);
  if (options.corrections.empty()) return dataset;
  if (options.previous.empty()) {
    throw UsageError("--corrections: of which run?", "name its folder with --previous RUN");
  }
  const auto summary = apply_corrections(dataset, options.corrections, options.previous);
  log.info(fmt::format("corrections: {} images carry a label now{}", summary.labelled,
                       summary.new_classes.empty()
                           ? ""
                           : fmt::format("; accepted: {}", fmt::join(summary.new_classes, ", "))));
  return dataset;
}

/// The run is finished whatever becomes of its page.
void write_page(const std::filesystem::path& out, const Session& session, const Context& context) {
  try {
    write_report(out, out / "report.html", context);
    if (!session.json())
      fmt::print("report: {} (open it in a browser)\n", (out / "report.html").string());
  } catch (const Error& error) {
    context.log.warning(
        fmt::format("the run is complete, but has no report: {}; make it with: protogcd report {}",
                    error.what(), out.string()));
  }
}

/// Trains, or gives back what a finished run with the same configuration found.
nlohmann::json train_once(const TrainVerbOptions& options, const Backbone& backbone,
                          Session& session, const Context& context) {
  TrainOptions train_options = options.train;
  train_options.attention = options.report;
  const std::filesystem::path& out = train_options.out;
  const auto result_file = out / "result.json";
  if (train_options.resume && std::filesystem::exists(result_file) &&
      read_text_file(out / "config.toml") == train_options.config) {
    session.context.log.info(fmt::format("{}: finished already", out.string()));
    return nlohmann::json::parse(read_text_file(result_file));
  }
  const TrainSummary summary = train(open_corrected_data(options, session.context.log), backbone,
                                     train_options, session.bad_image_policy(), context);
  const nlohmann::json json = json_of(summary, out);
  write_file_atomically(result_file,
                        json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  if (!session.json()) print(summary, out);
  if (options.report && has_report_page()) write_page(out, session, context);
  return json;
}

/// One run after the other, each in a folder of its own with a configuration of its own.
std::vector<nlohmann::json> train_several(TrainVerbOptions options, const Backbone& backbone,
                                          Session& session, Context context) {
  const std::filesystem::path top = options.train.out;
  const std::string config = options.train.config;
  const bool resume = options.train.resume;
  if (!resume) {
    check_output_path(top, options.train.overwrite);
    create_folders(top);
    write_file_atomically(top / "config.toml", config);
    std::filesystem::remove(top / "result.json");
  }
  std::vector<nlohmann::json> results;
  for (std::int64_t run = 0; run < options.runs; ++run) {
    context.seed = session.context.seed + static_cast<std::uint64_t>(run);
    options.train.out = top / fmt::format("seed-{}", context.seed);
    options.train.config = with_value(
        with_value(with_value(config, "seed", std::to_string(context.seed)), "runs", "1"), "out",
        nlohmann::json(options.train.out.string()).dump());
    options.train.resume = resume && std::filesystem::exists(options.train.out / "config.toml");
    try {
      results.push_back(train_once(options, backbone, session, context));
    } catch (const InterruptedError& error) {
      throw InterruptedError(fmt::format("run {} of {} {}", run + 1, options.runs, error.what()),
                             fmt::format("go on with: --out {} --resume", top.string()));
    }
  }
  return results;
}

void make_paths_absolute(TrainVerbOptions& options) {
  DataOptions& data = options.data;
  for (auto* path :
       {&data.root, &data.labelled, &data.unlabelled, &data.manifest, &data.images, &data.truth,
        &options.train.prior, &options.backbone.weights_dir, &options.train.material.bank.folder,
        &options.corrections, &options.previous}) {
    if (!path->empty()) *path = std::filesystem::absolute(*path).lexically_normal();
  }
  if (options.backbone.backbone != kBuiltinBackbone &&
      std::filesystem::exists(options.backbone.backbone)) {
    options.backbone.backbone =
        std::filesystem::absolute(options.backbone.backbone).lexically_normal().string();
  }
}

}  // namespace

void declare_model_options(OptionTable& table, TrainVerbOptions& options) {
  declare_data_options(table, options.data);
  declare_backbone_options(table, options.backbone);
  declare_hyperparameters(table, options);
  declare_views(table, options);
  table
      .add("cache_gb", &options.train.material.cache_gb,
           "memory for decoded images and tokens; half of what is free if not given")
      .at_least(0);
  declare_image_options(table, options.images);
}

void declare_estimate_flags(OptionTable& table, EstimateFlags& flags) {
  ClassNumberOptions& estimate = flags.estimate;
  table
      .add(
          "rule", &flags.rule,
          "how classes are counted: by clusters of trained features, or as the paper's Algorithm 1")
      .one_of({"clusters", "paper"});
  table
      .add("k_max", &estimate.k_max,
           "most classes there can be; 3 K_old + 20, at most a fifth of the images, if not given")
      .at_least(1);
  table
      .add("cluster_steps", &estimate.cluster_steps,
           "training steps of a model whose features are clustered; 18 epochs, but 450 to 1,000 "
           "steps, if not given")
      .at_least(1);
  table
      .add("min_steps", &estimate.min_steps,
           "least training steps of a candidate of the Prototype Score")
      .at_least(1);
  table.add("seeds", &estimate.seeds, "repetitions with other random numbers, for less noise")
      .at_least(1)
      .at_most(1000);
}

ClassNumberOptions resolved(const EstimateFlags& flags) {
  ClassNumberOptions options = flags.estimate;
  options.rule = flags.rule == "paper" ? ClassNumberRule::kPaper : ClassNumberRule::kClusters;
  return options;
}

void declare_train_options(OptionTable& table, TrainVerbOptions& options) {
  TrainOptions& train = options.train;
  table.add("k", &train.k, "K: number of classes, old and new together").at_least(1);
  table.add("estimate_k", &options.estimates_k, "estimate K first where --k is not given");
  declare_estimate_flags(table, options.estimate);
  table
      .add("epochs", &train.schedule.epochs,
           "how long to train; an epoch draws as many images as there are")
      .at_least(1)
      .at_most(1'000'000);
  declare_model_options(table, options);
  table
      .add("outlier_score", &options.outlier_score,
           "how outlying an image is, in predictions (docs/outliers.md)")
      .one_of({outlier_score_names().begin(), outlier_score_names().end()});
  table
      .add("outlier_keep", &train.outlier_keep,
           "share of the unlabelled images that are not called outliers")
      .above(0)
      .at_most(1);
  table
      .add("corrections", &options.corrections,
           "what a person corrected on the page of an earlier run (docs/report.md)")
      .value_name("FILE.csv");
  table.add("previous", &options.previous, "the run that --corrections are of").value_name("RUN");
  table.add("report", &options.report, "write report.html at the end (--report=false: do not)");
  table.add("runs", &options.runs, "repeat with the next seeds; mean and deviation are told")
      .at_least(1)
      .at_most(1000);
  table.add("eval_every", &train.eval_every, "epochs between evaluations").at_least(1);
  table
      .add("checkpoint_seconds", &train.checkpoint_seconds,
           "time between checkpoints; 0: after every step")
      .at_least(0);
  table.add("deterministic", &train.deterministic, "on CUDA: the same bits every time");
  table.add("out", &train.out, "the run's folder").value_name("RUN").required();
  table.add("overwrite", &train.overwrite, "replace the run that is there").flag_only();
  table.add("resume", &train.resume, "go on with the run that is there, with its configuration")
      .flag_only();
}

void resolve_train_options(TrainVerbOptions& options, OptionTable& table, Session& session) {
  if (options.backbone.backbone.empty()) {
    Logger quiet(
        LogLevel::kError);  // what there is to say about the images is said when training begins
    options.backbone.backbone = choose_backbone(
        options.backbone, open_data(options.data, quiet).sources, session.context.log);
  }
  if (options.backbone.backbone == kBuiltinBackbone &&
      table.find("head_hidden")->source() == OptionSource::kDefault) {
    options.train.head_hidden = kBuiltinHeadHidden;
  }
  apply_preset(options, table);
  apply_views(options);
  options.train.outlier_score = find_outlier_score(options.outlier_score);
  make_paths_absolute(options);
  options.train.config = table.to_toml();
}

void run_training(TrainVerbOptions options, Session& session) {
  if (options.train.resume && options.train.overwrite) {
    throw UsageError("--resume and --overwrite contradict each other");
  }
  if (options.estimates_k) options.train.estimate = resolved(options.estimate);
  if (!options.train.k && !options.estimates_k && !options.data.unlabelled.empty()) {
    throw UsageError(
        "--k: how many classes are there, old and new together?",
        "classes of the labelled folder count too; `protogcd estimate-k` estimates it");
  }
  const Backbone backbone = open_backbone(options.backbone, session.context.log);
  options.train.material.reading = {.apply_orientation = !options.data.is_benchmark(),
                                    .fast_decode = options.images.fast_decode};
  const InterruptGuard interrupt;
  Context context = session.context;
  context.interrupt = &interrupt;

  if (options.runs == 1) {
    const auto json = train_once(options, backbone, session, context);
    if (session.json()) session.print_json(json);
    return;
  }
  const std::vector<nlohmann::json> results = train_several(options, backbone, session, context);
  nlohmann::json summary = spread_of(results);
  for (const char* key : {"all", "old", "new"}) summary[key] = summary.at("mean").at(key);
  summary["runs"] = results;
  write_file_atomically(
      options.train.out / "result.json",
      summary.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  if (session.json()) return session.print_json(summary);
  const auto number = [&](const char* what, const char* key) {
    return summary.at(what).at(key).get<double>();
  };
  if (std::isnan(number("mean", "all"))) return;
  fmt::print("{} runs: All {:.1f} +- {:.1f}, Old {:.1f} +- {:.1f}, New {:.1f} +- {:.1f}\n",
             options.runs, number("mean", "all"), number("std", "all"), number("mean", "old"),
             number("std", "old"), number("mean", "new"), number("std", "new"));
}

}  // namespace protogcd::cli
