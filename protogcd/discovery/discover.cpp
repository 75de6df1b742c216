#include "protogcd/discovery/discover.h"

#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/scratch_folder.h"
#include "protogcd/core/text.h"
#include "protogcd/data/verify.h"
#include "protogcd/discovery/class_number.h"
#include "protogcd/engine/placement.h"
#include "protogcd/methods/registry.h"
#include "protogcd/nn/communicator.h"
#include "protogcd/nn/device.h"
#include "protogcd/run/label_history.h"
#include "protogcd/run/run_files.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

void make_paths_absolute(DiscoverOptions& options) {
  OptionTable table;
  declare_discover_options(table, options);
  for (Option& option : table.options()) {
    // `out` stays as it was said: it is how the run is called in messages.
    if (option.is_path() && option.key() != "out" && !option.text().empty())
      option.set_path(fs::absolute(option.text()).lexically_normal());
  }
  std::string& backbone = options.backbone.backbone;
  if (backbone != kBuiltinBackbone && fs::exists(backbone))
    backbone = fs::absolute(backbone).lexically_normal().string();
}

void declare_configuration(OptionTable& table, std::string& method, DiscoverOptions& options,
                           MachineOptions& machine) {
  table.add("method", &method, "what is learned, see: protogcd methods");
  declare_discover_options(table, options);
  declare_machine_options(table, machine);
}

/// The images, and the labels that people gave them in rounds before.
struct LabelledData {
  Dataset dataset;
  LabelHistory history;
};

/// What open_data has not said: equal files under two labels, classes of one image.
void tell_oddities(const Dataset& dataset, const Logger& log) {
  const DatasetCheck check = check_labels(dataset);
  for (const std::string& problem : check.problems) log.warning(problem);
  for (const std::string& note : check.notes) log.info(note);
}

void tell_unaccepted(const RoundSummary& round, const Logger& log) {
  if (round.unaccepted.empty()) return;
  const RoundSummary::Unaccepted& first = round.unaccepted.front();
  log.warning(fmt::format(
      "corrections: '{}' is called '{}', but not accepted, and that labels nothing; a row "
      "accept,,{}, would label its {} most typical images{}",
      first.class_name, first.called, first.class_name, first.would_label,
      round.unaccepted.size() == 1
          ? ""
          : fmt::format(" ({} more classes like it)", round.unaccepted.size() - 1)));
}

void tell_applied(const AppliedLabels& applied, std::size_t this_round, const Logger& log) {
  log.info(fmt::format(
      "corrections: {} images carry a label now{}{}", applied.labelled,
      this_round < applied.labelled
          ? fmt::format(", {} of them from rounds before", applied.labelled - this_round)
          : "",
      applied.new_classes.empty()
          ? ""
          : fmt::format("; accepted: {}", join(applied.new_classes, ", "))));
  for (const auto& [before, now] : applied.renamed)
    log.info(fmt::format("corrections: class '{}' of the data is called '{}'", before, now));
  if (applied.overruled > 0) {
    log.warning(fmt::format(
        "{} images have another label in the data than corrections gave them; the data's holds: {}",
        applied.overruled, applied.overruled_example));
  }
  if (applied.unmatched > 0) {
    log.warning(fmt::format(
        "{} images that corrections labelled are not among the images given now, as {}; if they "
        "were moved: {} DIR",
        applied.unmatched, applied.unmatched_example, option_name("images_root")));
  }
}

void check_corrections(const DiscoverOptions& options) {
  if (options.previous.empty()) {
    throw UsageError(option_name("corrections") + ": of which run?",
                     fmt::format("name its folder with {} RUN", option_name("previous")));
  }
  const fs::path config = options.previous / run_files::kConfig;
  if (fs::exists(config) && toml_scalars(config)["corrections"] == options.corrections.string()) {
    throw UsageError(
        fmt::format("{}: {} was made with {} already", option_name("corrections"),
                    options.previous.string(), options.corrections.string()),
        fmt::format("corrections are of the predictions of {}", option_name("previous")));
  }
}

LabelledData open_labelled_data(const DiscoverOptions& options, const Logger& log) {
  LabelledData data{.dataset = open_data(options.data, log), .history = {}};
  if (!options.data.is_benchmark()) tell_oddities(data.dataset, log);
  if (!options.corrections.empty()) check_corrections(options);
  if (options.previous.empty()) return data;
  if (!fs::is_directory(options.previous)) {
    throw UsageError(fmt::format("{}: there is no folder '{}'", option_name("previous"),
                                 options.previous.string()));
  }
  data.history = LabelHistory::of_run(options.previous);
  RoundSummary round;
  if (!options.corrections.empty()) {
    round = data.history.add_round(options.corrections, options.previous);
    tell_unaccepted(round, log);
  }
  tell_applied(data.history.apply(data.dataset, options.images_root), round.labelled, log);
  return data;
}

/// Where classes are to be found there must be images to find them in; `train` may do without.
void check_unlabelled(const DiscoverOptions& options, const Dataset& dataset) {
  if (!options.train.estimate_k || dataset.count(SampleSet::kUnlabelled) > 0) return;
  throw UsageError(
      "no unlabelled images: there is nothing to discover",
      options.data.unlabelled.empty() && !options.data.labelled.empty()
          ? fmt::format("name their folder with {} DIR; `protogcd train` learns the labelled "
                        "classes alone",
                        option_name("unlabelled"))
          : "");
}

/// What several processes cannot do together is refused, as each would do all of it.
void check_shareable(const TrainOptions& train) {
  std::vector<std::string> refused;
  if (!train.k && train.estimate_k) refused.push_back(option_name("k") + " (missing)");
  if (train.tune) refused.push_back(option_name("tune"));
  if (train.look_at_data) refused.push_back(option_name("look_at_data"));
  if (train.set_foreign_aside) refused.push_back(option_name("set_foreign_aside"));
  if (train.calibrate_confidence.value_or(train.has_general_settings()))
    refused.push_back(option_name("calibrate_confidence"));
  const bool may_begin_often = train.has_general_settings() && train.method->begins_with_classes();
  if (train.beginnings.value_or(may_begin_often ? 2 : 1) > 1)
    refused.push_back(option_name("beginnings"));
  if (refused.empty()) return;
  throw UsageError(fmt::format("several processes only train; they do not share the work of: {}",
                               join(refused, ", ")),
                   "use `protogcd train` with the number of classes, or start one process");
}

void check(const DiscoverOptions& options) {
  const TrainOptions& train = options.train;
  if (train.resume && train.overwrite)
    throw UsageError(fmt::format("{} and {} contradict each other", option_name("resume"),
                                 option_name("overwrite")));
  const fs::path config = train.out / run_files::kConfig;
  if (train.resume && fs::exists(config)) {
    // One run and several have folders of another kind: going on with the other would lose a
    // result.
    const std::string stored = toml_scalars(config)["runs"];
    if (!stored.empty() && (stored == "1") != (options.runs == 1)) {
      throw UsageError(fmt::format("{}: {} holds {} run(s), not {}", option_name("runs"),
                                   train.out.string(), stored, options.runs),
                       fmt::format("choose another {}", option_name("out")));
    }
  }
  if (!train.k && !train.estimate_k && !options.data.unlabelled.empty()) {
    throw UsageError(
        option_name("k") + ": how many classes are there, old and new together?",
        "classes of the labelled folder count too; `protogcd estimate-k` estimates it");
  }
}

/// Whether this folder holds a finished run of the same configuration, by this version's names or
/// by older ones.
bool is_finished(const DiscoverOptions& options, const std::string& config,
                 const Context& context) {
  const fs::path file = options.train.out / run_files::kConfig;
  if (!fs::exists(options.train.out / run_files::kResult) || !fs::exists(file)) return false;
  DiscoverOptions stored;  // what the file does not name was not set then, whatever is set now
  stored.train.method = options.train.method;
  // Nor do options that did not exist yet make a finished run another one.
  stored.train.calibration_share = options.train.calibration_share;
  stored.train.look_at_data = options.train.look_at_data;
  MachineOptions machine;
  std::string method = options.train.method->name();
  OptionTable table;
  declare_configuration(table, method, stored, machine);
  table.apply_toml_file(file);
  stored.train.as_published =
      options.train.as_published;  // the values it stood for are what counts
  resolve(stored.train, {.has_builtin_backbone = stored.backbone.backbone == kBuiltinBackbone});
  Context then = context;
  then.dtype = machine.dtype;  // where and by how many threads is no matter any more
  then.seed = machine.seed;
  stored.train.out = options.train.out;        // the folder may have been moved
  stored.train.report = options.train.report;  // a page can still be made
  stored.bad_images = machine.bad_images;
  stored.max_bad = machine.max_bad;
  return method == options.train.method->name() && configuration_of(stored, then) == config;
}

/// The command that trains on the same data as a first look did, with all that was said about data,
/// backbone and classes, in a folder beside that run's.
std::string command_to_train(const DiscoverOptions& options, const Context& context) {
  DiscoverOptions usual, next = options;
  make_paths_absolute(usual);
  next.train.method = usual.train.method;
  next.train.out += "-trained";
  next.train.overwrite = next.train.resume = false;
  MachineOptions usual_machine, machine{.device = context.device,
                                        .seed = context.seed,
                                        .bad_images = options.bad_images,
                                        .max_bad = options.max_bad};
  std::string method = usual.train.method->name();
  OptionTable defaults, table;
  declare_configuration(defaults, method, usual, usual_machine);
  declare_configuration(table, method, next, machine);
  std::string command = context.command;
  for (const Option& option : table.options())
    if (option.to_toml() != defaults.find(option.key())->to_toml())
      command += ' ' + option.as_flag();
  return command;
}

/// What several processes must be given alike.
std::map<std::string, std::string> work_of(const DiscoverOptions& options, const Context& context) {
  std::map<std::string, std::string> work = identity_of(options.train);
  work["out"] = fs::absolute(options.train.out).lexically_normal().string();
  work["seed"] = std::to_string(context.seed);
  work["dtype"] = context.dtype;
  work["kind of device"] = place(context).device.is_cuda() ? "cuda" : "cpu";
  // Not what a run's numbers depend on, but when and whether its processes meet.
  work["k"] = options.train.k ? std::to_string(*options.train.k) : "of the data";
  work["eval_every"] = std::to_string(options.train.loop.eval_every);
  work["drop_empty"] = options.train.drops_empty() ? "true" : "false";
  return work;
}

Discovery run_once(const DiscoverOptions& options, const Backbone& backbone,
                   const Context& context) {
  const fs::path& out = options.train.out;
  const std::string config = configuration_of(options, context);
  if (any_process(context, options.train.resume && is_finished(options, config, context))) {
    if (context.process.rank > 0) return {.result = {}, .was_finished = true};
    context.log.info(fmt::format("{}: finished already", out.string()));
    Discovery finished{.result = read_result(out / run_files::kResult), .was_finished = true};
    finished.result.out = out;
    return finished;
  }
  TrainOptions train_options = options.train;
  train_options.material.reading = {.apply_orientation = !options.data.is_benchmark(),
                                    .fast_decode = options.images.fast_decode};
  const bool is_first_look = !train_options.method->trains() && train_options.estimate_k;
  if (is_first_look && !context.command.empty())
    train_options.next = command_to_train(options, context);
  const ConfigurationOf config_of = [&](const TrainOptions& of_run) {
    DiscoverOptions copy = options;
    copy.train = of_run;
    return configuration_of(copy, context);
  };
  LabelledData data = open_labelled_data(options, context.log);
  check_unlabelled(options, data.dataset);
  return {.result = train(std::move(data.dataset), data.history, backbone, train_options, config_of,
                          BadImagePolicy::parse(options.bad_images, options.max_bad), context)};
}

}  // namespace

DiscoverOptions::DiscoverOptions() {
  train.is_general = true;
  train.material.use_bank = true;
  train.estimate_k = true;
  train.calibration_share = 0.1;
  train.look_at_data = true;
}

DiscoverOptions DiscoverOptions::for_train() {
  DiscoverOptions options;
  options.train.is_general = false;
  options.train.material.use_bank = options.train.estimate_k = false;
  options.train.calibration_share = 0;
  options.train.look_at_data = false;
  return options;
}

void declare_discover_options(OptionTable& table, DiscoverOptions& options) {
  declare_data_options(table, options.data);
  declare_backbone_options(table, options.backbone);
  declare_train_options(table, options.train);
  settle_as_published(table, options.train, options.data.dataset);
  table.begin_group("Further rounds");
  table
      .add("corrections", &options.corrections,
           "what a person corrected on the page of an earlier run (docs/report.md)")
      .value_name("FILE.csv");
  table
      .add("previous", &options.previous,
           "the run that the corrections are of; all labels, names and merges it knows are kept")
      .value_name("RUN");
  table
      .add("images_root", &options.images_root,
           "where the images of the run before are now, if they were moved")
      .value_name("DIR");
  table.add("runs", &options.runs, "repeat with the next seeds; mean and deviation are told")
      .at_least(1)
      .at_most(1000);
  table.begin_group("Machine");
  declare_image_options(table, options.images);
}

void resolve(DiscoverOptions& options, const Logger& log) {
  if (options.backbone.backbone.empty() || options.backbone.backbone == kBuiltinBackbone) {
    const Logger quiet;  // what there is to say about the images is said later
    options.backbone.backbone =
        choose_backbone(options.backbone, open_data(options.data, quiet).sources, log);
  }
  for (const std::string& decision :
       resolve(options.train,
               {.has_builtin_backbone = options.backbone.backbone == kBuiltinBackbone})) {
    log.info(decision);
  }
  make_paths_absolute(options);
}

std::string configuration_of(const DiscoverOptions& options, const Context& context) {
  DiscoverOptions copy = options;
  MachineOptions machine{.device = context.device,
                         .dtype = context.dtype,
                         .threads = static_cast<std::int64_t>(context.threads),
                         .seed = context.seed,
                         .bad_images = options.bad_images,
                         .max_bad = options.max_bad};
  OptionTable table;
  std::string method = options.train.method->name();
  declare_configuration(table, method, copy, machine);
  return table.to_toml();
}

Discovery discover(const DiscoverOptions& options, const Context& context) {
  check(options);
  if (context.team) {
    check_shareable(options.train);
    check_same_work(context, work_of(options, context));
  }
  const Backbone backbone = open_backbone(options.backbone, context.log);
  if (context.process.rank == 0) return run_once(options, backbone, context);
  // The others do the same, each its share of the work, and leave nothing behind.
  const ScratchFolder scratch;
  DiscoverOptions follower = options;
  follower.train.shared_out = options.train.out;
  follower.train.out = scratch / "run";
  if (follower.train.material.bank.folder.empty())
    follower.train.material.bank.folder = options.train.out / run_files::kBank;
  follower.train.resume = follower.train.overwrite = follower.train.report = false;
  return run_once(follower, backbone, context);
}

ClassNumber estimate_class_number(const DiscoverOptions& options, const Context& context) {
  const TrainOptions& train = options.train;
  const ComputeSettings settings(context);
  const ScratchFolder folder;  // for a bank that memory has no room for
  const Backbone backbone = open_backbone(options.backbone, context.log);
  MaterialOptions needed = train.material;
  needed.sees_labelled = true;
  needed.sees_strong = train.method->sees_strong();
  needed.reading = {.apply_orientation = !options.data.is_benchmark(),
                    .fast_decode = options.images.fast_decode};
  TrainingMaterial material(open_labelled_data(options, context.log).dataset, backbone, needed,
                            folder / "estimate",
                            BadImagePolicy::parse(options.bad_images, options.max_bad), context);
  return estimate_class_number(material, backbone, estimate_of(train), context);
}

fs::path folder_of_run(const DiscoverOptions& options, std::uint64_t seed) {
  const fs::path& out = options.train.out;
  return options.runs == 1 ? out : out / fmt::format("seed-{}", seed);
}

/// One run after the other, each in a folder of its own with a configuration of its own.
std::vector<RunResult> discover_several(const DiscoverOptions& options, const Context& context,
                                        const std::function<void(const Discovery&)>& after_each) {
  check(options);
  if (context.team)
    throw UsageError(option_name("runs") + ": several processes do one run at a time");
  const Backbone backbone = open_backbone(options.backbone, context.log);
  const fs::path top = options.train.out;
  if (!options.train.resume) {
    check_output_path(top, options.train.overwrite);
    create_folders(top);
    write_file_atomically(top / run_files::kConfig, configuration_of(options, context));
    fs::remove(top / run_files::kResult);
  }
  std::vector<RunResult> results;
  for (std::int64_t run = 0; run < options.runs; ++run) {
    Context with_seed = context;
    with_seed.seed = context.seed + static_cast<std::uint64_t>(run);
    DiscoverOptions one = options;
    one.runs = 1;
    one.train.out = folder_of_run(options, with_seed.seed);
    one.train.resume = options.train.resume && fs::exists(one.train.out / run_files::kConfig);
    try {
      const Discovery found = run_once(one, backbone, with_seed);
      if (after_each) after_each(found);
      results.push_back(found.result);
    } catch (const InterruptedError& error) {
      throw InterruptedError(
          fmt::format("run {} of {} {}", run + 1, options.runs, error.marked()),
          fmt::format("go on with: {}",
                      context.command_line({{"out", top.string()}, {"resume", ""}})));
    }
  }
  write_result(top / run_files::kResult, std::span<const RunResult>(results));
  return results;
}

}  // namespace protogcd
