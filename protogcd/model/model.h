// A trained model: its classes, the backbone it stands on, and the tensors that were trained. On
// disk it is a folder with model.json and model.safetensors; the frozen backbone stays in its own
// file, named by its checksum.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protogcd/analysis/outlier_scores.h"
#include "protogcd/core/context.h"
#include "protogcd/engine/image_loader.h"
#include "protogcd/engine/placement.h"
#include "protogcd/engine/trained_blocks.h"
#include "protogcd/engine/trunk.h"
#include "protogcd/model/prototypes.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/run/confidence.h"

namespace protogcd {

/// From which score on an image is called an outlier, and what the scores need.
struct OutlierCalibration {
  OutlierScore score = OutlierScore::kVonMises;
  double kept = 0.95;                  ///< share of the images it was calibrated on
  double threshold = 0;                ///< what scores above it is an outlier
  std::vector<double> concentrations;  ///< [K] of the classes (analysis/von_mises_fisher.h)
  std::int64_t images = 0;             ///< it was calibrated on
  /// Those were labelled images that training had not seen. Else the threshold is but a share of
  /// the unlabelled images, however typical they are.
  bool held_out = false;
};

/// What model.json holds.
struct ModelInfo {
  std::vector<std::string> classes;  ///< one per prototype: the old classes, then the new
  std::int64_t old_classes = 0;
  std::string method;      ///< that trained it; empty: none did, or a version that knew but one
  std::int64_t width = 0;  ///< D, of the features
  std::int64_t first_trained_block = 0;
  double temperature = 0.1;  ///< of the posterior that was trained
  Preprocessing preprocessing;
  ReadingOptions reading;
  std::string tensors_sha256;   ///< of model.safetensors
  std::string backbone_file;    ///< where it was when the model was trained, or "builtin"
  std::string backbone_preset;  ///< empty where a file was named
  std::string backbone_sha256;
  std::int64_t backbone_heads = 0;
  std::optional<OutlierCalibration> outliers = {};  ///< nothing: no threshold is known
  std::optional<Confidence> confidence = {};        ///< nothing: the temperature for all classes
  /// [K]: how much of a class trainings from other beginnings find again, 0 to 1, where it had
  /// images; empty where there was but one beginning.
  std::vector<std::optional<double>> stability = {};

  std::int64_t k() const { return static_cast<std::int64_t>(classes.size()); }
  bool is_new(std::int64_t label) const { return label >= old_classes; }
  OutlierScore outlier_score() const { return outliers ? outliers->score : OutlierScore::kEnergy; }
  OutlierScorer outlier_scorer() const;
  std::string to_json() const;
  /// ModelFileError names `origin` and what is wrong.
  static ModelInfo from_json(const std::string& text, const std::string& origin);
};

/// Names of K classes: the old ones, then new-01, new-02, ...
std::vector<std::string> class_names(const std::vector<std::string>& old_classes, std::int64_t k);

/// Of a model of K classes on this backbone, whose last block may be trained; of a trained
/// backbone, the blocks that were.
ModelInfo untrained_model_info(const Backbone& backbone,
                               const std::vector<std::string>& old_classes, std::int64_t k,
                               const ReadingOptions& reading);

class TrainedModel {
 public:
  /// Untrained: the backbone's own last blocks, and no prototypes yet. The trunk is made where none
  /// is given; models of one backbone can share it.
  TrainedModel(const Backbone& backbone, ModelInfo info, const Placement& placement,
               std::shared_ptr<const Trunk> trunk = nullptr);

  const ModelInfo& info() const { return info_; }
  void set_outliers(OutlierCalibration calibration) { info_.outliers = std::move(calibration); }
  void set_confidence(const Confidence& confidence) { info_.confidence = confidence; }
  void set_stability(std::vector<std::optional<double>> stability) {
    info_.stability = std::move(stability);
  }
  const Placement& placement() const { return placement_; }
  const Trunk& trunk() const { return *trunk_; }
  TrainedBlocks& blocks() const { return *blocks_; }
  const Prototypes& prototypes() const { return prototypes_; }
  void set_prototypes(const Prototypes& prototypes);
  /// Drops all others: `kept` are all old classes and some new ones, ascending, which are numbered
  /// anew.
  void keep_classes(const std::vector<std::int64_t>& kept);

  /// CLS after the final norm, without a graph: tokens of B images -> [B, D].
  at::Tensor features(const TrunkTokens& tokens) const;
  /// Cosines with the prototypes, without a graph: features [B, D] -> [B, K].
  at::Tensor cosines_of(const at::Tensor& features) const;
  /// The same: tokens of B images -> [B, K].
  at::Tensor cosines(const TrunkTokens& tokens) const { return cosines_of(features(tokens)); }
  /// What decides about the class, of cosines [B, K]: themselves, or with the prototypes' bias.
  at::Tensor scores_of(const at::Tensor& cosines) const;
  /// Probabilities of scores [B, K]: at the model's temperature, or as its confidence was
  /// calibrated.
  at::Tensor posterior_of(const at::Tensor& scores) const;
  LoaderOptions center_loader(std::size_t threads) const;

  /// `of_method`: what else was trained, for whoever goes on from it.
  void save(const std::filesystem::path& folder,
            const std::map<std::string, at::Tensor>& of_method = {}) const;
  /// model.json alone, of a model that is there: when only what is said about outliers changed.
  void save_info(const std::filesystem::path& folder) const;

 private:
  ModelInfo info_;
  Placement placement_;
  std::shared_ptr<const Trunk> trunk_;
  std::unique_ptr<TrainedBlocks> blocks_;
  Prototypes prototypes_;  ///< on the device, in the trained type
};

/// Opens the model of a run folder (or a model folder itself). `backbone_file` replaces the place
/// where its backbone was, if not empty. ModelFileError where something is missing, damaged, or the
/// backbone is another one.
TrainedModel load_model(const std::filesystem::path& run,
                        const std::filesystem::path& backbone_file, const Context& context);

}  // namespace protogcd
