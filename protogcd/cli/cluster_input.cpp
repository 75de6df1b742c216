#include "protogcd/cli/cluster_input.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>

#include "protogcd/cli/recorded_split.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/npy.h"
#include "protogcd/data/user_data.h"
#include "protogcd/engine/image_features.h"
#include "protogcd/nn/state_dict.h"

namespace protogcd::cli {
namespace {

at::Tensor read_features(const std::filesystem::path& path) {
  const auto file = std::make_shared<NpyFile>(path);
  return tensor_of(file->array(), file);
}

/// A table of clusters may have the name that embed would give its list.
bool has_column(const std::filesystem::path& csv, std::string_view name) {
  return std::ranges::count(CsvTable::read(csv).header(), name) > 0;
}

/// `embed` writes the path of every row to the .csv beside the features.
void read_paths(const std::filesystem::path& list, std::size_t rows, ClusterInput& input) {
  const CsvTable table = CsvTable::read(list);
  const std::size_t column = table.column("path");
  if (table.rows().size() != rows) {
    throw DataError(fmt::format("{} lists {} paths, but {} has {} rows", list.string(),
                                table.rows().size(), input.name, rows),
                    "the list must be that of these embeddings");
  }
  for (const CsvRow& row : table.rows()) {
    const auto source = input.dataset.sources.add_path(list.parent_path() / row.fields[column]);
    input.dataset.samples.push_back({.source = source});
  }
}

ClusterInput from_embeddings(const ClusterInputOptions& options, const Logger& log) {
  ClusterInput input;
  input.name = options.embeddings.string();
  input.features = read_features(options.embeddings);
  const auto list = std::filesystem::path(options.embeddings).replace_extension(".csv");
  const auto rows =
      input.features.dim() == 0 ? 0 : static_cast<std::size_t>(input.features.size(0));
  input.has_paths = std::filesystem::exists(list) && has_column(list, "path");
  if (input.has_paths) {
    read_paths(list, rows, input);
  } else {
    input.dataset.samples.resize(rows);
  }
  if (!options.data.truth.empty()) {
    if (!input.has_paths) {
      throw UsageError(fmt::format("--truth: which row is which image is not known, as there is no "
                                   "'{}'",
                                   list.string()),
                       "keep the list of paths that embed writes beside the embeddings");
    }
    apply_truth(input.dataset, options.data.truth, {});
    for (const auto& note : input.dataset.notes) log.info(note);
  }
  input.rows = input.dataset.samples;
  return input;
}

/// The paper clusters what is trained on, and for its inductive evaluation the test set alone.
std::vector<Sample> chosen_samples(const Dataset& dataset, const std::string& on) {
  std::vector<Sample> samples = dataset.samples;
  const std::size_t tests = dataset.count(SampleSet::kTest);
  if (on == "test") {
    if (tests == 0)
      throw DataError(fmt::format("{}: the data has no test images", option_name("on")));
    std::erase_if(samples, [](const Sample& sample) { return sample.set != SampleSet::kTest; });
  } else if (tests < samples.size()) {  // a test set without others stands for itself
    std::erase_if(samples, [](const Sample& sample) { return sample.set == SampleSet::kTest; });
  }
  return samples;
}

ClusterInput from_images(const ClusterInputOptions& options, const Session& session,
                         const Context& context) {
  ClusterInput input;
  DataOptions data = options.data;
  if (!options.network.model.empty()) adopt_recorded_split(data, options.network.model);
  input.dataset = open_data(data, context.log);
  input.name = "the images' features";
  const std::vector<Sample> samples = chosen_samples(input.dataset, options.on);
  std::vector<std::uint32_t> list;
  for (const Sample& sample : samples) list.push_back(sample.source);
  input.skipped = std::make_unique<SkippedFiles>(session.bad_image_policy(), list.size());
  input.network = options.network;
  choose_feature_model(input.network, input.dataset.sources, context.log);
  FeatureModel network =
      open_feature_model(input.network, options.data.is_benchmark(), context.log);
  input.reading = network.reading;
  const ImageFeatures features =
      image_features(input.dataset.sources, list, std::move(network.backbone), input.reading,
                     *input.skipped, context);
  input.skipped->check(input.dataset.sources);
  input.features = features.values;
  for (const std::size_t position : features.positions) input.rows.push_back(samples[position]);
  return input;
}

}  // namespace

void declare_cluster_input(OptionTable& table, ClusterInputOptions& options) {
  table
      .add("embeddings", &options.embeddings,
           "features [N, D]; paths are taken from the .csv beside it, if there is one")
      .value_name("FILE.npy");
  declare_data_options(table, options.data);
  table
      .add("on", &options.on,
           "the images that training sees (labelled and unlabelled), or the test images")
      .one_of({"training", "test"});
  declare_feature_model(table, options.network);
}

ClusterInput open_cluster_input(const ClusterInputOptions& options, const Session& session,
                                const Context& context) {
  if (options.embeddings.empty()) return from_images(options, session, context);
  const DataOptions& data = options.data;
  if (data.is_benchmark() || !data.root.empty() || !data.labelled.empty() ||
      !data.unlabelled.empty() || !data.manifest.empty() || !data.images.empty()) {
    throw UsageError("--embeddings: images are given too",
                     "give embeddings or images, not both; --truth goes with either");
  }
  if (!options.network.model.empty() || options.on == "test") {
    throw UsageError(
        fmt::format("--{}: embeddings are features already", options.on == "test" ? "on" : "model"),
        "name images (--dataset, --labelled, ...) instead of --embeddings");
  }
  return from_embeddings(options, context.log);
}

}  // namespace protogcd::cli
