#include "protogcd/sweep/cells.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"
#include "protogcd/run/run_files.h"

namespace protogcd {
namespace {

constexpr std::string_view kCellFolder = "{cell}";

using Variables = std::map<std::string, std::string>;

/// Text with {names} replaced by their values.
std::string filled_in(const std::string& text, const Variables& variables,
                      const std::string& where) {
  std::string result;
  std::size_t position = 0;
  for (;;) {
    const std::size_t open = text.find('{', position);
    const std::size_t close = open == std::string::npos ? open : text.find('}', open);
    if (close == std::string::npos) return result.append(text, position);
    const std::string name = text.substr(open + 1, close - open - 1);
    const auto found = variables.find(name);
    if (found == variables.end()) {
      std::vector<std::string> known;
      for (const auto& [key, value] : variables) known.push_back(key);
      throw ConfigError(fmt::format("{}: there is no variable '{}' (there are: {})", where, name,
                                    join(known, ", ")));
    }
    result.append(text, position, open - position).append(found->second);
    position = close + 1;
  }
}

void add_words(const Setting& setting, const Variables& variables,
               std::vector<std::string>& words) {
  const std::string flag = fmt::format("--{}", kebab_case(setting.key));
  if (setting.kind == Setting::Kind::kSwitch) {
    words.push_back(setting.values.front() == "true" ? flag : fmt::format("{}=false", flag));
    return;
  }
  const std::string where = fmt::format("{}: {}", setting.where, setting.key);
  for (const std::string& text : setting.values) {  // a list repeats its flag
    const std::string value = filled_in(text, variables, where);
    if (value.empty() || value.starts_with('-')) {
      words.push_back(fmt::format("{}={}", flag, value));
    } else {
      words.insert(words.end(), {flag, value});
    }
  }
}

/// The settings of the first step at a point of the grid: an axis wins over [options].
std::vector<Setting> settings_at(const SweepFile& file, const std::vector<std::size_t>& at) {
  std::vector<Setting> settings = file.steps.front().settings;
  for (std::size_t i = 0; i < at.size(); ++i) {
    for (const Setting& setting : file.axes[i].points[at[i]].settings) {
      std::erase_if(settings, [&](const Setting& other) { return other.key == setting.key; });
      settings.push_back(setting);
    }
  }
  return settings;
}

/// A later step is told where the data is as the first was, unless it says otherwise.
std::vector<Setting> settings_of_later_step(const SweepStep& step, const VerbTraits& traits,
                                            const std::vector<Setting>& first) {
  std::vector<Setting> settings;
  for (const Setting& setting : first) {
    if (traits.shared_keys.contains(setting.key) &&
        std::ranges::count(step.settings, setting.key, &Setting::key) == 0)
      settings.push_back(setting);
  }
  settings.insert(settings.end(), step.settings.begin(), step.settings.end());
  return settings;
}

/// Counts through the grid, the last axis fastest; false after the last point.
bool advance(std::vector<std::size_t>& at, const std::vector<SweepAxis>& axes) {
  for (std::size_t i = at.size(); i-- > 0;) {
    if (++at[i] < axes[i].points.size()) return true;
    at[i] = 0;
  }
  return false;
}

void check_number(const SweepFile& file) {
  constexpr std::size_t kMostCells = 100'000;
  std::size_t cells = file.seeds.size();
  for (const SweepAxis& axis : file.axes) {
    cells *= axis.points.size();  // cannot overflow: both are within the bound or one is a file's
    if (cells > kMostCells) {
      throw ConfigError(
          fmt::format("{}: axes and seeds make more than {} cells", file.name, kMostCells));
    }
  }
}

Cell cell_at(const SweepFile& file, const std::vector<std::size_t>& at, std::uint64_t seed,
             const std::filesystem::path& out, const std::vector<VerbTraits>& traits) {
  Cell cell{.at = at, .seed = seed, .slug = {}, .steps = {}, .pointers = {}};
  Variables variables = file.variables;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const std::string& label = file.axes[i].points[at[i]].label;
    variables[file.axes[i].name] = label;
    cell.slug += fmt::format("{}_", label_slug(label));
  }
  cell.slug += fmt::format("seed-{}", seed);
  variables["seed"] = fmt::format("{}", seed);
  variables["cell"] = kCellFolder;  // filled in by command_of
  const std::vector<Setting> first = settings_at(file, at);
  for (std::size_t i = 0; i < file.steps.size(); ++i) {
    const SweepStep& step = file.steps[i];
    CellStep planned{
        .name = label_slug(step.name), .traits = traits[i], .words = split(step.verb, ' ')};
    for (const Setting& setting : i == 0 ? first : settings_of_later_step(step, traits[i], first))
      add_words(setting, variables, planned.words);
    planned.words.insert(planned.words.end(), {"--seed", fmt::format("{}", seed)});
    cell.steps.push_back(std::move(planned));
  }
  variables["cell"] = cell_folder(out, cell).string();
  for (const SweepColumn& column : file.columns) {
    cell.pointers.push_back(filled_in(column.pointer, variables,
                                      fmt::format("{}: column '{}'", file.name, column.name)));
  }
  return cell;
}

}  // namespace

std::vector<Cell> plan_cells(const SweepFile& file, const std::filesystem::path& out,
                             const std::function<VerbTraits(const SweepStep&)>& traits) {
  std::vector<VerbTraits> of_steps;
  for (const SweepStep& step : file.steps) of_steps.push_back(traits(step));
  of_steps.front().takes_model = false;  // there is no run yet
  check_number(file);
  std::vector<Cell> cells;
  for (const std::uint64_t seed : file.seeds) {
    std::vector<std::size_t> at(file.axes.size(), 0);
    do {
      cells.push_back(cell_at(file, at, seed, out, of_steps));
    } while (advance(at, file.axes));
  }
  return cells;
}

std::filesystem::path cell_folder(const std::filesystem::path& out, const Cell& cell) {
  return out / "cells" / cell.slug;
}

std::filesystem::path own_output(const CellStep& step, const std::filesystem::path& cell_folder) {
  return cell_folder / (step.name + *step.traits.out_ending);
}

std::vector<std::string> command_of(const CellStep& step, const std::filesystem::path& cell_folder,
                                    std::size_t threads) {
  std::vector<std::string> words = step.words;
  const std::string folder = cell_folder.string();
  for (std::string& word : words) {
    for (std::size_t at = 0; (at = word.find(kCellFolder, at)) != word.npos; at += folder.size())
      word.replace(at, kCellFolder.size(), folder);
  }
  const std::string run = (cell_folder / "run").string();
  if (step.traits.takes_model) words.insert(words.end(), {"--model", run});
  if (step.traits.out_ending)
    words.insert(words.end(), {"--out", own_output(step, cell_folder).string()});
  if (step.traits.overwrites) words.push_back("--overwrite");
  if (step.traits.resumes) {
    words.insert(words.end(), {"--out", run});
    // What was killed before it had a configuration begins again.
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::path(run) / run_files::kConfig, error)) {
      words.push_back("--resume");
    } else if (std::filesystem::exists(run, error)) {
      words.push_back("--overwrite");
    }
  }
  words.insert(words.end(), {"--threads", fmt::format("{}", threads), "--json"});
  return words;
}

std::string shell_line(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+%@";
  std::vector<std::string> quoted;
  for (const std::string& word : words) {
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      quoted.push_back(word);
      continue;
    }
    std::string text = "'";
    for (const char letter : word) {
      if (letter == '\'') {
        text += R"('\'')";
      } else {
        text += letter;
      }
    }
    quoted.push_back(text + "'");
  }
  return join(quoted, " ");
}

}  // namespace protogcd
