// The flags that say which backbone a verb computes with, declared once for all verbs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "protogcd/core/log.h"
#include "protogcd/core/options.h"
#include "protogcd/nn/backbone.h"

namespace protogcd::cli {

struct BackboneOptions {
  std::string backbone;
  std::filesystem::path weights_dir = "weights";
  std::optional<std::int64_t> heads, image_size;
  std::string mean, std;
};

/// `required`: whether the verb can do nothing without --backbone.
void declare_backbone_options(OptionTable& table, BackboneOptions& options, bool required = true);

/// Loads what --backbone names; --image-size, --mean and --std replace the backbone's own
/// preprocessing. UsageError where they make no sense.
Backbone open_backbone(const BackboneOptions& options, Logger& log);

}  // namespace protogcd::cli
