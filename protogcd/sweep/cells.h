// The cells of a sweep: every point of the grid with every seed, and the commands that each runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protogcd/sweep/sweep_file.h"

namespace protogcd {

/// What a sweep must know of a verb.
struct VerbTraits {
  bool resumes = false;     ///< writes a run into --out, and goes on with it with --resume
  bool overwrites = false;  ///< takes --overwrite, and has no run to go on with
  bool takes_model = false;
  /// Has an --out that is no run: the ending of its name, empty for a folder.
  std::optional<std::string> out_ending = std::nullopt;
  /// Options that say where the data is and how to compute: a later step takes them from the first.
  std::set<std::string> shared_keys;
};

struct CellStep {
  std::string name;
  VerbTraits traits;
  /// Verb and flags, without what says where and how fast it runs (--out, --model, --threads), and
  /// with {cell} for its folder: a cell stays the same when that is moved or spelled otherwise.
  std::vector<std::string> words;
};

struct Cell {
  std::vector<std::size_t> at;  ///< position on each axis
  std::uint64_t seed = 0;
  std::string slug;  ///< name of its folder: "dino_cub_seed-0"
  std::vector<CellStep> steps;
  std::vector<std::string> pointers;  ///< of each column
};

/// All cells, those of the first seed first, so that the table fills soon. `traits` is asked for
/// every verb. ConfigError names a {variable} that there is not, and refuses more cells than anyone
/// can want.
std::vector<Cell> plan_cells(const SweepFile& file, const std::filesystem::path& out,
                             const std::function<VerbTraits(const SweepStep&)>& traits);

/// The folder of a cell and of its run.
std::filesystem::path cell_folder(const std::filesystem::path& out, const Cell& cell);

/// Where a step with an out_ending writes: in the cell's folder, by the step's name.
std::filesystem::path own_output(const CellStep& step, const std::filesystem::path& cell_folder);

/// The whole command of a step, without the program's name.
std::vector<std::string> command_of(const CellStep& step, const std::filesystem::path& cell_folder,
                                    std::size_t threads);

/// Words as a shell would take them.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace protogcd
