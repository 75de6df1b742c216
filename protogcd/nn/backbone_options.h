// The flags that say which backbone a verb computes with, declared once for all verbs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "protogcd/core/log.h"
#include "protogcd/core/options.h"
#include "protogcd/data/source_table.h"
#include "protogcd/nn/backbone.h"

namespace protogcd {

struct BackboneOptions {
  std::string backbone;
  std::filesystem::path weights_dir = "weights";
  std::optional<std::int64_t> heads, image_size;
  std::string mean, std;
};

void declare_backbone_options(OptionTable& table, BackboneOptions& options);

/// What --backbone says; if nothing, the built-in one where all images are small enough for it,
/// else a UsageError that says which to get.
std::string choose_backbone(const BackboneOptions& options, const SourceTable& images,
                            const Logger& log);

/// Warns where the built-in backbone is to be used on photographs, or on images larger than it
/// knows.
void warn_of_builtin(const SourceTable& images, const Logger& log);

/// Loads what --backbone names; --image-size, --mean and --std replace the backbone's own
/// preprocessing. UsageError where they make no sense.
Backbone open_backbone(const BackboneOptions& options, const Logger& log);

}  // namespace protogcd
