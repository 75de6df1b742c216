// `protogcd cluster`: groups of images by k-means on features of a backbone or a trained model.
#include <ATen/ATen.h>
#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <optional>

#include "protogcd/analysis/accuracy.h"
#include "protogcd/cli/cluster_input.h"
#include "protogcd/cli/interrupt.h"
#include "protogcd/cli/processes.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/cluster/kmeans.h"
#include "protogcd/cluster/sampled.h"
#include "protogcd/cluster/semi_supervised_kmeans.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/engine/placement.h"
#include "protogcd/model/centroid_model.h"
#include "protogcd/model/stored_model.h"
#include "protogcd/nn/communicator.h"
#include "protogcd/nn/device.h"

namespace protogcd::cli {
namespace {

struct ClusterVerbOptions {
  ClusterInputOptions input;
  KMeansOptions kmeans;
  bool no_labels = false, no_normalise = false, overwrite = false;
  std::int64_t sample = 0, process_timeout = 600;
  std::filesystem::path out, save_model;
};

/// Labelled images of a class may all be unreadable: its cluster would then be another's.
void check_labelled_classes(const ClusterInput& input) {
  std::vector<bool> has_row(input.dataset.old_classes);
  for (const Sample& row : input.rows) {
    if (row.label >= 0) has_row[static_cast<std::size_t>(row.label)] = true;
  }
  for (std::size_t k = 0; k < has_row.size(); ++k) {
    if (!has_row[k]) {
      throw DataError(
          fmt::format("class '{}' has no readable labelled image", input.dataset.classes[k]),
          "leave out its folder, or use --no-labels");
    }
  }
}

/// How the clusters agree with the classes of unlabelled rows, or of all where none is unlabelled.
struct Agreement {
  std::int64_t rows = 0;
  Accuracy accuracy;
  double nmi = 0, ari = 0;
};

std::optional<Agreement> agreement_of(const ClusterInput& input, const at::Tensor& labels) {
  const bool any_unlabelled =
      std::ranges::any_of(input.rows, [](const Sample& row) { return row.label < 0; });
  std::vector<std::int32_t> clusters, truths;
  for (std::size_t i = 0; i < input.rows.size(); ++i) {
    if (any_unlabelled && input.rows[i].label >= 0) continue;
    clusters.push_back(static_cast<std::int32_t>(labels.const_data_ptr<std::int64_t>()[i]));
    truths.push_back(input.rows[i].truth);
  }
  const Confusion confusion(clusters, truths);
  if (confusion.samples() == 0) return std::nullopt;
  return Agreement{
      .rows = confusion.samples(),
      .accuracy = clustering_accuracy(confusion, match_clusters(confusion),
                                      static_cast<std::int32_t>(input.dataset.old_classes)),
      .nmi = normalized_mutual_information(confusion),
      .ari = adjusted_rand_index(confusion)};
}

/// The rows of a process: of several, those from rank N / size on.
class OwnRows {
 public:
  OwnRows(const ClusterInput& input, bool normalise, const Context& context)
      : name_(input.name), normalise_(normalise), context_(context) {
    const std::int64_t size = context.process.size;
    all_ = input.features.dim() == 2 ? input.features.size(0) : 0;
    first_ = all_ * context.process.rank / size;
    end_ = all_ * (context.process.rank + 1) / size;
    stored_of_all_ = input.features;
    stored_ = size == 1 ? input.features : input.features.narrow(0, first_, end_ - first_);
  }

  std::int64_t all() const { return all_; }      ///< of all processes
  std::int64_t first() const { return first_; }  ///< among all rows
  std::int64_t size() const { return end_ - first_; }
  std::string name(std::int64_t begin = 0) const {
    const std::int64_t row = first_ + begin;
    return row == 0 ? name_ : fmt::format("{}, from row {} on", name_, row);
  }

  /// What `work` gives; DataError in every process where it is thrown in one.
  template <class Work>
  auto in_all_processes(const Work& work) const {
    try {
      auto done = work();
      if (!any_process(context_, false)) return done;
    } catch (const DataError&) {
      any_process(context_, true);
      throw;
    }
    throw DataError(fmt::format("{}: rows of another process are bad", name_));
  }

  /// All of them as they are clustered. DataError in every process where one has bad rows.
  at::Tensor ready() const {
    return in_all_processes([&] { return ready(stored_, name()); });
  }

  /// So many from `begin` on.
  at::Tensor ready(std::int64_t begin, std::int64_t count) const {
    return ready(stored_.narrow(0, begin, count), name(begin));
  }

  /// This process's part of the rows of these numbers, whoever has them: the processes share a
  /// sample evenly, and none is left without a row.
  at::Tensor ready_sample(const std::vector<std::int64_t>& numbers) const {
    const std::int64_t count = std::ssize(numbers), rank = context_.process.rank,
                       size = context_.process.size, first = count * rank / size;
    const at::ArrayRef<std::int64_t> own(numbers.data() + first, count * (rank + 1) / size - first);
    return in_all_processes([&] {
      return ready(stored_of_all_.index_select(0, at::tensor(own)),
                   fmt::format("{}, a sample", name_));
    });
  }

 private:
  /// Half precision is for storing, not for computing.
  at::Tensor ready(const at::Tensor& stored, const std::string& name) const {
    const at::Tensor there = stored.to(place(context_).device);
    const bool half = there.scalar_type() == at::kHalf || there.scalar_type() == at::kBFloat16;
    const at::Tensor rows = half ? there.to(at::kFloat) : there;
    check_features(rows, name);
    return normalise_ ? rows / rows.norm(2, {1}, true).clamp_min(1e-12) : rows;
  }

  std::string name_;
  bool normalise_;
  const Context& context_;
  std::int64_t all_ = 0, first_ = 0, end_ = 0;
  at::Tensor stored_of_all_, stored_;  ///< [N, D] of a file that all processes map; own rows
};

/// The labels of all rows in every process.
at::Tensor labels_of_all(const OwnRows& rows, const at::Tensor& own, const Points& points) {
  const at::Tensor labels = at::zeros({rows.all()}, at::kLong);
  labels.narrow(0, rows.first(), rows.size()).copy_(own);
  return points.over_all(labels);
}

/// A fit of some rows, then all of them part by part, so that they need not be in memory together.
Clustering cluster_by_sample(const OwnRows& rows, std::int64_t sample,
                             const KMeansOptions& kmeans_options, const Context& context) {
  constexpr std::int64_t kRows = 65536;  // at a time
  const Points some(rows.ready_sample(draw_rows(rows.all(), sample, context.seed)),
                    fmt::format("{} rows of {}", sample, rows.name()), communicator_of(context));
  Clustering found = kmeans(some, kmeans_options);
  std::vector<at::Tensor> labels = {at::empty({0}, at::kLong)};
  double inertia = 0;
  const std::int64_t largest_part = rows.all() / context.process.size + 1;
  for (std::int64_t begin = 0; begin < largest_part; begin += kRows) {
    if (any_process(context, context.stop.stop_requested()))
      throw InterruptedError("interrupted: the clustering was not finished");
    const NearestOfRows nearest = rows.in_all_processes([&] {
      const std::int64_t count = std::min(kRows, rows.size() - begin);
      if (count <= 0) return NearestOfRows{.labels = at::empty({0}, at::kLong)};
      return nearest_of_rows(Points(rows.ready(begin, count), rows.name(begin)), found.centroids);
    });
    labels.push_back(nearest.labels.cpu());
    inertia += nearest.inertia;
  }
  found.labels = labels_of_all(rows, at::cat(labels), some);
  found.inertia = some.over_all(inertia);
  return found;
}

Clustering cluster_rows(const ClusterVerbOptions& options, const ClusterInput& input,
                        bool semi_supervised, const KMeansOptions& kmeans_options,
                        const Context& context) {
  const OwnRows rows(input, !options.no_normalise, context);
  if (options.sample > 0 && options.sample < rows.all())
    return cluster_by_sample(rows, options.sample, kmeans_options, context);
  const Points points(rows.ready(), rows.name(), communicator_of(context));
  if (!semi_supervised) {
    Clustering found = kmeans(points, kmeans_options);
    found.labels = labels_of_all(rows, found.labels, points);
    return found;
  }
  check_labelled_classes(input);
  std::vector<std::int64_t> labels;
  for (const Sample& row : input.rows) labels.push_back(row.label);
  return semi_supervised_kmeans(points, at::tensor(at::ArrayRef<std::int64_t>(labels)),
                                kmeans_options);
}

void write_clusters(const std::filesystem::path& out, const ClusterInput& input,
                    const at::Tensor& labels) {
  const bool any_class =
      std::ranges::any_of(input.rows, [](const Sample& row) { return row.truth >= 0; });
  std::vector<std::string> header = {input.has_paths ? "path" : "row", "cluster"};
  if (any_class) header.push_back("label");
  CsvWriter writer(out, header);
  CsvPaths paths(out);
  for (std::size_t i = 0; i < input.rows.size(); ++i) {
    const Sample& row = input.rows[i];
    std::vector<std::string> fields = {
        input.has_paths ? paths(input.dataset.sources, row.source) : std::to_string(i),
        std::to_string(labels.const_data_ptr<std::int64_t>()[i])};
    if (any_class) fields.emplace_back(input.dataset.class_name(row.truth));
    writer.row(fields);
  }
  writer.commit();
  const auto skipped = std::filesystem::path(out).replace_extension(".skipped.csv");
  if (input.skipped) {
    input.skipped->write_if_any(skipped, input.dataset.sources);
  } else {
    std::error_code ignored;
    std::filesystem::remove(skipped, ignored);  // of an earlier run that is being replaced
  }
}

std::size_t skipped_files(const ClusterInput& input) {
  return input.skipped ? input.skipped->listed(input.dataset.sources) : 0;
}

void check_model_folder(const ClusterVerbOptions& options) {
  if (options.save_model.empty()) return;
  if (!options.input.embeddings.empty()) {
    throw UsageError("--save-model: embeddings do not say which backbone a model needs",
                     "cluster images (--images, --labelled, ...) instead");
  }
  if (options.no_normalise)
    throw UsageError(
        "--save-model: prototypes compare directions, so --no-normalise cannot go with it");
  check_model_output(options.save_model, options.overwrite, "save_model");
}

void save_model(const std::filesystem::path& folder, const ClusterInput& input,
                const Clustering& result, bool semi_supervised, const Context& context) {
  const std::size_t old = semi_supervised ? input.dataset.old_classes : 0;
  const std::vector<std::string> old_classes(
      input.dataset.classes.begin(),
      input.dataset.classes.begin() + static_cast<std::ptrdiff_t>(old));
  const Logger quiet;  // what there is to say about the backbone was said
  // How the images are read is known already.
  const FeatureModel network = open_feature_model(input.network, /*is_benchmark=*/false, quiet);
  centroid_model(network.backbone, old_classes, input.features, result.centroids.cpu(),
                 input.reading, context)
      .save(folder);
}

nlohmann::json to_json(const Agreement& agreement) {
  return {{"samples", agreement.rows},
          {"all", 100 * agreement.accuracy.all},
          {"old", 100 * agreement.accuracy.old_classes},
          {"new", 100 * agreement.accuracy.new_classes},
          {"nmi", agreement.nmi},
          {"ari", agreement.ari}};
}

void print_words(const ClusterVerbOptions& options, const ClusterInput& input,
                 const Clustering& result, const std::vector<std::int64_t>& sizes,
                 bool semi_supervised, const std::optional<Agreement>& agreement) {
  say("{} rows in {} clusters by {}; inertia {:.6g}, {} iterations\n", input.rows.size(),
      sizes.size(), semi_supervised ? "semi-supervised k-means" : "k-means", result.inertia,
      result.iterations);
  say("{:>8} {:>8}\n", "cluster", "rows");
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const bool old = semi_supervised && k < input.dataset.old_classes;
    say("{:>8} {:>8}{}\n", k, sizes[k], old ? "  " + input.dataset.classes[k] : "");
  }
  if (agreement) {
    const auto percent = [](double value) {
      return std::isnan(value) ? std::string("-") : fmt::format("{:.1f}", 100 * value);
    };
    say("{} rows with a known class: All {}, Old {}, New {}; NMI {:.3f}, ARI {:.3f}\n",
        agreement->rows, percent(agreement->accuracy.all), percent(agreement->accuracy.old_classes),
        percent(agreement->accuracy.new_classes), agreement->nmi, agreement->ari);
  }
  if (const std::size_t skipped = skipped_files(input); skipped > 0)
    say("{} images skipped\n", skipped);
  if (!options.out.empty()) say("{}\n", options.out.string());
  if (!options.save_model.empty())
    say("{}: a model with the centroids as prototypes\n", options.save_model.string());
}

/// Several processes share the rows of a file, which all of them map.
void check_shared_input(const ClusterVerbOptions& options, const ClusterInput& input,
                        const Context& context) {
  if (context.process.size == 1) return;
  if (options.input.embeddings.empty()) {
    throw UsageError("several processes cluster embeddings, not images",
                     "make them first: protogcd embed (--shard spreads it), then --embeddings");
  }
  if (input.features.dim() != 2 || input.features.size(0) < context.process.size) {
    throw UsageError(
        fmt::format("{}: fewer rows than the {} processes", input.name, context.process.size));
  }
  if (options.sample > 0 && options.sample < context.process.size) {
    throw UsageError(fmt::format("--sample: {} rows are fewer than the {} processes",
                                 options.sample, context.process.size));
  }
}

void cluster(const ClusterVerbOptions& options, Session& session) {
  if (!options.out.empty()) check_output_file(options.out, options.overwrite, "out");
  check_model_folder(options);
  join_processes_of(session, options.process_timeout);
  const ComputeSettings settings(session.context);
  const InterruptGuard interrupt(session.host_stop);
  Context context = session.context;
  context.stop = interrupt.token();
  const ClusterInput input = open_cluster_input(options.input, session, context);
  check_shared_input(options, input, context);
  const bool semi_supervised =
      !options.no_labels &&
      std::ranges::any_of(input.rows, [](const Sample& row) { return row.label >= 0; });
  if (semi_supervised && options.sample > 0)
    throw UsageError("--sample: labelled images guide these clusters, and a sample has few of them",
                     "plain k-means: --no-labels");
  KMeansOptions kmeans_options = options.kmeans;
  kmeans_options.seed = context.seed;
  kmeans_options.stop = interrupt.token();
  const Clustering result = cluster_rows(options, input, semi_supervised, kmeans_options, context);
  if (context.process.rank > 0) return;  // the first one tells
  const at::Tensor labels = result.labels.cpu();
  const at::Tensor counts = at::bincount(labels, {}, kmeans_options.k);
  const std::vector<std::int64_t> sizes(counts.const_data_ptr<std::int64_t>(),
                                        counts.const_data_ptr<std::int64_t>() + counts.numel());
  const auto agreement = agreement_of(input, labels);
  if (!options.out.empty()) write_clusters(options.out, input, labels);
  if (!options.save_model.empty())
    save_model(options.save_model, input, result, semi_supervised, context);
  if (!session.json())
    return print_words(options, input, result, sizes, semi_supervised, agreement);
  nlohmann::json json = {{"rows", input.rows.size()},          {"k", kmeans_options.k},
                         {"semi_supervised", semi_supervised}, {"inertia", result.inertia},
                         {"iterations", result.iterations},    {"sizes", sizes},
                         {"skipped", skipped_files(input)}};
  if (options.sample > 0) json["sample"] = options.sample;
  if (!options.out.empty()) json["out"] = options.out.string();
  if (!options.save_model.empty()) json["model"] = options.save_model.string();
  if (agreement) json["accuracy"] = to_json(*agreement);
  session.print_json(json);
}

}  // namespace

Verb cluster_verb() {
  return {
      .name = "cluster",
      .summary =
          "groups of images by k-means on frozen or trained features; labelled ones guide it",
      .example =
          "protogcd cluster --embeddings features.npy --k 30 --out clusters.csv\n"
          "  protogcd cluster --model run --dataset cub --root data/CUB_200_2011 --on test --k 200",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<ClusterVerbOptions>();
        declare_cluster_input(table, options->input);
        table.add("k", &options->kmeans.k, "number of clusters, labelled classes included")
            .at_least(1)
            .at_most(Confusion::kMaxNumber)
            .required();
        table.add("starts", &options->kmeans.starts, "tries, of which the best is kept")
            .at_least(1)
            .at_most(100000);
        table.add("max_iterations", &options->kmeans.max_iterations, "of a start").at_least(1);
        table
            .add("tolerance", &options->kmeans.tolerance,
                 "moves of the centroids, relative to the variance, that end a start")
            .at_least(0);
        table
            .add("sample", &options->sample,
                 "rows drawn by lot that k-means is fitted on; then every row goes to its nearest "
                 "centroid. For millions of rows; 0: all")
            .at_least(0);
        table.add("no_labels", &options->no_labels,
                  "plain k-means, though there are labelled images");
        table.add("no_normalise", &options->no_normalise,
                  "features as they are, not scaled to length 1");
        table.add("out", &options->out, "path,cluster[,label] of every row").value_name("FILE.csv");
        table
            .add("save_model", &options->save_model,
                 "a model with the centroids as prototypes, for predict, evaluate, ood, retrieve")
            .value_name("DIR");
        table.add("overwrite", &options->overwrite, "replace the output").flag_only();
        declare_processes(table, options->process_timeout);
        return [options](Session& session) { cluster(*options, session); };
      }};
}

}  // namespace protogcd::cli
