#include "protogcd/sweep/cell_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

nlohmann::json read_json(const std::filesystem::path& path) {
  auto json = parse_json_or_discard(read_text_file(path));
  if (!json.is_object()) throw DataError(fmt::format("{}: not a JSON object", path.string()));
  return json;
}

constexpr int kCommandFormat = 1;

/// What stands under a key of a step's command file; `otherwise` where there is none.
template <class Value>
Value value_in(const std::filesystem::path& path, const char* key, const Value& otherwise) {
  try {
    const auto json = read_json(path);
    check_format(json, kCommandFormat, path.string());
    return json.value(key, otherwise);
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format("{}: {}: {}", path.string(), key, error.what()));
  }
}

/// Flags with their values: "--epochs 3" is one.
std::vector<std::string> grouped(const std::vector<std::string>& words) {
  std::vector<std::string> groups;
  for (const std::string& word : words) {
    if (groups.empty() || word.starts_with("--")) {
      groups.push_back(word);
    } else {
      groups.back() += fmt::format(" {}", word);
    }
  }
  std::ranges::sort(groups);
  return groups;
}

std::string difference(const std::vector<std::string>& before,
                       const std::vector<std::string>& now) {
  const auto old_groups = grouped(before), new_groups = grouped(now);
  std::string text;
  for (const auto& [from, other, what] :
       {std::tuple{&new_groups, &old_groups, "now"}, {&old_groups, &new_groups, "begun with"}}) {
    for (const std::string& group : *from) {
      if (std::ranges::count(*other, group) == 0)
        text += fmt::format("{}{} '{}'", text.empty() ? "" : ", ", what, group);
    }
  }
  return text;
}

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

/// NaN where there is no number.
double number_at(const nlohmann::json& json, const std::string& pointer) {
  const nlohmann::json::json_pointer where(pointer);
  if (!json.contains(where) || !json.at(where).is_number()) return kAbsent;
  return json.at(where).get<double>();
}

/// Where the same accuracy of another epoch stands in the answer of a run: /all is of unlabelled
/// images, /test/all of test images. Nothing for other numbers.
std::string pointer_for(WhichEpoch which, const std::string& pointer) {
  for (const char* name : {"/all", "/old", "/new"}) {
    if (pointer == name) return fmt::format("/{}/unlabelled{}", name_of(which), name);
    if (pointer == fmt::format("/test{}", name))
      return fmt::format("/{}{}", name_of(which), pointer);
  }
  return {};
}

}  // namespace

CellRecord::CellRecord(std::filesystem::path folder, const Cell& cell)
    : folder_(std::move(folder)), cell_(cell) {
  std::error_code ignored;  // a kill may have left it
  for (std::size_t step = 0; step < cell_.steps.size(); ++step)
    if (std::filesystem::exists(result(step))) std::filesystem::remove(output(step), ignored);
}

std::filesystem::path CellRecord::file(std::size_t step, const char* ending) const {
  return folder_ / fmt::format("{}{}", cell_.steps[step].name, ending);
}

std::size_t CellRecord::next_step() const {
  std::size_t step = 0;
  while (step < cell_.steps.size() && std::filesystem::exists(result(step))) ++step;
  return step;
}

std::optional<CellChange> CellRecord::change() const {
  for (std::size_t step = 0; step < cell_.steps.size(); ++step) {
    const auto path = file(step, ".command.json");
    if (!std::filesystem::exists(path)) continue;
    const auto words = value_in(path, "words", std::vector<std::string>());
    const std::string text = difference(words, cell_.steps[step].words);
    if (!text.empty()) return CellChange{step, text};
  }
  return std::nullopt;
}

void CellRecord::forget_from(std::size_t first) const {
  if (first == 0) {  // moved first: a cell that is half removed would be taken for one begun anew
    std::filesystem::path old = folder_;
    old += ".old";
    remove_folder(old);
    std::filesystem::rename(folder_, old);
    return remove_folder(old);
  }
  // The last step first, and the command that tells of the change last: killed in between, the
  // cell is still one that changed.
  const auto writes_run = [](const CellStep& step) { return step.traits.resumes; };
  const auto run_step = std::ranges::find_if(cell_.steps, writes_run) - cell_.steps.begin();
  for (std::size_t step = cell_.steps.size(); step-- > first;) {
    const CellStep& forgotten = cell_.steps[step];
    std::filesystem::remove(result(step));
    std::filesystem::remove(output(step));
    std::filesystem::remove(log(step));
    if (forgotten.traits.out_ending) remove_folder(own_output(forgotten, folder_));
    if (step == static_cast<std::size_t>(run_step)) remove_folder(folder_ / "run");
    std::filesystem::remove(file(step, ".command.json"));
  }
}

void CellRecord::begin(std::size_t step) const {
  create_folders(folder_);
  const auto path = file(step, ".command.json");
  if (std::filesystem::exists(path)) return;
  write_file_atomically(
      path,
      nlohmann::json{{kFormatKey, kCommandFormat}, {"words", cell_.steps[step].words}}.dump(2) +
          "\n");
}

void CellRecord::add_time(std::size_t step, double seconds) const {
  const auto path = file(step, ".command.json");
  nlohmann::json command = read_json(path);
  command["seconds"] = value_in(path, "seconds", 0.0) + seconds;
  write_file_atomically(path, command.dump(2) + "\n");
}

void CellRecord::finish(std::size_t step) const {
  read_json(output(step));
  write_file_atomically(result(step), read_text_file(output(step)));
  std::error_code ignored;  // what is left over does no harm
  std::filesystem::remove(output(step), ignored);
}

double CellRecord::seconds() const {
  double sum = 0;
  for (std::size_t step = 0; step < cell_.steps.size(); ++step) {
    const auto path = file(step, ".command.json");
    if (std::filesystem::exists(path)) sum += value_in(path, "seconds", 0.0);
  }
  return sum;
}

std::string CellRecord::remarks() const {
  std::vector<std::string> remarks;
  for (std::size_t step = 0; step < cell_.steps.size(); ++step) {
    const nlohmann::json answer = read_json(result(step));
    const auto skipped = answer.find("skipped");
    if (skipped != answer.end() && skipped->is_number() && *skipped > 0)
      remarks.push_back(fmt::format("{} images skipped", skipped->dump()));
    const auto lines = split(read_text_file(log(step)), '\n');
    const auto warnings = std::ranges::count_if(
        lines, [](const std::string& line) { return line.starts_with("warning: "); });
    if (warnings > 0)
      remarks.push_back(fmt::format("{} warnings in {}", warnings, log(step).string()));
  }
  return join(remarks, ", ");
}

BesideNumber CellRecord::beside(const SweepColumn& column, const std::string& pointer) const {
  const nlohmann::json json = read_json(result(column.step));
  const double scale = column.percent ? 100 : 1;
  BesideNumber beside;
  const std::size_t name = pointer.rfind('/');
  const std::string interval =
      fmt::format("{}/intervals{}", pointer.substr(0, name), pointer.substr(name));
  beside.low = scale * number_at(json, interval + "/0");
  beside.high = scale * number_at(json, interval + "/1");
  if (pointer_for(WhichEpoch::kLast, pointer).empty()) return beside;
  const auto best = [&](WhichEpoch which) {
    return scale * number_at(json, pointer_for(which, pointer));
  };
  beside.best_on_unlabelled = best(WhichEpoch::kBestOnUnlabelled);
  beside.best_on_test = best(WhichEpoch::kBestOnTest);
  return beside;
}

CellEpochs CellRecord::epochs() const {
  const nlohmann::json json = read_json(result(0));
  const auto epoch_of = [&](WhichEpoch which) {
    return number_at(json, fmt::format("/{}/epoch", name_of(which))) + 1;  // people count from 1
  };
  return {.evaluated = number_at(json, "/evaluated_epochs"),
          .all = number_at(json, "/epochs"),
          .last = epoch_of(WhichEpoch::kLast),
          .best_on_unlabelled = epoch_of(WhichEpoch::kBestOnUnlabelled),
          .best_on_test = epoch_of(WhichEpoch::kBestOnTest)};
}

double CellRecord::number(const SweepColumn& column, const std::string& pointer) const {
  const auto path = result(column.step);
  const nlohmann::json json = read_json(path);
  try {
    const nlohmann::json& value = json.at(nlohmann::json::json_pointer(pointer));
    if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (value.is_number()) return value.get<double>() * (column.percent ? 100 : 1);
  } catch (const nlohmann::json::exception&) {
    // The same as no number.
  }
  throw DataError(
      fmt::format("column '{}': step '{}' printed no number at {} (see {})", column.name,
                  cell_.steps[column.step].name, pointer, path.string()),
      fmt::format("every step is finished and none is run again: correct the pointer of column "
                  "'{}', and the same command takes the numbers",
                  column.name));
}

}  // namespace protogcd
