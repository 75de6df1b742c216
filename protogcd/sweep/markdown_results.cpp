// The table of a sweep as Markdown: all that its columns, the paper and the epochs have to say.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "protogcd/core/text.h"
#include "protogcd/sweep/results.h"

namespace protogcd {
namespace {

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

/// "71.0 ± 1.4", and of how many seeds where some have no number.
std::string spread_text(const Spread& spread, const SweepColumn& column, std::size_t seeds) {
  std::string text = shown(spread.mean, column);
  if (spread.count > 1) text += fmt::format(" ± {}", shown(spread.deviation, column));
  if (spread.count < seeds) text += fmt::format(" ({} of {})", spread.count, seeds);
  return text;
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
  std::string text = spread_text(spread, shape, results.file->seeds.size());
  if (const BesideNumber ends = results.interval(at, column); !std::isnan(ends.low))
    text += fmt::format(" [{}, {}]", shown(ends.low, shape), shown(ends.high, shape));
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

/// Whether any epoch but the last is told of the column's number.
bool has_best(const SweepResults& results, std::size_t column) {
  return results.has(column, WhichEpoch::kBestOnUnlabelled) ||
         results.has(column, WhichEpoch::kBestOnTest);
}

/// Of two epochs only one is subtracted: its name tells which.
std::string difference_title(const SweepResults& results, std::size_t column) {
  if (!has_best(results, column)) return "difference";
  return fmt::format("{} − paper", name_of(results.compared_epoch(column)));
}

std::vector<std::string> labels_at(const SweepFile& file, const std::vector<std::size_t>& at) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < at.size(); ++i)
    labels.push_back(markdown_text(file.axes[i].points[at[i]].label));
  return labels;
}

std::vector<std::string> axis_names(const SweepFile& file) {
  std::vector<std::string> names;
  for (const SweepAxis& axis : file.axes) names.push_back(markdown_text(axis.name));
  return names;
}

/// The points of the grid: cells of the first seed come first.
std::vector<std::vector<std::size_t>> points_of(const SweepResults& results) {
  std::vector<std::vector<std::size_t>> points;
  for (std::size_t i = 0; i < results.cells->size() / results.file->seeds.size(); ++i)
    points.push_back((*results.cells)[i].at);
  return points;
}

std::string main_table(const SweepResults& results) {
  const SweepFile& file = *results.file;
  const std::vector<bool> has_paper = columns_of_paper(file);
  std::vector<std::vector<std::string>> rows = {axis_names(file)};
  for (std::size_t i = 0; i < file.columns.size(); ++i) {
    rows[0].push_back(markdown_text(file.columns[i].name));
    if (has_paper[i]) rows[0].insert(rows[0].end(), {"paper", difference_title(results, i)});
  }
  for (const auto& at : points_of(results)) {
    std::vector<std::string> row = labels_at(file, at);
    const auto paper = file.paper.find(at);
    for (std::size_t i = 0; i < file.columns.size(); ++i) {
      row.push_back(ours(results, at, i));
      if (!has_paper[i]) continue;
      const double theirs = paper == file.paper.end() ? std::nan("") : paper->second[i];
      const Spread spread = results.spread(at, i, results.compared_epoch(i));
      row.push_back(shown(theirs, file.columns[i]));
      row.push_back(spread.count == 0 || std::isnan(theirs)
                        ? ""
                        : fmt::format("{:+.{}f}", spread.mean - theirs, file.columns[i].digits));
    }
    rows.push_back(std::move(row));
  }
  return markdown_table(rows);
}

/// The mean over seeds.
std::string epoch_text(const SweepResults& results, const std::vector<std::size_t>& at,
                       WhichEpoch which) {
  double sum = 0, count = 0;
  for (const std::size_t i : cells_at(results, at)) {
    const double epoch = results.results[i].epochs.of(which);
    if (std::isnan(epoch)) continue;
    sum += epoch;
    ++count;
  }
  return count == 0 ? "" : fmt::format("{:.0f}", sum / count);
}

/// How many epochs the best ones are the best of, in words: where cells differ, of the one that
/// looked at the smallest share.
std::string evaluated_words(const SweepResults& results) {
  const CellEpochs* least = nullptr;
  for (const CellResult& one : results.results) {
    const CellEpochs& epochs = one.epochs;
    if (std::isnan(epochs.evaluated)) continue;
    if (least == nullptr || epochs.evaluated * least->all < least->evaluated * epochs.all)
      least = &epochs;
  }
  if (least == nullptr || least->every_one()) return "Every epoch was evaluated";
  return fmt::format("{:.0f} of {:.0f} epochs were evaluated (eval_every)", least->evaluated,
                     least->all);
}

/// Last and best epochs, a row each; nothing where no run told of them.
std::string epoch_table(const SweepResults& results) {
  const SweepFile& file = *results.file;
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < file.columns.size(); ++i)
    if (has_best(results, i)) columns.push_back(i);
  if (columns.empty()) return {};
  std::vector<std::vector<std::string>> rows = {axis_names(file)};
  rows[0].insert(rows[0].end(), {"which", "epoch"});
  for (const std::size_t i : columns) rows[0].push_back(markdown_text(file.columns[i].name));
  for (const auto& at : points_of(results)) {
    for (const WhichEpoch which : kWhichEpochs) {
      const auto told = [&](std::size_t column) {
        return results.spread(at, column, which).count > 0;
      };
      if (std::ranges::none_of(columns, told)) continue;
      std::vector<std::string> row = labels_at(file, at);
      row.insert(row.end(), {name_of(which), epoch_text(results, at, which)});
      for (const std::size_t i : columns) {
        const Spread spread = results.spread(at, i, which);
        row.push_back(spread.count == 0 ? ""
                                        : spread_text(spread, file.columns[i], file.seeds.size()));
      }
      rows.push_back(std::move(row));
    }
  }
  return fmt::format(
      "\n## Last and best epochs\n\n{}\n{}; the best ones are chosen by the truth (an oracle), and "
      "no "
      "model is kept of them.\n",
      markdown_table(rows), evaluated_words(results));
}

/// What the paper tells of other methods; nothing where the file has none of it.
std::string method_table(const SweepFile& file) {
  if (file.paper_methods.empty()) return {};
  std::vector<std::vector<std::string>> rows = {{"method"}};
  for (const std::string& name : axis_names(file)) rows[0].push_back(name);
  for (const SweepColumn& column : file.columns) rows[0].push_back(markdown_text(column.name));
  for (const auto& [method, numbers] : file.paper_methods) {
    for (const auto& [at, values] : numbers) {
      std::vector<std::string> row = {markdown_text(method)};
      for (const std::string& label : labels_at(file, at)) row.push_back(label);
      for (std::size_t i = 0; i < values.size(); ++i)
        row.push_back(shown(values[i], file.columns[i]));
      rows.push_back(std::move(row));
    }
  }
  return fmt::format("\n## Other methods, as the paper tells them\n\n{}", markdown_table(rows));
}

bool has_intervals(const SweepResults& results) {
  return std::ranges::any_of(results.results, [](const CellResult& one) {
    return std::ranges::any_of(one.beside,
                               [](const BesideNumber& beside) { return !std::isnan(beside.low); });
  });
}

}  // namespace

std::string to_markdown(const SweepResults& results) {
  const SweepFile& file = *results.file;
  std::string text = fmt::format("# {}\n\n{}", markdown_text(file.title), main_table(results));
  std::vector<std::string> seeds;
  for (const std::uint64_t seed : file.seeds) seeds.push_back(fmt::format("{}", seed));
  text += fmt::format("\n{} of {} cells finished; seeds {}{}.", results.count(CellState::kFinished),
                      results.results.size(), join(seeds, ", "),
                      seeds.size() > 1 ? " (mean ± standard deviation)" : "");
  if (has_intervals(results)) text += " In brackets: 95% intervals over images.";
  if (!file.paper_source.empty())
    text += fmt::format(" The paper's numbers: {}.", markdown_text(file.paper_source));
  text += "\n";
  text += epoch_table(results) + method_table(file);
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
