// `protogcd sweep`: many runs from one file, one table of what they found.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "protogcd/cli/command_line.h"
#include "protogcd/cli/interrupt.h"
#include "protogcd/cli/launch.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/data/data_options.h"
#include "protogcd/nn/device.h"
#include "protogcd/sweep/runner.h"

namespace protogcd::cli {
namespace {

struct SweepVerbOptions {
  std::filesystem::path file, out;
  std::vector<std::string> set, seeds;
  std::int64_t jobs = 0;
  bool dry_run = false, restart_changed = false, share = false;
};

/// A verb that a step of a sweep may run, with its options.
class StepVerb {
 public:
  explicit StepVerb(const SweepStep& step) : verb_(find(step)) {}

  VerbTraits traits() const {
    DeclaredVerb declared(verb_);
    const auto takes = [&](std::string_view key) { return declared.table.find(key) != nullptr; };
    VerbTraits traits{.resumes = takes("resume"),
                      .overwrites = takes("overwrite") && !takes("resume"),
                      .takes_model = takes("model"),
                      .shared_keys = {}};
    const Option* out = declared.table.find("out");
    if (out != nullptr && !out->is_positional() && !traits.resumes)  // "FILE.png" ends in .png
      traits.out_ending = std::filesystem::path(out->value_name()).extension().string();
    DataOptions data;
    OptionTable shared;
    declare_data_options(shared, data);
    for (const std::string& key : shared.file_keys()) {
      if (takes(key)) traits.shared_keys.insert(key);
    }
    traits.shared_keys.insert({"device", "dtype", "bad_images", "max_bad"});
    return traits;
  }

  /// ConfigError names where the setting stands. Any variant of the verb may have the option:
  /// whether it fits the cell's own is known once the cells are.
  void check(const Setting& setting) const {
    AllVariants all(verb_);
    Option* option = all.find(setting.key);
    if (option == nullptr || option->is_positional()) {
      throw ConfigError(fmt::format("{}: '{}' has no option '{}'{}", setting.where, verb_.name,
                                    setting.key, did_you_mean(setting.key, all.file_keys())));
    }
    // What variables make of a text is known once the cells are.
    const bool filled_in_later = std::ranges::any_of(
        setting.values, [](const std::string& value) { return value.find('{') != value.npos; });
    if (filled_in_later) return;
    if (const auto problem = option->assign(setting.values, OptionSource::kFile))
      throw ConfigError(fmt::format("{}: {}: {}", setting.where, setting.key, *problem));
  }

  /// Resolves a whole command as the process would.
  void check(const std::vector<std::string>& command) const { resolve(command); }

  /// UsageError names an input of the command that is not there; what lies below `cells` is made by
  /// steps before it.
  void check_inputs(const std::vector<std::string>& command,
                    const std::filesystem::path& cells) const {
    const auto declared = resolve(command);
    for (const Option& option : declared->table.options()) {
      static const std::set<std::string> kInputs = {
          "root",   "labelled",    "unlabelled", "manifest",    "truth",
          "images", "corrections", "previous",   "weights_dir", "from"};
      if (!kInputs.contains(option.key()) || option.source() == OptionSource::kDefault) continue;
      const std::string path = option.text();
      if (path.empty()) continue;
      const bool made_here = comparable_path(path).starts_with(comparable_path(cells));
      // Sets of images have names as well: svhn:ROOT.
      if (made_here || std::filesystem::exists(path) || path.find(':') != path.npos) continue;
      throw UsageError(fmt::format("{}: there is no '{}'", option.flag(), path));
    }
  }

 private:
  std::unique_ptr<DeclaredVerb> resolve(const std::vector<std::string>& command) const {
    const auto verb_words = static_cast<std::ptrdiff_t>(split(verb_.name, ' ').size());
    const std::vector<std::string> arguments(command.begin() + verb_words, command.end());
    auto declared = std::make_unique<DeclaredVerb>(verb_, arguments);
    resolve_options(*declared, arguments);
    return declared;
  }

  static Verb find(const SweepStep& step) {
    std::vector<std::string> names;
    for (Verb& verb : all_verbs()) {
      if (verb.name == step.verb && verb.name != "sweep") return verb;
      names.push_back(verb.name);
    }
    throw ConfigError(fmt::format("{}: a sweep cannot run the verb '{}'{}", step.where, step.verb,
                                  did_you_mean(step.verb, names)));
  }

  Verb verb_;
};

void check_settings(const SweepFile& file) {
  const StepVerb first(file.steps.front());
  for (const SweepStep& step : file.steps) {
    const StepVerb verb(step);
    for (const Setting& setting : step.settings) verb.check(setting);
  }
  for (const SweepAxis& axis : file.axes) {
    for (const SweepPoint& point : axis.points) {
      for (const Setting& setting : point.settings) first.check(setting);
    }
  }
}

/// `inputs`: whether the files that they read must be there.
void check_commands(const SweepFile& file, const std::vector<Cell>& cells,
                    const std::filesystem::path& out, bool inputs) {
  std::vector<StepVerb> verbs(file.steps.begin(), file.steps.end());
  for (const Cell& cell : cells) {
    for (std::size_t i = 0; i < cell.steps.size(); ++i) {
      try {
        // As in a new folder: what is in the one that is there is not asked.
        const auto command = command_of(cell.steps[i], out / "cells" / "new", 1);
        verbs[i].check(command);
        if (inputs) verbs[i].check_inputs(command, out / "cells");
      } catch (const Error& error) {
        throw ConfigError(fmt::format("{}: {} of cell {}: {}", file.name, cell.steps[i].name,
                                      cell.slug, error.marked()),
                          error.marked_hint());
      }
    }
  }
}

/// Flags that every verb takes hold for the cells.
void apply_overrides(SweepFile& file, const SweepVerbOptions& options, Session& session) {
  for (const Option& option : session.options.options()) {
    const bool for_cells = option.key() == "device" || option.key() == "dtype" ||
                           option.key() == "bad_images" || option.key() == "max_bad";
    if (for_cells && option.source() == OptionSource::kFlag)
      apply_override(file, fmt::format("{}={}", option.key(), option.text()));
    if (option.key() == "seed" && option.source() == OptionSource::kFlag)
      file.seeds = {session.context.seed};
  }
  for (const std::string& assignment : options.set) apply_override(file, assignment);
  if (options.seeds.empty()) return;
  file.seeds.clear();
  for (const std::string& text : options.seeds) {
    const auto seed = parse_unsigned(text);
    if (!seed || std::ranges::count(file.seeds, *seed) > 0) {
      throw UsageError(
          fmt::format("--seeds: '{}' is not allowed: expected whole numbers of at "
                      "least 0, each once",
                      text));
    }
    file.seeds.push_back(*seed);
  }
}

/// A GPU serves one cell at a time; on a CPU, cells side by side with few threads each waste less
/// than one with many.
RunnerOptions runner_options(const SweepVerbOptions& options, const SweepFile& file,
                             std::size_t cells, std::size_t threads) {
  std::string device = "auto";
  for (const Setting& setting : file.steps.front().settings) {
    if (setting.key == "device") device = setting.values.front();
  }
  std::size_t jobs = static_cast<std::size_t>(options.jobs);
  if (jobs == 0) jobs = resolve_device(device).is_cuda ? 1 : threads;
  jobs = std::min(jobs, cells);
  return {.program = program_to_start(),
          .out = options.out,
          .jobs = jobs,
          .threads = std::max<std::size_t>(1, threads / jobs),
          .restart_changed = options.restart_changed,
          .share = options.share};
}

nlohmann::json number_or_null(double value) {
  return std::isnan(value) ? nlohmann::json() : nlohmann::json(value);
}

/// What stands beside the numbers of a cell: intervals, and the best epochs.
void add_beside(const SweepFile& file, const CellResult& result, nlohmann::json& one) {
  const auto add_epoch = [&](WhichEpoch which) {
    if (const double epoch = result.epochs.of(which); !std::isnan(epoch))
      one[name_of(which)]["epoch"] = epoch - 1;  // files count from 0
  };
  add_epoch(WhichEpoch::kLast);
  add_epoch(WhichEpoch::kBestOnUnlabelled);
  add_epoch(WhichEpoch::kBestOnTest);
  if (!std::isnan(result.epochs.evaluated)) one["evaluated_epochs"] = result.epochs.evaluated;
  for (std::size_t column = 0; column < result.beside.size(); ++column) {
    const BesideNumber& beside = result.beside[column];
    const std::string& name = file.columns[column].name;
    if (!std::isnan(beside.low)) one["intervals"][name] = {beside.low, beside.high};
    if (!std::isnan(beside.best_on_unlabelled))
      one["best_on_unlabelled"]["values"][name] = beside.best_on_unlabelled;
    if (!std::isnan(beside.best_on_test)) one["best_on_test"]["values"][name] = beside.best_on_test;
  }
}

nlohmann::json to_json(const SweepResults& results, const std::filesystem::path& out) {
  const SweepFile& file = *results.file;
  nlohmann::json cells = nlohmann::json::array();
  for (std::size_t i = 0; i < results.results.size(); ++i) {
    const Cell& cell = (*results.cells)[i];
    const CellResult& result = results.results[i];
    nlohmann::json one = {{"seed", cell.seed},
                          {"finished", result.state == CellState::kFinished},
                          {"folder", cell_folder(out, cell).string()}};
    for (std::size_t axis = 0; axis < cell.at.size(); ++axis)
      one["at"][file.axes[axis].name] = file.axes[axis].points[cell.at[axis]].label;
    for (std::size_t column = 0; column < result.values.size(); ++column)
      one["values"][file.columns[column].name] = number_or_null(result.values[column]);
    add_beside(file, result, one);
    if (!result.problem.empty()) one["problem"] = result.problem;
    cells.push_back(std::move(one));
  }
  return {{"title", file.title}, {"out", out.string()}, {"cells", std::move(cells)}};
}

/// The exit code is that of the first cell that failed.
void report_failures(const SweepResults& results) {
  const std::size_t failed = results.count(CellState::kFailed);
  if (failed == 0) return;
  const auto first = std::ranges::find(results.results, CellState::kFailed, &CellResult::state);
  const Cell& cell = (*results.cells)[static_cast<std::size_t>(first - results.results.begin())];
  const bool known = first->exit_code >= static_cast<int>(ErrorKind::kInternal) &&
                     first->exit_code <= static_cast<int>(ErrorKind::kTraining);
  throw Error(known ? static_cast<ErrorKind>(first->exit_code) : ErrorKind::kInternal,
              fmt::format("{} of {} cells failed, the first: {}: {}", failed,
                          results.results.size(), results.describe(cell), first->problem),
              first->hint);
}

void sweep(const SweepVerbOptions& options, Session& session) {
  SweepFile file = read_sweep(options.file);
  apply_overrides(file, options, session);
  check_settings(file);
  const auto cells =
      plan_cells(file, options.out, [](const SweepStep& step) { return StepVerb(step).traits(); });
  check_commands(file, cells, options.out, !options.dry_run);
  const RunnerOptions how = runner_options(options, file, cells.size(), session.context.threads);
  if (options.dry_run) {
    for (const Cell& cell : cells) {
      for (const CellStep& step : cell.steps) {
        say("protogcd {}\n",
            shell_line(command_of(step, cell_folder(options.out, cell), how.threads)));
      }
    }
    return;
  }
  session.context.log.info(fmt::format("{}: {} cells, {} at a time with {} threads each",
                                       file.title, cells.size(), how.jobs, how.threads));
  const InterruptGuard interrupt(session.host_stop);
  Context context = session.context;
  context.stop = interrupt.token();
  const SweepResults results = run_sweep(file, cells, how, context);
  if (session.json()) {
    session.print_json(to_json(results, options.out));
  } else {
    say_lines(to_markdown(results));
    say("\n{}\n", (options.out / "table.md").string());
  }
  report_failures(results);
}

}  // namespace

Verb sweep_verb() {
  return {
      .name = "sweep",
      .summary = "many runs from one file, and one table: grids, ablations, seeds",
      .example =
          "protogcd sweep configs/paper/main-ablation.toml --set data=/data --out sweeps/ablation",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<SweepVerbOptions>();
        table.add("file", &options->file, "the sweep (docs/sweeps.md)")
            .value_name("FILE.toml")
            .positional()
            .required();
        table
            .add("out", &options->out,
                 "the sweep's folder; one that was stopped goes on where it was")
            .value_name("DIR")
            .required();
        table
            .add("set", &options->set,
                 "an option of every cell, or a variable of the file; wins over the file; "
                 "repeatable")
            .value_name("KEY=VALUE")
            .flag_only();
        table.add("seeds", &options->seeds, "instead of the file's; repeatable")
            .value_name("N")
            .flag_only();
        table
            .add("jobs", &options->jobs,
                 "cells at a time; 0: one on a GPU, else one for each CPU thread")
            .at_least(0)
            .at_most(4096);
        table.add("dry_run", &options->dry_run, "print the commands, run nothing").flag_only();
        table
            .add("restart_changed", &options->restart_changed,
                 "run cells again that were begun with other options")
            .flag_only();
        table
            .add("share", &options->share,
                 "with other processes of this command, also on other machines: each cell is run "
                 "by one of them")
            .flag_only();
        return [options](Session& session) { sweep(*options, session); };
      }};
}

}  // namespace protogcd::cli
