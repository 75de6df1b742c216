// Which network makes the features of a verb: a backbone as it was published, or the backbone of a
// trained model.
#pragma once

#include <filesystem>

#include "protogcd/core/options.h"
#include "protogcd/data/source_table.h"
#include "protogcd/engine/image_loader.h"
#include "protogcd/image/image_options.h"
#include "protogcd/nn/backbone_options.h"

namespace protogcd::cli {

struct FeatureModelOptions {
  std::filesystem::path model;  ///< empty: the backbone
  BackboneOptions backbone;     ///< with a model: where its file is now, if it was moved
  ImageOptions images;
};

void declare_feature_model(OptionTable& table, FeatureModelOptions& options);

/// Settles which backbone it is where neither it nor a model is named (choose_backbone). UsageError
/// where a model is named together with what it brings itself.
void choose_feature_model(FeatureModelOptions& options, const SourceTable& images,
                          const Logger& log);

struct FeatureModel {
  Backbone backbone;
  ReadingOptions reading;  ///< a model's own, so that features are those that it predicts by
};

/// What was chosen. Without a model, images of users are turned upright and those of benchmarks
/// not.
FeatureModel open_feature_model(const FeatureModelOptions& options, bool is_benchmark,
                                const Logger& log);

}  // namespace protogcd::cli
