#include "protogcd/sweep/results.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "protogcd/core/csv.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

const char* state_name(CellState state) {
  switch (state) {
    case CellState::kFinished:
      return "finished";
    case CellState::kFailed:
      return "failed";
    case CellState::kPending:
      return "pending";
  }
  return "";
}

/// A column of the CSV that stands beside the file's own, where any cell has a number for it.
struct ExtraColumn {
  std::string name;
  std::function<double(const CellResult&)> number;
};

std::vector<ExtraColumn> extra_columns(const SweepResults& results) {
  std::vector<ExtraColumn> columns;
  const auto add = [&](const std::string& name, std::function<double(const CellResult&)> number) {
    if (std::ranges::any_of(results.results,
                            [&](const CellResult& one) { return !std::isnan(number(one)); }))
      columns.push_back({name, std::move(number)});
  };
  const auto add_beside = [&](std::size_t column, const char* what, double BesideNumber::*which) {
    add(fmt::format("{} {}", results.file->columns[column].name, what),
        [column, which](const CellResult& one) {
          return one.beside.empty() ? BesideNumber::kNone : one.beside[column].*which;
        });
  };
  for (std::size_t i = 0; i < results.file->columns.size(); ++i) {
    add_beside(i, "low", &BesideNumber::low);
    add_beside(i, "high", &BesideNumber::high);
    add_beside(i, "best_on_unlabelled", &BesideNumber::best_on_unlabelled);
    add_beside(i, "best_on_test", &BesideNumber::best_on_test);
  }
  const auto add_epochs = [&](const std::string& name, double CellEpochs::*which) {
    add(name, [which](const CellResult& one) { return one.epochs.*which; });
  };
  add_epochs("evaluated epochs", &CellEpochs::evaluated);
  add_epochs("last epoch", &CellEpochs::last);
  add_epochs("best_on_unlabelled epoch", &CellEpochs::best_on_unlabelled);
  add_epochs("best_on_test epoch", &CellEpochs::best_on_test);
  return columns;
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::vector<std::string> quoted;
  for (const std::string& field : fields) quoted.push_back(csv_field(field));
  return join(quoted, ",") + "\n";
}

}  // namespace

std::vector<std::size_t> cells_at(const SweepResults& results, const std::vector<std::size_t>& at) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < results.cells->size(); ++i) {
    if ((*results.cells)[i].at == at) found.push_back(i);
  }
  return found;
}

std::string shown(double value, const SweepColumn& column) {
  return std::isnan(value) ? "–" : fmt::format("{:.{}f}", value, column.digits);
}

std::size_t SweepResults::count(CellState state) const {
  return static_cast<std::size_t>(std::ranges::count(results, state, &CellResult::state));
}

double CellEpochs::of(WhichEpoch which) const {
  switch (which) {
    case WhichEpoch::kBestOnUnlabelled:
      return best_on_unlabelled;
    case WhichEpoch::kBestOnTest:
      return best_on_test;
    case WhichEpoch::kLast:
      break;
  }
  return last;
}

double SweepResults::number(std::size_t cell, std::size_t column, WhichEpoch which) const {
  const CellResult& result = results[cell];
  if (result.state != CellState::kFinished) return BesideNumber::kNone;
  if (which == WhichEpoch::kLast) return result.values[column];
  if (result.beside.empty()) return BesideNumber::kNone;
  const BesideNumber& beside = result.beside[column];
  return which == WhichEpoch::kBestOnTest ? beside.best_on_test : beside.best_on_unlabelled;
}

Spread SweepResults::spread(const std::vector<std::size_t>& at, std::size_t column,
                            WhichEpoch which) const {
  std::vector<double> values;
  for (const std::size_t i : cells_at(*this, at)) {
    const double value = number(i, column, which);
    if (!std::isnan(value)) values.push_back(value);
  }
  Spread spread{.count = values.size()};
  if (values.empty()) return spread;
  for (const double value : values) spread.mean += value;
  spread.mean /= static_cast<double>(values.size());
  if (values.size() < 2) return spread;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return spread;
}

BesideNumber SweepResults::interval(const std::vector<std::size_t>& at, std::size_t column) const {
  BesideNumber mean{.low = 0, .high = 0};
  double count = 0;
  for (const std::size_t i : cells_at(*this, at)) {
    if (std::isnan(number(i, column))) continue;
    if (results[i].beside.empty()) return {};
    mean.low += results[i].beside[column].low;
    mean.high += results[i].beside[column].high;
    ++count;
  }
  return {.low = mean.low / count, .high = mean.high / count};
}

bool SweepResults::has(std::size_t column, WhichEpoch which) const {
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!std::isnan(number(i, column, which))) return true;
  return false;
}

WhichEpoch SweepResults::compared_epoch(std::size_t column) const {
  if (file->paper_epoch)
    return has(column, *file->paper_epoch) ? *file->paper_epoch : WhichEpoch::kLast;
  bool any = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (std::isnan(number(i, column))) continue;
    any = true;
    const bool is_known = !std::isnan(number(i, column, WhichEpoch::kBestOnUnlabelled));
    if (!is_known || !results[i].epochs.every_one()) return WhichEpoch::kLast;
  }
  return any ? WhichEpoch::kBestOnUnlabelled : WhichEpoch::kLast;
}

std::string SweepResults::describe(const Cell& cell) const {
  std::string text;
  for (std::size_t i = 0; i < cell.at.size(); ++i)
    text += fmt::format("{}, ", file->axes[i].points[cell.at[i]].label);
  return fmt::format("{}seed {}", text, cell.seed);
}

std::string to_csv(const SweepResults& results) {
  const SweepFile& file = *results.file;
  std::vector<std::string> header;
  for (const SweepAxis& axis : file.axes) header.push_back(axis.name);
  header.insert(header.end(), {"seed", "state"});
  for (const SweepColumn& column : file.columns) header.push_back(column.name);
  const std::vector<ExtraColumn> extras = extra_columns(results);
  for (const ExtraColumn& extra : extras) header.push_back(extra.name);
  header.insert(header.end(), {"seconds", "folder"});
  std::string text = csv_line(header);
  for (std::size_t i = 0; i < results.results.size(); ++i) {
    const Cell& cell = (*results.cells)[i];
    const CellResult& result = results.results[i];
    std::vector<std::string> row;
    for (std::size_t axis = 0; axis < cell.at.size(); ++axis)
      row.push_back(file.axes[axis].points[cell.at[axis]].label);
    row.insert(row.end(), {fmt::format("{}", cell.seed), state_name(result.state)});
    const auto add = [&](double value) {
      row.push_back(std::isnan(value) ? "" : fmt::format("{}", value));
    };
    for (std::size_t column = 0; column < file.columns.size(); ++column)
      add(results.number(i, column));
    for (const ExtraColumn& extra : extras) add(extra.number(result));
    row.push_back(result.state == CellState::kFinished ? fmt::format("{:.1f}", result.seconds)
                                                       : "");
    row.push_back(fmt::format("cells/{}", cell.slug));
    text += csv_line(row);
  }
  return text;
}

}  // namespace protogcd
