// `protogcd bench tsne`: a map of rows, beside scikit-learn's of the same rows in the same run, and
// how good both are.
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <sstream>

#include "protogcd/analysis/map_quality.h"
#include "protogcd/analysis/tsne.h"
#include "protogcd/cli/bench_photos.h"
#include "protogcd/cli/bench_table.h"
#include "protogcd/cli/python_process.h"
#include "protogcd/cli/sklearn_tsne_script.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/npy.h"
#include "protogcd/core/random.h"

namespace protogcd::cli {
namespace {

struct BenchTsneOptions {
  std::int64_t rows = 20000, width = 192, centres = 100, runs = 1;
  double separation = 0.5, perplexity = 30;
  std::filesystem::path features;
  std::string python;
  std::filesystem::path csv;
  bool overwrite = false;
};

struct Rows {
  std::size_t width = 0;
  std::vector<float> values;  ///< [N, width]
  std::size_t count() const { return values.size() / width; }
};

/// Unit rows around directions, as `bench cluster` makes them.
Rows made_up_rows(const BenchTsneOptions& options, std::uint64_t seed) {
  const auto rows = static_cast<std::size_t>(options.rows);
  const auto width = static_cast<std::size_t>(options.width);
  const auto centres = static_cast<std::size_t>(options.centres);
  RandomStream random({.seed = seed, .purpose = RandomPurpose::kMap, .epoch = 3});
  std::vector<double> places(centres * width), row(width);
  for (double& value : places) value = options.separation * random.normal();
  Rows result{.width = width, .values = {}};
  result.values.reserve(rows * width);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t centre = random.below(centres);
    double squares = 0;
    for (std::size_t d = 0; d < width; ++d) {
      row[d] = places[centre * width + d] + random.normal();
      squares += row[d] * row[d];
    }
    for (const double value : row)
      result.values.push_back(static_cast<float>(value / std::sqrt(squares)));
  }
  return result;
}

std::vector<float> floats_of(const TensorEntry& array) {
  std::vector<float> values(array.element_count());
  std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

Rows read_rows(const std::filesystem::path& path) {
  const NpyFile file(path);
  const TensorEntry& array = file.array();
  if (array.type != ElementType::kFloat32 || array.shape.size() != 2 || array.shape[0] < 4 ||
      array.shape[1] < 1) {
    throw DataError(fmt::format("{}: {} {} is not rows of float32, at least four", path.string(),
                                element_name(array.type), array.shape_text()));
  }
  return {.width = static_cast<std::size_t>(array.shape[1]), .values = floats_of(array)};
}

void write_rows(const std::filesystem::path& path, const Rows& rows) {
  write_npy(path, {.name = "features",
                   .type = ElementType::kFloat32,
                   .shape = {static_cast<std::int64_t>(rows.count()),
                             static_cast<std::int64_t>(rows.width)},
                   .bytes = std::as_bytes(std::span(rows.values))});
}

struct MeasuredTsne {
  std::string by;
  std::vector<double> seconds = {}, iterations = {}, preserved = {}, divergence = {}, times = {};
};

class TsneBenchmark {
 public:
  TsneBenchmark(const BenchTsneOptions& options, Session& session);
  void run();
  std::vector<std::vector<std::string>> table() const;

 private:
  void ours(std::uint64_t seed);
  void theirs(std::uint64_t seed);
  void judge(const std::vector<float>& map, MeasuredTsne& measured) const;

  const BenchTsneOptions& options_;
  Session& session_;
  ScratchFolder folder_;
  Rows rows_;
  std::unique_ptr<PythonProcess> python_;
  MeasuredTsne own_{.by = "protogcd"}, other_{.by = "scikit-learn"};
};

TsneBenchmark::TsneBenchmark(const BenchTsneOptions& options, Session& session)
    : options_(options),
      session_(session),
      rows_(options.features.empty() ? made_up_rows(options, session.context.seed)
                                     : read_rows(options.features)) {
  if (options.perplexity > (static_cast<double>(rows_.count()) - 1) / 3) {
    throw UsageError(
        fmt::format("--perplexity: {} is too much for {} rows", options.perplexity, rows_.count()),
        "at most a third of the other rows");
  }
  if (options.python.empty()) return;
  write_rows(folder_ / "features.npy", rows_);
  python_ = std::make_unique<PythonProcess>(
      options.python, kSklearnTsneScript,
      std::vector<std::string>{"--features", (folder_ / "features.npy").string(), "--perplexity",
                               fmt::format("{}", options.perplexity), "--threads",
                               std::to_string(session.context.threads)},
      "sklearn");
  if (!python_->read_line().starts_with("ready"))
    throw UsageError(fmt::format("--python: '{}' cannot run scikit-learn", options.python));
}

void TsneBenchmark::judge(const std::vector<float>& map, MeasuredTsne& measured) const {
  const std::size_t threads = session_.context.threads;
  measured.preserved.push_back(
      neighbourhood_preservation(rows_.values, rows_.width, map, {.threads = threads}));
  measured.divergence.push_back(
      map_divergence(rows_.values, rows_.width, map, options_.perplexity, threads));
}

void TsneBenchmark::ours(std::uint64_t seed) {
  int iterations = 0;
  TsneOptions options{.perplexity = options_.perplexity,
                      .seed = seed,
                      .threads = session_.context.threads,
                      .keep_going = [&](int done) {
                        iterations = done;
                        return !session_.context.interrupted();
                      }};
  const auto start = std::chrono::steady_clock::now();
  const std::vector<float> map = tsne(rows_.values, rows_.width, options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  own_.seconds.push_back(took.count());
  own_.iterations.push_back(iterations);
  judge(map, own_);
}

void TsneBenchmark::theirs(std::uint64_t seed) {
  const auto path = folder_ / "map.npy";
  std::istringstream answer(python_->ask(fmt::format("{} {}", seed, path.string())));
  double seconds = 0, iterations = 0;
  if (!(answer >> seconds >> iterations))
    throw UsageError(fmt::format("--python: '{}' gave no numbers for a map", options_.python));
  other_.seconds.push_back(seconds);
  other_.iterations.push_back(iterations);
  other_.times.push_back(seconds / own_.seconds.back());
  judge(floats_of(NpyFile(path).array()), other_);
}

void TsneBenchmark::run() {
  Progress progress("bench", static_cast<std::uint64_t>(options_.runs), "rounds",
                    session_.context.progress());
  for (std::int64_t i = 0; i < options_.runs; ++i) {
    const std::uint64_t seed = session_.context.seed + static_cast<std::uint64_t>(i);
    ours(seed);
    if (python_) theirs(seed);
    progress.add();
  }
}

const std::vector<std::string> kTsneColumns = {"by",         "threads",   "rows",       "width",
                                               "perplexity", "seconds",   "lowest",     "highest",
                                               "iterations", "preserved", "divergence", "speedup"};

std::vector<std::vector<std::string>> TsneBenchmark::table() const {
  std::vector<std::vector<std::string>> table;
  for (const MeasuredTsne& measured : {own_, other_}) {
    if (measured.seconds.empty()) continue;
    const Spread seconds = spread_of(measured.seconds);
    table.push_back(
        {measured.by, std::to_string(session_.context.threads), std::to_string(rows_.count()),
         std::to_string(rows_.width), fmt::format("{}", options_.perplexity),
         fmt::format("{:.2f}", seconds.median), fmt::format("{:.2f}", seconds.low),
         fmt::format("{:.2f}", seconds.high),
         fmt::format("{:.0f}", spread_of(measured.iterations).median),
         fmt::format("{:.4f}", spread_of(measured.preserved).median),
         fmt::format("{:.4f}", spread_of(measured.divergence).median),
         measured.times.empty() ? "" : fmt::format("{:.2f}", spread_of(measured.times).median)});
  }
  return table;
}

void bench_tsne(const BenchTsneOptions& options, Session& session) {
  if (!options.csv.empty()) check_output_path(options.csv, options.overwrite, "csv");
  TsneBenchmark benchmark(options, session);
  benchmark.run();
  show_bench_table(kTsneColumns, benchmark.table(), options.csv, session);
}

}  // namespace

Verb bench_tsne_verb() {
  return {
      .name = "bench tsne",
      .summary = "seconds and quality of a t-SNE map, and scikit-learn's",
      .example = "protogcd bench tsne --rows 20000 --width 192 --python python3 --csv tsne.csv",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<BenchTsneOptions>();
        table.add("rows", &options->rows, "made-up features").at_least(4);
        table.add("width", &options->width, "numbers in a row").at_least(1);
        table.add("centres", &options->centres, "that the rows lie around").at_least(1);
        table
            .add("separation", &options->separation,
                 "how far centres are apart, in units of the noise; small: clusters overlap")
            .at_least(0);
        table
            .add("features", &options->features,
                 "rows of this file, float32 [N, D], instead of made-up ones")
            .value_name("FILE.npy");
        table.add("perplexity", &options->perplexity, "about how many neighbours a row has")
            .at_least(1);
        table.add("runs", &options->runs, "rounds, each with another seed")
            .at_least(1)
            .at_most(1000);
        table.add("python", &options->python, "also by scikit-learn, run by this interpreter")
            .value_name("PATH");
        table.add("csv", &options->csv, "also write the table to this file").value_name("FILE.csv");
        table.add("overwrite", &options->overwrite, "replace the file");
        return [options](Session& session) { bench_tsne(*options, session); };
      }};
}

}  // namespace protogcd::cli
