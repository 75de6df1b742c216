// What `protogcd cluster` works on: rows of features, and what is known about each. They come from
// a file of embeddings or from images and a backbone.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "protogcd/cli/feature_model.h"
#include "protogcd/cli/verb.h"
#include "protogcd/data/data_options.h"
#include "protogcd/data/sample.h"
#include "protogcd/data/skipped.h"
#include "protogcd/engine/image_loader.h"

namespace protogcd::cli {

struct ClusterInputOptions {
  std::filesystem::path embeddings;
  DataOptions data;
  FeatureModelOptions network;
  std::string on = "training";  ///< or "test": which images
};

void declare_cluster_input(OptionTable& table, ClusterInputOptions& options);

struct ClusterInput {
  std::string name;                       ///< for messages
  at::Tensor features;                    ///< [N, D] on the CPU, as they are stored
  Dataset dataset;                        ///< its sources and classes
  std::vector<Sample> rows;               ///< [N]
  bool has_paths = true;                  ///< false: embeddings without a list of paths
  FeatureModelOptions network;            ///< that made the features; none for embeddings
  ReadingOptions reading;                 ///< of the images
  std::unique_ptr<SkippedFiles> skipped;  ///< images that could not be read; none for embeddings
};

/// UsageError where neither or both kinds of input are given, or one lacks what it needs.
ClusterInput open_cluster_input(const ClusterInputOptions& options, const Session& session,
                                const Context& context);

}  // namespace protogcd::cli
