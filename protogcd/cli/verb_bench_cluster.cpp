// `protogcd bench cluster`: a k-means fit and Lloyd's algorithm alone, beside scikit-learn on the
// same numbers, from the same start, in the same run.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <sstream>

#include "protogcd/cli/bench_photos.h"
#include "protogcd/cli/bench_table.h"
#include "protogcd/cli/python_process.h"
#include "protogcd/cli/sklearn_kmeans_script.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/cluster/kmeans.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/npy.h"
#include "protogcd/engine/placement.h"
#include "protogcd/nn/device.h"
#include "protogcd/nn/state_dict.h"

namespace protogcd::cli {
namespace {

struct BenchClusterOptions {
  std::int64_t rows = 50000, width = 768, k = 100, runs = 5;
  double separation = 0.15;
  std::string python;
  std::filesystem::path csv;
  bool overwrite = false;
};

/// Unit rows around `k` directions. A coordinate's noise is 1 and that of a centre `separation`, so
/// that clusters overlap where it is small.
at::Tensor made_up_features(const BenchClusterOptions& options, std::uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const at::Tensor centres =
      at::randn({options.k, options.width}, generator, at::kFloat).mul_(options.separation);
  const at::Tensor which = at::randint(options.k, {options.rows}, generator, at::kLong);
  const at::Tensor rows = at::randn({options.rows, options.width}, generator, at::kFloat)
                              .add_(centres.index_select(0, which));
  return rows / rows.norm(2, {1}, true);
}

/// What one fit came to.
struct Fit {
  double seconds = 0, inertia = 0, iterations = 0;
};

struct MeasuredCluster {
  std::string work, by;
  std::vector<double> seconds = {}, inertia = {}, iterations = {}, times = {}, excess = {};
};

class ClusterBenchmark {
 public:
  ClusterBenchmark(const BenchClusterOptions& options, Session& session);
  void run();
  std::vector<std::vector<std::string>> rows() const;

 private:
  Fit ours(const std::function<Clustering(const Points&)>& cluster) const;
  Fit theirs(const std::string& request);
  void note(std::size_t first, const Fit& own, const Fit& other);

  const BenchClusterOptions& options_;
  Session& session_;
  at::Device device_;
  ScratchFolder folder_;
  at::Tensor features_;
  std::unique_ptr<PythonProcess> python_;
  std::vector<MeasuredCluster> measured_ = {{.work = "fit", .by = "protogcd"},
                                            {.work = "fit", .by = "scikit-learn"},
                                            {.work = "lloyd", .by = "protogcd"},
                                            {.work = "lloyd", .by = "scikit-learn"}};
};

ClusterBenchmark::ClusterBenchmark(const BenchClusterOptions& options, Session& session)
    : options_(options),
      session_(session),
      device_(place(session.context).device),
      features_(made_up_features(options, session.context.seed)) {
  if (!options.python.empty()) {
    write_npy(folder_ / "features.npy", entry_of("features", features_));
    python_ = std::make_unique<PythonProcess>(
        options.python, kSklearnKmeansScript,
        std::vector<std::string>{"--features", (folder_ / "features.npy").string(), "--k",
                                 std::to_string(options.k), "--threads",
                                 std::to_string(session.context.threads)},
        "sklearn");
    if (!python_->read_line().starts_with("ready"))
      throw UsageError(fmt::format("--python: '{}' cannot run scikit-learn", options.python));
  }
  features_ = features_.to(device_);
}

/// From the features to the result: preparing them is part of it, as it is of scikit-learn's.
Fit ClusterBenchmark::ours(const std::function<Clustering(const Points&)>& cluster) const {
  const auto start = std::chrono::steady_clock::now();
  const Clustering result = cluster(Points(features_));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return {took.count(), result.inertia, static_cast<double>(result.iterations)};
}

Fit ClusterBenchmark::theirs(const std::string& request) {
  std::istringstream answer(python_->ask(request));
  Fit fit;
  if (!(answer >> fit.seconds >> fit.inertia >> fit.iterations))
    throw UsageError(fmt::format("--python: '{}' gave no numbers for a fit", options_.python));
  return fit;
}

void ClusterBenchmark::note(std::size_t first, const Fit& own, const Fit& other) {
  const auto add = [](MeasuredCluster& measured, const Fit& fit) {
    measured.seconds.push_back(fit.seconds);
    measured.inertia.push_back(fit.inertia);
    measured.iterations.push_back(fit.iterations);
  };
  add(measured_[first], own);
  if (!python_) return;
  add(measured_[first + 1], other);
  measured_[first + 1].times.push_back(other.seconds / own.seconds);
  measured_[first + 1].excess.push_back(100 * (own.inertia / other.inertia - 1));
}

void ClusterBenchmark::run() {
  Progress progress("bench", static_cast<std::uint64_t>(options_.runs), "rounds",
                    session_.context.progress());
  for (std::int64_t i = 0; i < options_.runs; ++i) {  // each round has seeds of its own
    const KMeansOptions fit{.k = options_.k,
                            .starts = 1,
                            .seed = session_.context.seed + static_cast<std::uint64_t>(i)};
    const auto own = ours([&](const Points& points) { return kmeans(points, fit); });
    note(0, own, python_ ? theirs(fmt::format("fit {}", fit.seed)) : Fit{});
    const at::Tensor start = first_centroids(Points(features_), fit).cpu();
    write_npy(folder_ / "start.npy", entry_of("start", start));
    const auto lloyds = ours([&](const Points& points) { return lloyd(points, start, fit); });
    note(2, lloyds,
         python_ ? theirs(fmt::format("lloyd {}", (folder_ / "start.npy").string())) : Fit{});
    progress.add();
  }
}

const std::vector<std::string> kClusterColumns = {"work",       "by",
                                                  "device",     "threads",
                                                  "rows",       "width",
                                                  "k",          "seconds",
                                                  "lowest",     "highest",
                                                  "iterations", "inertia",
                                                  "speedup",    "inertia_difference_percent"};

std::vector<std::vector<std::string>> ClusterBenchmark::rows() const {
  std::vector<std::vector<std::string>> table;
  for (const MeasuredCluster& measured : measured_) {
    if (measured.seconds.empty()) continue;
    const Spread seconds = spread_of(measured.seconds);
    const bool beside = !measured.times.empty();
    table.push_back({measured.work, measured.by,
                     beside ? "cpu" : resolve_device(session_.context.device).name(),
                     std::to_string(session_.context.threads), std::to_string(options_.rows),
                     std::to_string(options_.width), std::to_string(options_.k),
                     fmt::format("{:.3f}", seconds.median), fmt::format("{:.3f}", seconds.low),
                     fmt::format("{:.3f}", seconds.high),
                     fmt::format("{:.0f}", spread_of(measured.iterations).median),
                     fmt::format("{:.2f}", spread_of(measured.inertia).median),
                     beside ? fmt::format("{:.2f}", spread_of(measured.times).median) : "",
                     beside ? fmt::format("{:.4f}", spread_of(measured.excess).median) : ""});
  }
  return table;
}

void bench_cluster(const BenchClusterOptions& options, Session& session) {
  if (!options.csv.empty()) check_output_path(options.csv, options.overwrite, "csv");
  if (options.k > options.rows)
    throw UsageError(fmt::format("--k: {} clusters of {} rows", options.k, options.rows));
  const ComputeThreads compute_threads(session.context.threads);
  ClusterBenchmark benchmark(options, session);
  benchmark.run();
  show_bench_table(kClusterColumns, benchmark.rows(), options.csv, session);
}

}  // namespace

Verb bench_cluster_verb() {
  return {
      .name = "bench cluster",
      .summary = "seconds of k-means: a whole fit and Lloyd's algorithm alone, and scikit-learn's",
      .example = "protogcd bench cluster --python python3 --csv cluster.csv",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<BenchClusterOptions>();
        table.add("rows", &options->rows, "made-up features").at_least(1);
        table.add("width", &options->width, "numbers in a row").at_least(1);
        table.add("k", &options->k, "clusters, made up and looked for").at_least(1);
        table
            .add("separation", &options->separation,
                 "how far centres are apart, in units of the noise; small: clusters overlap")
            .at_least(0);
        table.add("runs", &options->runs, "rounds, each with another seed")
            .at_least(1)
            .at_most(1000);
        table.add("python", &options->python, "also by scikit-learn, run by this interpreter")
            .value_name("PATH");
        table.add("csv", &options->csv, "also write the table to this file").value_name("FILE.csv");
        table.add("overwrite", &options->overwrite, "replace the file");
        return [options](Session& session) { bench_cluster(*options, session); };
      }};
}

}  // namespace protogcd::cli
