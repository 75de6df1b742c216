#include "protogcd/sweep/runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "protogcd/core/error.h"
#include "protogcd/core/file_lock.h"
#include "protogcd/core/files.h"
#include "protogcd/core/text.h"
#include "protogcd/sweep/cell_record.h"
#include "protogcd/sweep/child_process.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kBetweenLooks = std::chrono::milliseconds(500);
constexpr const char* kTriedAgain = "the same command tries them again";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The sweep's folder, held by one process or by those that share it.
class SweepFolder {
 public:
  SweepFolder(const fs::path& path, bool share) : copy_(path / "sweep.toml") {
    const fs::path lock = path / ".sweep-lock";  // a run has a .lock
    if (fs::exists(path) && !fs::exists(copy_) && !fs::exists(lock) && !fs::is_empty(path)) {
      throw UsageError(fmt::format("{}: '{}' holds something else than a sweep", option_name("out"),
                                   path.string()),
                       "choose a new folder, or that of a sweep to go on with it");
    }
    create_folders(path);
    const std::string busy = fmt::format("{}: another sweep is working in it", path.string()),
                      hint = fmt::format("with {} both can", option_name("share"));
    lock_.emplace(share ? FileLock::shared(lock, busy, hint) : FileLock(lock, busy, hint));
  }

  void keep_copy(const std::string& sweep_file) const {
    write_file_atomically(copy_, read_text_file(sweep_file));
  }

 private:
  fs::path copy_;
  std::optional<FileLock> lock_;
};

/// The last error that a log tells, with what can be done about it; or its last line.
std::string last_error(const fs::path& log) {
  std::string last, error;
  for (const std::string& line : split(read_text_file(log), '\n')) {
    if (!trim(line).empty()) last = trim(line);
    if (line.starts_with("protogcd: error: ")) {
      error = line.substr(17);
    } else if (!error.empty() && line.starts_with("  ")) {
      error += fmt::format("; {}", trim(line));
    }
  }
  return one_line(error.empty() ? last : error);
}

struct RunningCell {
  std::size_t cell = 0, step = 0;
  Clock::time_point start;
  std::unique_ptr<ChildProcess> process;
};

class Runner {
 public:
  Runner(const SweepFile& file, const std::vector<Cell>& cells, const RunnerOptions& options,
         const Context& context)
      : file_(file),
        cells_(cells),
        options_(options),
        context_(context),
        folder_(options.out, options.share),
        results_{.file = &file, .cells = &cells, .results = {}} {
    results_.results.resize(cells.size());
    for (const Cell& cell : cells) records_.emplace_back(cell_folder(options.out, cell), cell);
    refuse_or_restart_changed();
    folder_.keep_copy(file.name);  // not that of a sweep that was refused
    take_finished();
  }

  SweepResults run() {
    if (results_.count(CellState::kFinished) > 0) {
      context_.log.info(fmt::format("{} of {} cells were finished before",
                                    results_.count(CellState::kFinished), cells_.size()));
    }
    write_tables();
    bool stopping = false;
    for (;;) {
      if (!stopping && running_.size() < options_.jobs) claim_cells();
      const bool waits = options_.share && results_.count(CellState::kPending) > 0;
      if (running_.empty() && (stopping || !waits)) break;
      if (!stopping && context_.interrupted()) {
        stopping = true;
        for (const RunningCell& cell : running_) cell.process->ask_to_stop();
      }
      collect(stopping);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (options_.share) take_finished();
    write_tables();
    if (stopping || context_.interrupted()) {
      throw InterruptedError(fmt::format("stopped: {} of {} cells are finished",
                                         results_.count(CellState::kFinished), cells_.size()),
                             "the same command goes on with the others");
    }
    return results_;
  }

 private:
  /// Numbers of cells that are finished, by whomever: another may have done what failed here.
  void take_finished() {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const bool is_open =
          results_.results[i].state == CellState::kPending || failed_here_.contains(i);
      if (!is_open || held_.contains(i) || records_[i].next_step() < cells_[i].steps.size())
        continue;
      failed_here_.erase(i);
      take_numbers(i);
    }
  }

  /// Of a cell, in a sweep that is shared; nothing where another has it.
  std::optional<FileLock> try_lock(std::size_t cell) const {
    create_folders(records_[cell].folder().parent_path());
    return FileLock::try_take(records_[cell].folder().string() + ".lock");
  }

  /// Begins cells that nobody is at, as many as may run beside those that do.
  void claim_cells() {
    if (options_.share) {
      if (Clock::now() < next_look_) return;
      next_look_ = Clock::now() + kBetweenLooks;
    }
    for (std::size_t i = 0; i < cells_.size() && running_.size() < options_.jobs; ++i) {
      if (results_.results[i].state != CellState::kPending || held_.contains(i)) continue;
      std::optional<FileLock> lock = options_.share ? try_lock(i) : std::nullopt;
      if (options_.share && !lock) continue;
      const std::size_t step = records_[i].next_step();
      if (step == cells_[i].steps.size()) continue;  // finished by another a moment ago
      held_.emplace(i, std::move(lock));
      start(i, step);
    }
    if (options_.share) take_finished();
  }

  void refuse_or_restart_changed() {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const auto change = records_[i].change();
      if (!change) continue;
      if (!options_.restart_changed) {
        throw UsageError(fmt::format("{}: other options than the cell was begun with: {}",
                                     records_[i].folder().string(), change->text),
                         fmt::format("{} runs such cells again; or choose another {}",
                                     option_name("restart_changed"), option_name("out")));
      }
      const std::optional<FileLock> lock = options_.share ? try_lock(i) : std::nullopt;
      if (options_.share && !lock) {
        throw UsageError(fmt::format("{}: another sweep is at this cell, with other options: {}",
                                     records_[i].folder().string(), change->text),
                         "wait for it, or stop it; then the same command again");
      }
      if (const auto still = records_[i].change()) records_[i].forget_from(still->step);
    }
  }

  void start(std::size_t cell, std::size_t step) {
    const CellRecord& record = records_[cell];
    const std::optional<FileLock>& lock = held_.at(cell);
    record.begin(step);
    std::vector<std::string> words = {options_.program};
    for (std::string& word :
         command_of(cells_[cell].steps[step], record.folder(), options_.threads))
      words.push_back(std::move(word));
    running_.push_back(
        {.cell = cell,
         .step = step,
         .start = Clock::now(),
         .process = std::make_unique<ChildProcess>(words, record.output(step), record.log(step),
                                                   lock ? &*lock : nullptr)});
  }

  /// Looks at every running cell once: its next step begins, or its numbers are taken.
  void collect(bool stopping) {
    std::vector<RunningCell> ended;
    for (auto cell = running_.begin(); cell != running_.end();) {
      if (cell->process->ended()) {
        ended.push_back(std::move(*cell));
        cell = running_.erase(cell);
      } else {
        ++cell;
      }
    }
    for (const RunningCell& cell : ended) settle(cell, *cell.process->ended(), stopping);
  }

  void settle(const RunningCell& ended, int exit_code, bool stopping) {
    const CellRecord& record = records_[ended.cell];
    record.add_time(ended.step, seconds_since(ended.start));
    auto held = held_.extract(ended.cell);
    if (exit_code != 0) {
      if (stopping) return;  // it goes on another time
      failed_here_.insert(ended.cell);
      const fs::path log = record.log(ended.step);
      const auto signal = ended_by_signal(exit_code);
      // A process does not end itself so: memory that ran out, or somebody.
      return fail(ended.cell, signal ? static_cast<int>(ErrorKind::kDevice) : exit_code,
                  fmt::format("{} (see {})", signal ? *signal : last_error(log), log.string()),
                  kTriedAgain);
    }
    try {
      record.finish(ended.step);
    } catch (const Error& error) {
      failed_here_.insert(ended.cell);
      return fail(ended.cell, error.exit_code(), error.what(), kTriedAgain);
    }
    const std::size_t step = record.next_step();
    if (step < cells_[ended.cell].steps.size()) {
      if (stopping) return;
      held_.insert(std::move(held));
      return start(ended.cell, step);
    }
    take_numbers(ended.cell);
    if (results_.results[ended.cell].state == CellState::kFinished) {
      ++finished_now_;
      seconds_now_ += results_.results[ended.cell].seconds;
      tell(ended.cell);
    }
    write_tables();
  }

  void fail(std::size_t cell, int exit_code, const std::string& problem, const std::string& hint) {
    CellResult& result = results_.results[cell];
    result.state = CellState::kFailed;
    result.exit_code = exit_code;
    result.problem = problem;
    result.hint = hint;
    context_.log.warning(fmt::format("{} failed: {}", results_.describe(cells_[cell]), problem));
    write_tables();
  }

  void take_numbers(std::size_t cell) {
    CellResult& result = results_.results[cell];
    result = {};  // another may have finished what failed here
    try {
      for (std::size_t i = 0; i < file_.columns.size(); ++i) {
        const std::string& pointer = cells_[cell].pointers[i];
        result.values.push_back(records_[cell].number(file_.columns[i], pointer));
        result.beside.push_back(records_[cell].beside(file_.columns[i], pointer));
      }
      result.epochs = records_[cell].epochs();
      result.seconds = records_[cell].seconds();
      result.state = CellState::kFinished;
    } catch (const Error& error) {
      fail(cell, error.exit_code(), error.what(), error.hint());
    }
  }

  /// One line on a cell that has just been finished, with the time that the others will take.
  void tell(std::size_t cell) const {
    std::string numbers;
    for (std::size_t i = 0; i < file_.columns.size() && i < 4; ++i) {
      numbers += fmt::format("{}{} {}", i == 0 ? "" : ", ", file_.columns[i].name,
                             shown(results_.results[cell].values[i], file_.columns[i]));
    }
    const std::string remarks = records_[cell].remarks();
    if (!remarks.empty()) numbers += "; " + remarks;
    const std::size_t left = results_.count(CellState::kPending);
    const double each = seconds_now_ / static_cast<double>(finished_now_ * options_.jobs);
    context_.log.info(fmt::format(
        "{} of {}: {}: {} ({}){}", cells_.size() - left, cells_.size(),
        results_.describe(cells_[cell]), numbers, human_seconds(results_.results[cell].seconds),
        left == 0 ? "" : fmt::format("; about {} left", human_seconds(each * double(left)))));
  }

  void write_tables() const {
    write_file_atomically(options_.out / "table.csv", to_csv(results_));
    write_file_atomically(options_.out / "table.md", to_markdown(results_));
    const std::string chart = to_svg(results_);
    if (!chart.empty()) write_file_atomically(options_.out / "chart.svg", chart);
  }

  const SweepFile& file_;
  const std::vector<Cell>& cells_;
  const RunnerOptions& options_;
  const Context& context_;
  SweepFolder folder_;
  std::vector<CellRecord> records_;
  SweepResults results_;
  std::vector<RunningCell> running_;
  std::map<std::size_t, std::optional<FileLock>> held_;  ///< cells that run here, with their locks
  std::set<std::size_t> failed_here_;                    ///< cells of which a step did not succeed
  Clock::time_point next_look_ = {};                     ///< for cells that others have left
  std::size_t finished_now_ = 0;
  double seconds_now_ = 0;  ///< of the cells that this process has finished
};

}  // namespace

SweepResults run_sweep(const SweepFile& file, const std::vector<Cell>& cells,
                       const RunnerOptions& options, const Context& context) {
  return Runner(file, cells, options, context).run();
}

}  // namespace protogcd
