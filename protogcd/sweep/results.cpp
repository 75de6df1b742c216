#include "protogcd/sweep/results.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

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

std::string csv_line(const std::vector<std::string>& fields) {
  std::vector<std::string> quoted;
  for (const std::string& field : fields) quoted.push_back(csv_field(field));
  return join(quoted, ",") + "\n";
}

/// Letters as a terminal counts them: bytes that begin a UTF-8 character.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char letter) { return (static_cast<unsigned char>(letter) & 0xC0) != 0x80; }));
}

/// A Markdown table whose columns line up in plain text too.
std::string markdown_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 3);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += "|";
    for (std::size_t i = 0; i < widths.size(); ++i) {
      text +=
          fmt::format(" {}{} |", rows[r][i], std::string(widths[i] - width_of(rows[r][i]), ' '));
    }
    text += "\n";
    if (r > 0) continue;
    text += "|";
    for (const std::size_t width : widths) text += fmt::format("{}|", std::string(width + 2, '-'));
    text += "\n";
  }
  return text;
}

std::string markdown_text(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '|') escaped += '\\';
    escaped += letter == '\n' ? ' ' : letter;
  }
  return escaped;
}

/// The cells at one point of the grid, one for each seed.
std::vector<std::size_t> cells_at(const SweepResults& results, const std::vector<std::size_t>& at) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < results.cells->size(); ++i) {
    if ((*results.cells)[i].at == at) found.push_back(i);
  }
  return found;
}

std::string ours(const SweepResults& results, const std::vector<std::size_t>& at,
                 std::size_t column) {
  const Spread spread = results.spread(at, column);
  if (spread.count == 0) {
    const auto cells = cells_at(results, at);
    const auto in = [&](CellState state) {
      return std::ranges::count_if(
          cells, [&](std::size_t i) { return results.results[i].state == state; });
    };
    if (in(CellState::kFailed) > 0) return "failed";
    return in(CellState::kPending) > 0 ? "" : "–";
  }
  const SweepColumn& shape = results.file->columns[column];
  std::string text = shown(spread.mean, shape);
  if (spread.count > 1) text += fmt::format(" ± {}", shown(spread.deviation, shape));
  const std::size_t seeds = results.file->seeds.size();
  if (spread.count < seeds) text += fmt::format(" ({} of {})", spread.count, seeds);
  return text;
}

/// The columns for which the paper has a number anywhere.
std::vector<bool> columns_of_paper(const SweepFile& file) {
  std::vector<bool> has(file.columns.size());
  for (const auto& [at, values] : file.paper) {
    for (std::size_t i = 0; i < values.size(); ++i) has[i] = has[i] || !std::isnan(values[i]);
  }
  return has;
}

}  // namespace

std::string shown(double value, const SweepColumn& column) {
  return std::isnan(value) ? "–" : fmt::format("{:.{}f}", value, column.digits);
}

std::size_t SweepResults::count(CellState state) const {
  return static_cast<std::size_t>(std::ranges::count(results, state, &CellResult::state));
}

Spread SweepResults::spread(const std::vector<std::size_t>& at, std::size_t column) const {
  std::vector<double> values;
  for (const std::size_t i : cells_at(*this, at)) {
    const CellResult& result = results[i];
    if (result.state == CellState::kFinished && !std::isnan(result.values[column]))
      values.push_back(result.values[column]);
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
  header.insert(header.end(), {"seconds", "folder"});
  std::string text = csv_line(header);
  for (std::size_t i = 0; i < results.results.size(); ++i) {
    const Cell& cell = (*results.cells)[i];
    const CellResult& result = results.results[i];
    std::vector<std::string> row;
    for (std::size_t axis = 0; axis < cell.at.size(); ++axis)
      row.push_back(file.axes[axis].points[cell.at[axis]].label);
    row.insert(row.end(), {fmt::format("{}", cell.seed), state_name(result.state)});
    for (std::size_t column = 0; column < file.columns.size(); ++column) {
      const bool has = result.state == CellState::kFinished && !std::isnan(result.values[column]);
      row.push_back(has ? fmt::format("{}", result.values[column]) : "");
    }
    row.push_back(result.state == CellState::kFinished ? fmt::format("{:.1f}", result.seconds)
                                                       : "");
    row.push_back(fmt::format("cells/{}", cell.slug));
    text += csv_line(row);
  }
  return text;
}

std::string to_markdown(const SweepResults& results) {
  const SweepFile& file = *results.file;
  const std::vector<bool> has_paper = columns_of_paper(file);
  std::vector<std::vector<std::string>> rows(1);
  for (const SweepAxis& axis : file.axes) rows[0].push_back(markdown_text(axis.name));
  for (std::size_t i = 0; i < file.columns.size(); ++i) {
    rows[0].push_back(markdown_text(file.columns[i].name));
    if (has_paper[i]) rows[0].insert(rows[0].end(), {"paper", "difference"});
  }
  const std::size_t points = results.cells->size() / file.seeds.size();
  for (std::size_t point = 0; point < points; ++point) {
    const auto& at = (*results.cells)[point].at;  // those of the first seed come first
    std::vector<std::string> row;
    for (std::size_t i = 0; i < at.size(); ++i)
      row.push_back(markdown_text(file.axes[i].points[at[i]].label));
    const auto paper = file.paper.find(at);
    for (std::size_t i = 0; i < file.columns.size(); ++i) {
      row.push_back(ours(results, at, i));
      if (!has_paper[i]) continue;
      const double theirs = paper == file.paper.end() ? std::nan("") : paper->second[i];
      const Spread spread = results.spread(at, i);
      row.push_back(shown(theirs, file.columns[i]));
      row.push_back(spread.count == 0 || std::isnan(theirs)
                        ? ""
                        : fmt::format("{:+.{}f}", spread.mean - theirs, file.columns[i].digits));
    }
    rows.push_back(std::move(row));
  }
  std::string text = fmt::format("# {}\n\n{}", markdown_text(file.title), markdown_table(rows));
  std::vector<std::string> seeds;
  for (const std::uint64_t seed : file.seeds) seeds.push_back(fmt::format("{}", seed));
  text += fmt::format("\n{} of {} cells finished; seeds {}{}.", results.count(CellState::kFinished),
                      results.results.size(), join(seeds, ", "),
                      seeds.size() > 1 ? " (mean ± standard deviation)" : "");
  if (!file.paper_source.empty())
    text += fmt::format(" The paper's numbers: {}.", markdown_text(file.paper_source));
  text += "\n";
  for (std::size_t i = 0; i < results.results.size(); ++i) {
    if (results.results[i].state == CellState::kFailed) {
      text +=
          fmt::format("\nFailed: {}: {}\n", markdown_text(results.describe((*results.cells)[i])),
                      markdown_text(results.results[i].problem));
    }
  }
  return text;
}

}  // namespace protogcd
