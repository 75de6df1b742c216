// A trained model as it lies on disk, before it is placed on a device: for what is made of its
// tensors (features, other formats), and for `load_model`.
#pragma once

#include <filesystem>

#include "protogcd/model/model.h"
#include "protogcd/run/run_files.h"

namespace protogcd {

/// The two files of a model's folder, and what the tensors are called.
namespace model_files {
inline constexpr const char *kInfo = run_files::kModelInfo, *kTensors = "model.safetensors";
/// Where the backbone is no file of its own elsewhere.
inline constexpr const char* kBackbone = "backbone.safetensors";
inline constexpr const char *kCentres = "prototypes", *kBias = "prototype_bias";
inline constexpr const char* kCentresOf01 = "1.prototype_layer.weight_v";
/// What the names of the backbone's tensors, and of the method's own, begin with.
inline constexpr const char *kOfBackbone = "0.", *kOfMethod = "1.";
}  // namespace model_files

struct StoredModel {
  ModelInfo info;
  Backbone backbone;  ///< with the trained blocks in place
  Prototypes prototypes;
  /// What else was trained, by the method's names; its own form of the prototypes is left out.
  std::map<std::string, at::Tensor> of_method = {};
};

/// Where a run keeps its model.
std::filesystem::path model_folder(const std::filesystem::path& run);

/// What is said about the model of a run folder; its tensors are not looked at. ModelFileError
/// where there is none.
ModelInfo stored_info(const std::filesystem::path& run);

/// Refuses to write a model where there is one, unless told to overwrite it, and where a run's
/// model would be hidden by it. `option` is the key of the one that named the folder.
void check_model_output(const std::filesystem::path& folder, bool overwrite,
                        const std::string& option);

/// The frozen backbone that a model stands on. ModelFileError where it is missing or another one;
/// `backbone_file` replaces the place where it was, if not empty.
Backbone backbone_of(const ModelInfo& info, const std::filesystem::path& backbone_file);

/// The model of a run folder (or of a model folder itself). ModelFileError as `load_model`.
StoredModel open_stored_model(const std::filesystem::path& run,
                              const std::filesystem::path& backbone_file);

}  // namespace protogcd
