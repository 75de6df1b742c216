#include "protogcd/nn/backbone_options.h"

#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"
#include "protogcd/data/image_sizes.h"
#include "protogcd/nn/device.h"
#include "protogcd/nn/published_weights.h"

namespace protogcd {
namespace {

/// "0.5" (for all channels) or "0.48,0.46,0.41".
std::array<double, 3> parse_channels(const char* key, const std::string& text, bool positive) {
  const auto parts = split(text, ',');
  std::array<double, 3> values{};
  bool good = parts.size() == 1 || parts.size() == 3;
  for (std::size_t i = 0; good && i < 3; ++i) {
    const auto value = parse_real(trim(parts[parts.size() == 1 ? 0 : i]));
    good = value && (!positive || *value > 0);
    values[i] = value.value_or(0);
  }
  if (!good) {
    throw UsageError(
        fmt::format("{}: '{}' is not allowed: expected one{} number, or three "
                    "separated by commas",
                    option_name(key), text, positive ? " positive" : ""));
  }
  return values;
}

/// The way out for somebody who has photographs and no backbone.
std::string get_photograph_backbone(const std::filesystem::path& folder) {
  const bool gpu = !cuda_device_names().empty();
  const VitPreset& preset = recommended_preset(gpu);
  const bool usual = folder == BackboneOptions{}.weights_dir;
  const std::string where =
      usual ? "" : fmt::format(" {} {}", option_name("weights_dir"), shell_word(folder.string()));
  return fmt::format(
      "get one that knows photographs, once: protogcd weights get {}{} ({}; {}), then add {} {}{}\n"
      "  Others, and how fast they are here: protogcd weights list\n"
      "  Without one, {} {} gives a first page from tiny copies of the images; expect groups of "
      "like shapes and colours, not of kinds",
      preset.name, where, megabytes(tensor_bytes(preset)),
      gpu ? "this machine has a GPU" : "a small one, as this machine has no GPU",
      option_name("backbone"), preset.name, where, option_name("backbone"), kBuiltinBackbone);
}

}  // namespace

void declare_backbone_options(OptionTable& table, BackboneOptions& options) {
  table.begin_group("Backbone");
  table
      .add("backbone", &options.backbone,
           fmt::format("a weight file, a preset (dino-vitb16, ...), or builtin: a small one for "
                       "images of up to {} pixels, which need not be named",
                       kBuiltinShortSide))
      .value_name("FILE|PRESET")
      .usual();
  table.add("weights_dir", &options.weights_dir, "where the files of presets lie")
      .value_name("DIR");
  table.add("heads", &options.heads, "attention heads of a file's model, where not width / 64")
      .at_least(1);
  table.add("image_size", &options.image_size, "pixels along each side, a multiple of the patch")
      .at_least(1)
      .at_most(4096);
  table.add("mean", &options.mean, "subtracted from pixels of 0 to 1: one number, or R,G,B");
  table.add("std", &options.std, "divides them afterwards: one number, or R,G,B");
}

void warn_of_builtin(const SourceTable& images, const Logger& log) {
  const auto larger = first_larger_image(images, kBuiltinShortSide);
  std::string why;
  if (larger) {
    why = fmt::format("{} has {} x {} pixels", images.path(larger->source), larger->size.width,
                      larger->size.height);
  } else if (look_like_photographs(images)) {
    why = "these look like photographs";
  } else {
    return;
  }
  log.warning(fmt::format(
      "{}: the built-in backbone knows drawn shapes of up to {} pixels, not photographs; expect "
      "groups of like shapes and colours, not of kinds, and do not trust the number of classes "
      "(backbones that know photographs: protogcd weights list)",
      why, kBuiltinShortSide));
}

std::string choose_backbone(const BackboneOptions& options, const SourceTable& images,
                            const Logger& log) {
  if (options.backbone == kBuiltinBackbone) warn_of_builtin(images, log);
  if (!options.backbone.empty()) return options.backbone;
  if (const auto larger = first_larger_image(images, kBuiltinShortSide)) {
    throw UsageError(
        fmt::format("{} has {} x {} pixels, and no {} is given: the built-in one knows drawn "
                    "shapes of up to {} pixels, not photographs",
                    images.path(larger->source), larger->size.width, larger->size.height,
                    option_name("backbone"), kBuiltinShortSide),
        get_photograph_backbone(options.weights_dir));
  }
  log.info(
      fmt::format("small images and no {}: the built-in one is used", option_name("backbone")));
  if (look_like_photographs(images)) warn_of_builtin(images, log);
  return std::string(kBuiltinBackbone);
}

Backbone open_backbone(const BackboneOptions& options, const Logger& log) {
  Backbone backbone = load_backbone(
      {.backbone = options.backbone, .weights_dir = options.weights_dir, .heads = options.heads});
  Preprocessing& pixels = backbone.preprocessing;
  pixels.size = options.image_size.value_or(pixels.size);
  if (pixels.size % backbone.config.patch != 0) {
    throw UsageError(
        fmt::format("{}: {} is no multiple of the backbone's patch size {}",
                    option_name("image_size"), pixels.size, backbone.config.patch),
        fmt::format("try {}", (pixels.size / backbone.config.patch + 1) * backbone.config.patch));
  }
  if (!options.mean.empty()) pixels.mean = parse_channels("mean", options.mean, false);
  if (!options.std.empty()) pixels.deviation = parse_channels("std", options.std, true);
  log.debug(fmt::format("{}: patch {}, width {}, depth {}, {} heads", backbone.file.string(),
                        backbone.config.patch, backbone.config.width, backbone.config.depth,
                        backbone.config.heads));
  return backbone;
}

}  // namespace protogcd
