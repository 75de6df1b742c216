// What a model says about images: the nearest prototype, how sure, how typical, how outlying.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protogcd/data/shard.h"
#include "protogcd/engine/evaluation_tokens.h"
#include "protogcd/model/model.h"
#include "protogcd/run/predictions_table.h"

namespace protogcd {

/// Of N images, each [N].
struct Predictions {
  std::vector<std::int32_t> labels;   ///< argmax over the prototypes
  std::vector<float> confidence;      ///< its posterior (TrainedModel::posterior_of)
  std::vector<float> typicality;      ///< cosine to its prototype
  std::vector<double> outlier_score;  ///< by the model's score, higher is more outlying
  std::vector<double> marginal;       ///< mean posterior, [K]
  bool keep_posterior = false;        ///< whether `add` fills the next
  std::vector<float> posterior;       ///< [N, K]

  std::size_t size() const { return labels.size(); }
  std::span<const float> posterior_of(std::size_t index) const {
    return std::span(posterior).subspan(index * marginal.size(), marginal.size());
  }
  std::uint64_t outliers(const ModelInfo& info) const;  ///< how many; 0 without a threshold
  /// Adds the images of these cosines [B, K]; `marginal` becomes a sum until `finish`.
  /// ModelFileError where a cosine is not a number.
  void add(const at::Tensor& cosines, const TrainedModel& model);
  void finish();
  /// What is said about one of them.
  PredictedImage row(std::string path, std::size_t index, const ModelInfo& info) const;
  /// Gives the images classes that were found in another way than by the prototypes.
  void assign(const std::vector<std::int32_t>& classes, const at::Tensor& cosines,
              const TrainedModel& model);
};

Predictions predict_all(const TrainedModel& model, EvaluationTokens& tokens,
                        const Context& context);

/// Rows of a predictions table (run/predictions_table.h), by what the model knows of its classes.
class PredictionWriter {
 public:
  PredictionWriter(const std::filesystem::path& file, const ModelInfo& info)
      : info_(info), table_(file, {}, !info.stability.empty()) {}
  /// With columns for probabilities, which need predictions that keep their posterior.
  PredictionWriter(const std::filesystem::path& file, const ModelInfo& info,
                   const std::string& probabilities)
      : info_(info), table_(file, {probabilities, info.classes}, !info.stability.empty()) {}
  void row(const std::string& path, const Predictions& predictions, std::size_t index) {
    table_.row(predictions.row(path, index, info_), predictions.keep_posterior
                                                        ? predictions.posterior_of(index)
                                                        : std::span<const float>());
  }
  void commit() { table_.commit(); }

 private:
  const ModelInfo& info_;
  PredictionsTableWriter table_;
};

/// A batch of images as `predict_images` hands it out.
struct PredictedBatch {
  std::span<const std::uint32_t> sources;  ///< [B]: which images, in the order of the table
  /// Of each, with the posterior; `marginal` is a sum over the batch.
  const Predictions& predictions;
};

struct PredictSummary {
  std::uint64_t images = 0, skipped = 0, outliers = 0;
  std::vector<std::uint64_t> per_class;  ///< [K]
  double seconds = 0;
  std::filesystem::path out = {};  ///< the table, where one was written
  bool was_finished = false;       ///< a shard that was there already: nothing was done
};

/// Predicts every readable image of the list, or of a shard of it, in the order of the sources, and
/// hands them out batch by batch; memory does not grow with their number. What cannot be read is
/// added to `skipped`. Asked to stop, it throws InterruptedError after a batch.
PredictSummary predict_images(const TrainedModel& model, const SourceTable& sources,
                              SkippedFiles& skipped, const Context& context,
                              const std::function<void(const PredictedBatch&)>& use,
                              const std::optional<Shard>& shard = {});

struct PredictOptions {
  std::filesystem::path out;
  bool overwrite = false;
  std::string probabilities =
      {};  ///< also: "all" classes, or of so many (run/probability_columns.h)
  /// This part of the list alone, into the shard's own file (Shard::file); nothing: all of it.
  std::optional<Shard> shard = {};
  bool resume = false;  ///< a shard that is finished stays as it is
};

/// The same into a predictions table. Images that cannot be read go to NAME.skipped.csv beside
/// NAME.csv. Asked to stop, it keeps the table of what is done; of a shard nothing, as it is made
/// whole or anew.
PredictSummary write_predictions(const TrainedModel& model, const SourceTable& sources,
                                 const PredictOptions& options, const BadImagePolicy& policy,
                                 const Context& context);

}  // namespace protogcd
