// What a run leaves for its report, which has neither backbone nor libtorch: features of the
// unlabelled images, and where the model looks on a few of them, before and after training.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/model/model.h"
#include "protogcd/model/prediction.h"
#include "protogcd/training/training_set.h"

namespace protogcd {

/// At most `most` of the numbers 0 .. all - 1, evenly apart, each once, ascending.
std::vector<std::int64_t> evenly_chosen_rows(std::int64_t all, std::int64_t most);

struct RunFeatures {
  at::Tensor before, after;  ///< unit rows, [N, D], as the backbone has them and as the model does
  at::Tensor prototypes;     ///< unit rows, [K, D]
  std::vector<std::int32_t> truths;  ///< [N]; -1: unknown
  std::vector<std::string> classes;  ///< what truths are numbers of
};

/// embeddings.safetensors: directions in half precision, in the order of predictions.csv. More
/// images than a map can show are left out, evenly.
void write_embeddings(const std::filesystem::path& file, const RunFeatures& features);

/// Images whose attention is worth a look: the most typical one of a class, old and new classes in
/// turn and large ones first, and the most outlying ones of all.
std::vector<std::size_t> attention_examples(const Predictions& predictions, const ModelInfo& info,
                                            std::size_t most = 24);

/// attention.safetensors: `rows` [n] of predictions.csv, their `views` [n, S, S, 3], and maps of
/// every head `before` and `after` [n, heads, rows, columns], 255 at each map's largest value.
/// Images that cannot be read any more are left out, and a warning says so.
void write_attention(const std::filesystem::path& file, const Backbone& backbone,
                     const TrainedModel& model, const TrainingSet& set,
                     const std::vector<std::size_t>& examples, const Context& context);

}  // namespace protogcd
