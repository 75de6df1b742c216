// `protogcd evaluate`: how good a trained model is on images whose classes are known.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "protogcd/cli/data_options.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/gcd/evaluation.h"
#include "protogcd/gcd/training_set.h"
#include "protogcd/nn/device.h"

namespace protogcd::cli {
namespace {

struct EvaluateVerbOptions {
  std::filesystem::path model, backbone;
  DataOptions data;
};

/// The data's class numbers, as the model numbers them: its old classes by name, the rest after
/// them in the data's order. Hidden classes are matched to prototypes, so their order is free.
std::vector<std::int32_t> numbers_for(const ModelInfo& info, const Dataset& dataset) {
  std::vector<std::int32_t> numbers;
  auto next = static_cast<std::int32_t>(info.old_classes);
  for (const std::string& name : dataset.classes) {
    const auto end = info.classes.begin() + static_cast<std::ptrdiff_t>(info.old_classes);
    const auto found = std::find(info.classes.begin(), end, name);
    numbers.push_back(found == end ? next++
                                   : static_cast<std::int32_t>(found - info.classes.begin()));
  }
  return numbers;
}

void evaluate_model(const EvaluateVerbOptions& options, Session& session) {
  set_compute_threads(session.context.threads);
  Dataset dataset = open_data(options.data, session.context.log);
  const Model model = load_model(options.model, options.backbone, session.context);
  const ModelInfo& info = model.info();
  const auto numbers = numbers_for(info, dataset);
  for (Sample& sample : dataset.samples) {
    if (sample.truth >= 0) sample.truth = numbers[static_cast<std::size_t>(sample.truth)];
  }
  const LoaderOptions loader = model.center_loader(session.context.threads);
  const TrainingSet set(std::move(dataset), loader, 0, session.bad_image_policy(), session.context);

  nlohmann::json json;
  std::string words;
  for (const SampleSet kind : {SampleSet::kUnlabelled, SampleSet::kTest}) {
    const auto samples = set.of(kind);
    const std::string name(sample_set_name(kind));
    if (samples.empty()) {
      json[name] = "none";
      continue;
    }
    EvaluationTokens tokens(set.sources(), sources_of(samples), model.trunk(), loader, 0);
    const Evaluation result =
        evaluate(predict_all(model, tokens, session.context), truths_of(samples), info.old_classes);
    if (result.samples == 0) {
      json[name] = "none";
      continue;
    }
    json[name] = to_json(result);
    // The field reports the unlabelled images; a plain test set stands for itself.
    if (!json.contains("all")) json.update(to_json(result));
    words += fmt::format("{} images ({}): {}; NMI {:.3f}, ARI {:.3f}\n", name, result.samples,
                         in_words(result), result.nmi, result.ari);
  }
  if (words.empty()) {
    throw DataError("no unlabelled or test image has a known class to compare with",
                    "give hidden labels with --truth FILE.csv (path,label)");
  }
  if (session.json()) return session.print_json(json);
  fmt::print("{}", words);
}

}  // namespace

Verb evaluate_verb() {
  return {.name = "evaluate",
          .summary = "accuracy of a trained model, where the truth is known",
          .example = "protogcd evaluate --model run --dataset cub --root data/CUB_200_2011",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<EvaluateVerbOptions>();
            table.add("model", &options->model, "the folder of a finished run")
                .value_name("RUN")
                .required();
            declare_data_options(table, options->data);
            table
                .add("backbone", &options->backbone,
                     "where the model's backbone is now, if it was moved")
                .value_name("FILE");
            return [options](Session& session) {
              adopt_recorded_split(options->data, options->model);
              evaluate_model(*options, session);
            };
          }};
}

}  // namespace protogcd::cli
