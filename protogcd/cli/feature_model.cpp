#include "protogcd/cli/feature_model.h"

#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/model/stored_model.h"

namespace protogcd::cli {

void declare_feature_model(OptionTable& table, FeatureModelOptions& options) {
  declare_backbone_options(table, options.backbone);
  table
      .add("model", &options.model,
           "the trained backbone of a finished run; --backbone then says where its file is now, if "
           "it was moved")
      .value_name("RUN")
      .usual();
  declare_image_options(table, options.images);
}

void choose_feature_model(FeatureModelOptions& options, const SourceTable& images,
                          const Logger& log) {
  BackboneOptions& backbone = options.backbone;
  if (options.model.empty()) {
    backbone.backbone = choose_backbone(backbone, images, log);
    return;
  }
  for (const auto& [given, key] : {std::pair{backbone.heads.has_value(), "heads"},
                                   {backbone.image_size.has_value(), "image_size"},
                                   {!backbone.mean.empty(), "mean"},
                                   {!backbone.std.empty(), "std"},
                                   {options.images.fast_decode, "fast_decode"}}) {
    if (given) {
      throw UsageError(fmt::format("{}: the model of {} brings its own", option_name(key),
                                   option_name("model")));
    }
  }
}

FeatureModel open_feature_model(const FeatureModelOptions& options, bool is_benchmark,
                                const Logger& log) {
  if (options.model.empty()) {
    return {
        .backbone = open_backbone(options.backbone, log),
        .reading = {.apply_orientation = !is_benchmark, .fast_decode = options.images.fast_decode}};
  }
  StoredModel stored = open_stored_model(options.model, options.backbone.backbone);
  return {.backbone = std::move(stored.backbone), .reading = stored.info.reading};
}

}  // namespace protogcd::cli
