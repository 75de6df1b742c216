#include "protogcd/model/model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

#include <algorithm>

#include "protogcd/analysis/von_mises_fisher.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/core/sha256.h"
#include "protogcd/model/stored_model.h"
#include "protogcd/nn/head.h"
#include "protogcd/nn/state_dict.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 2, kFormatOf01 = 1;

}  // namespace

OutlierScorer ModelInfo::outlier_scorer() const {
  if (!outliers) return OutlierScorer(temperature);
  return OutlierScorer(temperature, outliers->concentrations, width);
}

std::string ModelInfo::to_json() const {
  nlohmann::ordered_json json = {{"format", kFormat},
                                 {"k", k()},
                                 {"k_old", old_classes},
                                 {"k_new", k() - old_classes},
                                 {"classes", classes},
                                 {"tensors_sha256", tensors_sha256},
                                 {"temperature", temperature},
                                 {"backbone",
                                  {{"file", backbone_file},
                                   {"preset", backbone_preset},
                                   {"sha256", backbone_sha256},
                                   {"heads", backbone_heads},
                                   {"first_trained_block", first_trained_block}}},
                                 {"preprocessing",
                                  {{"size", preprocessing.size},
                                   {"mean", preprocessing.mean},
                                   {"std", preprocessing.deviation},
                                   {"apply_orientation", reading.apply_orientation},
                                   {"fast_decode", reading.fast_decode}}},
                                 {"method", method},
                                 {"width", width}};
  if (outliers) {
    json["outliers"] = {
        {"score", name_of(outliers->score)}, {"kept", outliers->kept},
        {"threshold", outliers->threshold},  {"images", outliers->images},
        {"held_out", outliers->held_out},    {"concentrations", outliers->concentrations}};
  }
  if (confidence) json["confidence"] = confidence->to_json();
  for (const auto& share : stability) {
    json["stability"].push_back(nullptr);
    if (share) json["stability"].back() = *share;
  }
  return json.dump(2) + "\n";
}

namespace {

std::vector<std::optional<double>> stability_from(const nlohmann::json& json, std::size_t classes,
                                                  const std::string& origin) {
  std::vector<std::optional<double>> stability;
  for (const auto& share : json) {
    stability.emplace_back();
    if (!share.is_null()) stability.back() = share.get<double>();
  }
  if (stability.size() != classes) {
    throw ModelFileError(
        fmt::format("{}: stability of {} classes, not of {}", origin, stability.size(), classes));
  }
  return stability;
}

OutlierCalibration outliers_from(const nlohmann::json& json, std::size_t classes,
                                 const std::string& origin) {
  OutlierCalibration outliers{
      .score = find_outlier_score(json.at("score").get<std::string>()),
      .kept = json.at("kept"),
      .threshold = json.at("threshold"),
      .concentrations = json.at("concentrations").get<std::vector<double>>(),
      .images = json.at("images"),
      .held_out = json.value("held_out", false)};
  if (outliers.concentrations.size() != classes) {
    throw ModelFileError(fmt::format("{}: {} concentrations for {} classes", origin,
                                     outliers.concentrations.size(), classes));
  }
  for (const double concentration : outliers.concentrations) {
    if (concentration >= 0 && concentration <= kMaxConcentration) continue;
    throw ModelFileError(fmt::format("{}: a concentration of {}, expected 0 to {}", origin,
                                     concentration, kMaxConcentration));
  }
  return outliers;
}

}  // namespace

ModelInfo ModelInfo::from_json(const std::string& text, const std::string& origin) {
  ModelInfo info;
  try {
    const auto json = parse_json(text);
    const int format = json.at("format");
    if (format != kFormat && format != kFormatOf01) {
      throw ModelFileError(
          fmt::format("{}: format {} is not known, this program reads formats {} "
                      "and {}",
                      origin, format, kFormatOf01, kFormat));
    }
    info.classes = json.at("classes").get<std::vector<std::string>>();
    info.old_classes = json.at("k_old");
    info.temperature = json.at("temperature");
    info.tensors_sha256 = json.at("tensors_sha256");
    const auto& backbone = json.at("backbone");
    info.backbone_file = backbone.at("file");
    info.backbone_preset = backbone.at("preset");
    info.backbone_sha256 = backbone.at("sha256");
    info.backbone_heads = backbone.at("heads");
    if (info.backbone_heads < 1)
      throw ModelFileError(fmt::format("{}: {} heads", origin, info.backbone_heads));
    info.first_trained_block = backbone.at("first_trained_block");
    const auto& pixels = json.at("preprocessing");
    info.preprocessing = {pixels.at("size"), pixels.at("mean"), pixels.at("std")};
    info.reading = {pixels.at("apply_orientation"), pixels.at("fast_decode")};
    const bool is_of_01 = format == kFormatOf01;
    info.width = is_of_01 ? json.at("head").at("width") : json.at("width");
    if (!is_of_01) info.method = json.at("method");
    if (json.contains("confidence")) info.confidence = Confidence::from_json(json.at("confidence"));
    if (json.contains("stability"))
      info.stability = stability_from(json.at("stability"), info.classes.size(), origin);
    if (json.contains("outliers"))
      info.outliers = outliers_from(json.at("outliers"), info.classes.size(), origin);
  } catch (const UsageError& error) {  // an outlier score of that name is not known
    throw ModelFileError(fmt::format("{}: {}", origin, error.marked()));
  } catch (const nlohmann::json::exception& error) {
    throw ModelFileError(fmt::format("{}: {}", origin, error.what()));
  }
  if (info.classes.empty() || info.old_classes < 0 || info.old_classes > info.k()) {
    throw ModelFileError(fmt::format("{}: {} classes, {} of them old, make no sense", origin,
                                     info.k(), info.old_classes));
  }
  return info;
}

std::vector<std::string> class_names(const std::vector<std::string>& old_classes, std::int64_t k) {
  std::vector<std::string> names = old_classes;
  const auto old = static_cast<std::int64_t>(old_classes.size());
  const std::size_t digits = std::max<std::size_t>(2, std::to_string(k - old).size());
  for (std::int64_t number = 1; std::ssize(names) < k; ++number) {
    std::string name = fmt::format("new-{:0{}}", number, digits);
    // An old class may have such a name already.
    if (std::ranges::find(old_classes, name) == old_classes.end()) names.push_back(std::move(name));
  }
  return names;
}

ModelInfo untrained_model_info(const Backbone& backbone,
                               const std::vector<std::string>& old_classes, std::int64_t k,
                               const ReadingOptions& reading) {
  return {.classes = class_names(old_classes, k),
          .old_classes = std::ssize(old_classes),
          .method = {},
          .width = backbone.config.width,
          .first_trained_block =
              backbone.trained ? backbone.trained->first_block : backbone.config.depth - 1,
          .temperature = 0.1,
          .preprocessing = backbone.preprocessing,
          .reading = reading,
          .tensors_sha256 = {},
          .backbone_file = backbone.is_builtin()
                               ? backbone.file.string()
                               : fs::absolute(backbone.file).lexically_normal().string(),
          .backbone_preset = backbone.preset,
          .backbone_sha256 = backbone_sha256(backbone.file),
          .backbone_heads = backbone.config.heads};
}

TrainedModel::TrainedModel(const Backbone& backbone, ModelInfo info, const Placement& placement,
                           std::shared_ptr<const Trunk> trunk)
    : info_(std::move(info)),
      placement_(placement),
      trunk_(trunk ? std::move(trunk)
                   : std::make_shared<const Trunk>(backbone.vit, placement.frozen, placement.device,
                                                   info_.first_trained_block)),
      blocks_(make_trained_blocks(backbone.vit, info_.first_trained_block, placement.trained,
                                  placement.device)) {}

at::Tensor TrainedModel::features(const TrunkTokens& tokens) const {
  const at::NoGradGuard no_grad;
  return blocks_->forward(tokens);
}

at::Tensor TrainedModel::cosines_of(const at::Tensor& features) const {
  const at::NoGradGuard no_grad;
  return prototypes_.cosines(features);
}

at::Tensor TrainedModel::scores_of(const at::Tensor& cosines) const {
  const at::NoGradGuard no_grad;
  return prototypes_.scores(cosines);
}

at::Tensor TrainedModel::posterior_of(const at::Tensor& scores) const {
  const at::NoGradGuard no_grad;
  const auto& calibrated = info_.confidence;
  if (!calibrated) return at::softmax(scores / info_.temperature, 1);
  const at::Tensor is_new = scores.argmax(1, /*keepdim=*/true) >= info_.old_classes;  // [B, 1]
  const at::Tensor temperatures =
      at::where(is_new, calibrated->new_temperature, calibrated->old_temperature);
  return at::softmax(scores / temperatures.to(scores.scalar_type()), 1);
}

LoaderOptions TrainedModel::center_loader(std::size_t threads) const {
  return loader_options(info_.preprocessing, info_.reading, placement_.trunk_batch(), threads,
                        placement_.device);
}

void TrainedModel::set_prototypes(const Prototypes& prototypes) {
  const at::NoGradGuard no_grad;
  const auto there = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(placement_.device, placement_.trained) : tensor;
  };
  if (prototypes.centres.sizes() != at::IntArrayRef({info_.k(), info_.width}))
    throw InternalError("Model: prototypes of another number of classes");
  prototypes_ = {.centres = there(prototypes.centres),
                 .temperature = prototypes.temperature,
                 .bias = there(prototypes.bias)};
  info_.temperature = prototypes.temperature;
}

void TrainedModel::keep_classes(const std::vector<std::int64_t>& kept) {
  const at::Tensor rows = at::tensor(at::ArrayRef<std::int64_t>(kept)).to(placement_.device);
  const auto of_kept = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.index_select(0, rows) : tensor;
  };
  const auto first_new = info_.classes.begin() + info_.old_classes;
  info_.classes =
      class_names({info_.classes.begin(), first_new}, static_cast<std::int64_t>(kept.size()));
  set_prototypes({.centres = of_kept(prototypes_.centres),
                  .temperature = prototypes_.temperature,
                  .bias = of_kept(prototypes_.bias)});
}

void TrainedModel::save(const fs::path& folder,
                        const std::map<std::string, at::Tensor>& of_method) const {
  create_folders(folder);
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, tensor] : blocks_->named_parameters())
    tensors[model_files::kOfBackbone + name] = tensor;
  for (const auto& [name, tensor] : of_method) tensors[model_files::kOfMethod + name] = tensor;
  tensors[model_files::kCentres] = prototypes_.centres;
  if (prototypes_.bias.defined()) tensors[model_files::kBias] = prototypes_.bias;
  std::vector<at::Tensor> on_cpu;  // keeps the entries' bytes alive
  std::vector<TensorEntry> entries;
  for (const auto& [name, tensor] : tensors) {
    on_cpu.push_back(tensor.detach().to(at::kCPU).contiguous());
    entries.push_back(entry_of(name, on_cpu.back()));
  }
  write_safetensors(folder / model_files::kTensors, entries);
  save_info(folder);
}

void TrainedModel::save_info(const fs::path& folder) const {
  ModelInfo info = info_;
  // A backbone in the model's own folder may move with it.
  const fs::path backbone = info.backbone_file;
  if (backbone.parent_path() == fs::absolute(folder / "").lexically_normal().parent_path())
    info.backbone_file = backbone.filename();
  info.tensors_sha256 = sha256_file(folder / model_files::kTensors);
  write_file_atomically(folder / model_files::kInfo, info.to_json());
}

}  // namespace protogcd
