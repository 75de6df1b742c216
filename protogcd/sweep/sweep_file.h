// A sweep as its TOML file describes it: a verb and its options, axes whose points vary them,
// seeds, further verbs on each finished run, which numbers become columns, the paper's numbers, a
// chart. docs/sweeps.md shows how one is written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace protogcd {

/// An option of a verb with its value. Texts may hold {names}: of variables, of axes (the cell's
/// label), seed, and cell (its folder).
struct Setting {
  enum class Kind { kScalar, kSwitch, kList };

  std::string key;
  Kind kind = Kind::kScalar;
  std::vector<std::string> values;
  std::string where;  ///< "sweep.toml:12" or the option that set it, for messages
};

struct SweepPoint {
  std::string label;
  std::vector<Setting> settings;
};

struct SweepAxis {
  std::string name;
  std::vector<SweepPoint> points;
};

/// One verb of a cell. The first trains (or counts, or clusters); the others work on its run.
struct SweepStep {
  std::string name;  ///< what columns call it, and its files in the cell's folder
  std::string verb;
  std::vector<Setting> settings;
  std::string where;
};

struct SweepColumn {
  std::string name;
  std::string pointer;   ///< JSON pointer into what the step prints with --json; may hold {names}
  std::size_t step = 0;  ///< position in SweepFile::steps
  bool percent = false;  ///< the number is a fraction and shown times 100
  int digits = 1;        ///< after the point
};

/// Which numbers the chart shows: an axis along x, and a series for each point of another axis or
/// for each column.
struct SweepChart {
  std::size_t x = 0;
  std::optional<std::size_t> lines;
  std::vector<std::size_t> columns;  ///< one, if `lines` is set
  bool even = false;                 ///< labels at equal distances, though they are numbers
};

/// Which epoch a number is of. The best ones are chosen by the truth (run/epoch_comparison.h).
enum class WhichEpoch { kLast, kBestOnUnlabelled, kBestOnTest };
inline constexpr WhichEpoch kWhichEpochs[] = {WhichEpoch::kLast, WhichEpoch::kBestOnUnlabelled,
                                              WhichEpoch::kBestOnTest};
/// As result.json and sweep files call it: "best_on_test".
const char* name_of(WhichEpoch which);

/// By positions on the axes: a number for each column, NaN where the paper has none.
using PaperNumbers = std::map<std::vector<std::size_t>, std::vector<double>>;

struct SweepFile {
  std::string name, title;
  std::map<std::string, std::string> variables;
  std::vector<std::uint64_t> seeds = {0};
  std::vector<SweepStep> steps;
  std::vector<SweepAxis> axes;
  std::vector<SweepColumn> columns;
  std::string paper_source;
  std::optional<WhichEpoch> paper_epoch;  ///< of the paper's numbers, where the file says it
  PaperNumbers paper;
  /// What the paper tells of other methods for the same cells, in its order.
  std::vector<std::pair<std::string, PaperNumbers>> paper_methods;
  std::optional<SweepChart> chart;
};

/// ConfigError names file, line and key: syntax, unknown keys, doubled names, empty axes, pointers
/// that are none, numbers of the paper for a cell that does not exist. That options exist is
/// checked by whoever knows the verbs.
SweepFile parse_sweep(std::string_view text, const std::string& name);
SweepFile read_sweep(const std::filesystem::path& path);

/// `--set key=value`: a variable, or an option of the first step for every cell. UsageError if it
/// is neither, or if an axis sets it.
void apply_override(SweepFile& file, const std::string& assignment);

/// A label as part of a folder's name: letters, digits, dots and dashes.
std::string label_slug(std::string_view label);

}  // namespace protogcd
