#include "protogcd/model/checkpoint_import.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/model/stored_model.h"
#include "protogcd/nn/state_dict.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

constexpr const char *kPrototypes = "prototype_layer.weight_v",
                     *kLengths = "prototype_layer.weight_g";

/// The tensors below a prefix, named without it.
StateDict tensors_below(const StateDict& state, const std::string& prefix) {
  StateDict result{.origin = fmt::format("{}: '{}*'", state.origin, prefix), .tensors = {}};
  for (const auto& [name, tensor] : state.tensors) {
    if (name.starts_with(prefix)) result.tensors[name.substr(prefix.size())] = tensor;
  }
  return result;
}

/// What stands before `0.` and `1.`: nothing, or the key below which the state_dict was saved.
std::string checkpoint_prefix(const StateDict& state) {
  const std::string last = fmt::format("{}{}", model_files::kOfMethod, kPrototypes);
  for (const auto& [name, tensor] : state.tensors) {
    if (name == last || name.ends_with("." + last))
      return name.substr(0, name.size() - last.size());
  }
  throw ModelFileError(
      fmt::format("{}: no tensor '{}', so this is no checkpoint of the published ProtoGCD code",
                  state.origin, last),
      "`protogcd weights inspect FILE` lists what is in it");
}

/// The head's tensors, checked: K is the prototypes', the projection's widths are its own.
void check_head(const StateDict& head, std::int64_t width) {
  const auto rows = [&](const char* name) {
    const at::Tensor* tensor = head.find(name);
    return tensor != nullptr && tensor->dim() == 2 ? tensor->size(0) : 0;
  };
  const std::int64_t k = rows(kPrototypes), hidden = rows("mlp.0.weight"),
                     projection = rows("mlp.4.weight");
  check_tensors(head, {{kPrototypes, {k, width}},
                       {kLengths, {k, 1}},
                       {"mlp.0.weight", {hidden, width}},
                       {"mlp.0.bias", {hidden}},
                       {"mlp.2.weight", {hidden, hidden}},
                       {"mlp.2.bias", {hidden}},
                       {"mlp.4.weight", {projection, hidden}},
                       {"mlp.4.bias", {projection}}});
  // The published layer keeps them at 1, which makes its outputs cosines.
  const at::Tensor lengths = head.tensors.at(kLengths).to(at::kDouble);
  if ((lengths - 1).abs().gt(1e-6).any().item<bool>()) {
    throw ModelFileError(fmt::format("{}: {} is not 1 everywhere, so the outputs are no cosines",
                                     head.origin, kLengths));
  }
}

Backbone backbone_of_checkpoint(const StateDict& state, const CheckpointImport& options) {
  const ReleaseState release = with_release_names(state);
  const VitConfig config = infer_vit_config(release, options.heads);
  Preprocessing pixels;
  pixels.size = options.image_size;
  if (pixels.size % config.patch != 0) {
    throw UsageError(fmt::format("{}: {} is no multiple of the backbone's patch size {}",
                                 option_name("image_size"), pixels.size, config.patch));
  }
  return {.file = fs::absolute(options.out / model_files::kBackbone).lexically_normal(),
          .preset = {},
          .config = config,
          .preprocessing = pixels,
          .vit = Vit(config, release.state)};
}

}  // namespace

ModelInfo import_checkpoint(const CheckpointImport& options, const Context& context) {
  const StateDict state = load_state_dict(options.checkpoint);
  const std::string prefix = checkpoint_prefix(state);
  const StateDict head = tensors_below(state, prefix + model_files::kOfMethod);
  const Backbone backbone =
      backbone_of_checkpoint(tensors_below(state, prefix + model_files::kOfBackbone), options);
  check_head(head, backbone.config.width);
  const at::Tensor& centres = head.tensors.at(kPrototypes);
  if (std::ssize(options.old_classes) > centres.size(0)) {
    throw UsageError(fmt::format("{} old classes, but {} has {} prototypes for old and new ones",
                                 options.old_classes.size(), options.checkpoint.string(),
                                 centres.size(0)));
  }
  create_folders(options.out);
  save_backbone(backbone.file, backbone.vit, backbone.preprocessing, ElementType::kFloat32);
  TrainedModel model(backbone,
                     untrained_model_info(backbone, options.old_classes, centres.size(0),
                                          {.apply_orientation = false, .fast_decode = false}),
                     place(context));
  model.set_prototypes({.centres = centres, .temperature = options.temperature});
  std::map<std::string, at::Tensor> projection;
  for (const auto& [name, tensor] : head.tensors) {
    if (name.starts_with("mlp.")) projection[name] = tensor;
  }
  model.save(options.out, projection);
  return model.info();
}

}  // namespace protogcd
