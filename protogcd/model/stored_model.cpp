#include "protogcd/model/stored_model.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/sha256.h"
#include "protogcd/nn/state_dict.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

ModelInfo read_info(const fs::path& run, const fs::path& folder) {
  const fs::path file = folder / model_files::kInfo;
  if (!fs::exists(file)) {
    throw ModelFileError(fmt::format("{}: there is no {} in it", run.string(), model_files::kInfo),
                         option_name("model") + " takes the folder of a finished run");
  }
  ModelInfo info = ModelInfo::from_json(read_text_file(file), file.string());
  const fs::path backbone = info.backbone_file;
  if (backbone.is_relative() && backbone != kBuiltinBackbone)
    info.backbone_file = fs::absolute(folder / backbone).lexically_normal().string();
  return info;
}

/// The names, of the release, and shapes of the trained blocks' tensors.
std::vector<ExpectedTensor> trained_tensors(const Vit& vit, std::int64_t first_block) {
  std::vector<ExpectedTensor> tensors;
  for (std::int64_t i = first_block; i < vit.config().depth; ++i) {
    const BlockWeights& block = vit.weights().blocks[static_cast<std::size_t>(i)];
    for (const auto& [name, tensor] : named_tensors(block, vit.config(), i))
      tensors.push_back({name, tensor.sizes().vec()});
  }
  return tensors;
}

/// Puts what was trained in place of the file's own.
void set_trained(Backbone& backbone, const ModelInfo& info, const StateDict& state) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, shape] : trained_tensors(backbone.vit, info.first_trained_block))
    tensors[name] = state.tensors.at(model_files::kOfBackbone + name);
  backbone.vit = with_blocks(backbone.vit, info.first_trained_block,
                             tensors.begin()->second.scalar_type(), tensors);
  backbone.trained = {.first_block = info.first_trained_block, .sha256 = info.tensors_sha256};
}

}  // namespace

fs::path model_folder(const fs::path& run) {
  return fs::exists(run / model_files::kInfo) ? run : run / run_files::kModel;
}

ModelInfo stored_info(const fs::path& run) {
  return read_info(run, model_folder(run));
}

void check_model_output(const fs::path& folder, bool overwrite, const std::string& option) {
  if (fs::exists(folder / run_files::kModel / model_files::kInfo)) {
    throw UsageError(fmt::format("{}: '{}' holds a trained run, whose model would be hidden",
                                 option_name(option), folder.string()),
                     "choose another folder");
  }
  create_folders(folder);
  check_output_file(folder / model_files::kInfo, overwrite, option);
}

Backbone backbone_of(const ModelInfo& info, const fs::path& backbone_file) {
  const fs::path file = backbone_file.empty() ? fs::path(info.backbone_file) : backbone_file;
  if (file != kBuiltinBackbone && !fs::exists(file)) {
    throw ModelFileError(fmt::format("{}: the model's backbone is not there", file.string()),
                         fmt::format("say with {} where it is now", option_name("backbone")));
  }
  if (backbone_sha256(file) != info.backbone_sha256) {
    throw ModelFileError(
        fmt::format("{}: not the backbone that the model was trained on", file.string()),
        fmt::format("its SHA-256 should be {}", info.backbone_sha256));
  }
  Backbone backbone =
      load_backbone({.backbone = file.string(), .weights_dir = {}, .heads = info.backbone_heads});
  backbone.preprocessing = info.preprocessing;
  return backbone;
}

StoredModel open_stored_model(const fs::path& run, const fs::path& backbone_file) {
  const fs::path folder = model_folder(run), tensor_file = folder / model_files::kTensors;
  ModelInfo info = read_info(run, folder);
  if (sha256_file(tensor_file) != info.tensors_sha256) {
    throw ModelFileError(
        fmt::format("{}: damaged, its checksum does not match", tensor_file.string()));
  }
  Backbone backbone = backbone_of(info, backbone_file);
  const StateDict state = load_state_dict(tensor_file);
  check_first_trained_block(backbone.config, info.first_trained_block);
  const std::string centres = state.find(model_files::kCentres) == nullptr
                                  ? model_files::kCentresOf01
                                  : model_files::kCentres;
  std::vector<ExpectedTensor> expected = trained_tensors(backbone.vit, info.first_trained_block);
  for (ExpectedTensor& tensor : expected) tensor.name = model_files::kOfBackbone + tensor.name;
  expected.push_back({centres, {info.k(), info.width}});
  check_tensors(state, expected);
  set_trained(backbone, info, state);
  const at::Tensor* bias = state.find(model_files::kBias);
  Prototypes prototypes{.centres = state.tensors.at(centres),
                        .temperature = info.temperature,
                        .bias = bias != nullptr ? *bias : at::Tensor()};
  std::map<std::string, at::Tensor> of_method;
  const std::string prefix = model_files::kOfMethod;
  for (const auto& [name, tensor] : state.tensors)
    if (name.starts_with(prefix) && name != model_files::kCentresOf01)
      of_method[name.substr(prefix.size())] = tensor;
  return {std::move(info), std::move(backbone), std::move(prototypes), std::move(of_method)};
}

TrainedModel load_model(const fs::path& run, const fs::path& backbone_file,
                        const Context& context) {
  StoredModel stored = open_stored_model(run, backbone_file);
  TrainedModel model(stored.backbone, std::move(stored.info), place(context));
  model.set_prototypes(stored.prototypes);
  return model;
}

}  // namespace protogcd
