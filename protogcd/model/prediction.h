// What a model says about images: the nearest prototype, how sure, how typical, how outlying.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "protogcd/core/csv.h"
#include "protogcd/engine/evaluation_tokens.h"
#include "protogcd/model/model.h"

namespace protogcd {

/// Of N images, each [N].
struct Predictions {
  std::vector<std::int32_t> labels;   ///< argmax over the prototypes
  std::vector<float> confidence;      ///< its posterior at the model's temperature
  std::vector<float> typicality;      ///< cosine to its prototype
  std::vector<double> outlier_score;  ///< by the model's score, higher is more outlying
  std::vector<double> marginal;       ///< mean posterior, [K]

  std::size_t size() const { return labels.size(); }
  std::uint64_t outliers(const ModelInfo& info) const;  ///< how many; 0 without a threshold
  /// Adds the images of these cosines [B, K]; `marginal` becomes a sum until `finish`.
  /// ModelFileError where a cosine is not a number.
  void add(const at::Tensor& cosines, const Model& model);
  void finish();
  /// Gives the images classes that were found in another way than by the prototypes.
  void assign(const std::vector<std::int32_t>& classes, const at::Tensor& cosines,
              const Model& model);
};

Predictions predict_all(const Model& model, EvaluationTokens& tokens, const Context& context);

/// predictions.csv, row by row: `path,class,is_new,confidence,typicality,outlier_score,is_outlier`.
/// `is_outlier` stays empty where the model has no threshold.
class PredictionWriter {
 public:
  /// A file that ends in .json becomes an array of objects instead.
  PredictionWriter(const std::filesystem::path& file, const ModelInfo& info);
  void row(const std::string& path, const Predictions& predictions, std::size_t index);
  void commit();

  static std::vector<std::string> header();

 private:
  const ModelInfo& info_;
  bool json_;
  bool empty_ = true;
  AtomicFile file_;
};

struct PredictOptions {
  std::filesystem::path out;
  bool overwrite = false;
};

struct PredictSummary {
  std::uint64_t images = 0, skipped = 0, outliers = 0;
  std::vector<std::uint64_t> per_class;  ///< [K]
  double seconds = 0;
};

/// Predicts every readable image, in the order of the sources; memory does not grow with their
/// number. Images that cannot be read go to NAME.skipped.csv beside NAME.csv.
PredictSummary predict_images(const Model& model, const SourceTable& sources,
                              const PredictOptions& options, const BadImagePolicy& policy,
                              const Context& context);

}  // namespace protogcd
