// `protogcd evaluate`: how good a trained model is on images whose classes are known.
#include <ATen/core/Tensor.h>
#include <fmt/core.h>

#include <memory>
#include <optional>

#include "protogcd/analysis/cluster_metrics.h"
#include "protogcd/cli/corruption_options.h"
#include "protogcd/cli/recorded_split.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/data/data_options.h"
#include "protogcd/data/image_set.h"
#include "protogcd/model/evaluation.h"
#include "protogcd/model/model_outputs.h"
#include "protogcd/nn/device.h"
#include "protogcd/studies/corruption_study.h"
#include "protogcd/training/training_set.h"

namespace protogcd::cli {
namespace {

struct EvaluateVerbOptions {
  std::filesystem::path model, backbone, cifar_c, out;
  DataOptions data;
  bool cluster_metrics = false, overwrite = false;
  std::string corruptions, severities = "1,2,3,4,5";
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

/// Names of the classes by the model's numbers: the inverse of `numbers_for`.
std::vector<std::string> names_for(const std::vector<std::int32_t>& numbers,
                                   const Dataset& dataset) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = static_cast<std::size_t>(numbers[i]);
    names.resize(std::max(names.size(), number + 1));
    names[number] = dataset.classes[i];
  }
  return names;
}

nlohmann::json to_json(const ClusterMetrics& metrics) {
  const auto values = [](const ClusterMetrics::Values& one) {
    return nlohmann::json{
        {"compactness", one.compactness}, {"separation", one.separation}, {"classes", one.classes}};
  };
  return {{"all", values(metrics.all)},
          {"old", values(metrics.old_classes)},
          {"new", values(metrics.new_classes)}};
}

class ModelEvaluation {
 public:
  ModelEvaluation(const EvaluateVerbOptions& options, Session& session, const Context& context)
      : options_(options),
        context_(context),
        model_(load_model(options.model, options.backbone, context)),
        loader_(model_.center_loader(context.threads)),
        set_(numbered(open_data(options.data, session.context.log)), loader_, 0,
             session.bad_image_policy(), context) {}

  void run(Session& session);

 private:
  Dataset numbered(Dataset dataset) {
    numbers_ = numbers_for(model_.info(), dataset);
    classes_ = names_for(numbers_, dataset);
    for (Sample& sample : dataset.samples) {
      if (sample.truth >= 0) sample.truth = numbers_[static_cast<std::size_t>(sample.truth)];
    }
    return dataset;
  }
  std::optional<Evaluation> evaluate_on(SampleSet kind);
  void study(SampleSet kind, const Evaluation& clean);
  void write(const std::string& name, const std::string& text) const {
    if (!options_.out.empty()) write_file_atomically(options_.out / name, text);
  }

  const EvaluateVerbOptions& options_;
  const Context& context_;
  std::vector<std::int32_t> numbers_;  ///< of the data's classes, as the model numbers them
  std::vector<std::string> classes_;   ///< by those numbers
  TrainedModel model_;
  const LoaderOptions loader_;
  TrainingSet set_;
  nlohmann::json json_;
  std::string words_;
};

/// Nothing where no image of the set has a known class.
std::optional<Evaluation> ModelEvaluation::evaluate_on(SampleSet kind) {
  const auto samples = set_.of(kind);
  const std::string name(sample_set_name(kind));
  json_[name] = "none";
  if (samples.empty()) return std::nullopt;
  const auto truths = truths_of(samples);
  EvaluationTokens tokens(set_.sources(), sources_of(samples), model_.trunk(), loader_, 0);
  Predictions predictions;
  ModelOutputs outputs;
  if (options_.cluster_metrics) {
    outputs = outputs_of(model_, tokens, name + " images", context_);
    predictions.add(outputs.cosines, model_);
    predictions.finish();
  } else {
    predictions = predict_all(model_, tokens, context_);
  }
  const Evaluation result = evaluate(predictions, truths, model_.info().old_classes);
  if (result.samples == 0) return std::nullopt;
  nlohmann::json& json = json_[name] = protogcd::to_json(result);
  words_ += fmt::format("{} images ({}): {}; NMI {:.3f}, ARI {:.3f}\n", name, result.samples,
                        in_words_with_intervals(result), result.nmi, result.ari);
  if (options_.cluster_metrics) {
    const ClusterMetrics metrics = cluster_metrics(
        {outputs.features.const_data_ptr<float>(),
         static_cast<std::size_t>(outputs.features.numel())},
        static_cast<std::size_t>(outputs.features.size(1)), truths, model_.info().old_classes);
    json["clusters"] = to_json(metrics);
    words_ += fmt::format(
        "  compactness All {:.3f}, Old {:.3f}, New {:.3f} (higher is tighter); separation {:.3f} "
        "(lower is farther apart)\n",
        metrics.all.compactness, metrics.old_classes.compactness, metrics.new_classes.compactness,
        metrics.all.separation);
  }
  const ClassTables tables(predictions, truths, classes_, model_.info().classes);
  json["classes"] = tables.to_json();
  words_ += tables.in_words();
  write(fmt::format("confusion-{}.csv", name), tables.confusion_csv());
  write(fmt::format("classes-{}.csv", name), tables.classes_csv());
  return result;
}

/// On images of the set, or on the files of CIFAR-C in their place.
void ModelEvaluation::study(SampleSet kind, const Evaluation& clean) {
  const CorruptionStudyOptions options{.corruptions = parse_corruptions(options_.corruptions),
                                       .severities = parse_severities(options_.severities)};
  CorruptionStudy study;
  if (options_.cifar_c.empty()) {
    std::vector<Sample> known;
    for (const Sample& sample : set_.of(kind)) {
      if (sample.truth >= 0) known.push_back(sample);
    }
    study = study_corruptions(model_, clean, set_.sources(), sources_of(known), truths_of(known),
                              options, context_);
  } else {
    const auto open = [&](const Corruption& corruption, int severity) {
      return open_image_set(fmt::format("{}-c:{}:{}:{}", options_.data.dataset,
                                        options_.cifar_c.string(), corruption.name, severity),
                            context_.log);
    };
    study = study_corrupted_files(model_, clean, open, numbers_, options, context_);
  }
  json_["corruption"] = study.to_json();
  write("corruptions.csv", study.to_csv());
  write("corruptions.md", study.to_markdown());
  words_ += fmt::format("\n{}", study.to_markdown());
}

void ModelEvaluation::run(Session& session) {
  std::optional<Evaluation> first;
  SampleSet judged = SampleSet::kUnlabelled;
  std::optional<Evaluation> clean;
  for (const SampleSet kind : {SampleSet::kUnlabelled, SampleSet::kTest}) {
    const auto result = evaluate_on(kind);
    if (!result) continue;
    // The field reports the unlabelled images; a plain test set stands for itself.
    if (!first) first = result;
    judged = kind;  // corruptions: the paper's are of the test set
    clean = result;
  }
  if (!first) {
    throw DataError("no unlabelled or test image has a known class to compare with",
                    "give hidden labels with --truth FILE.csv (path,label)");
  }
  json_.update(protogcd::to_json(*first));
  if (!options_.corruptions.empty()) study(judged, *clean);
  write("evaluation.json",
        json_.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  if (session.json()) return session.print_json(json_);
  say_lines(words_);
}

void check_options(const EvaluateVerbOptions& options) {
  if (!options.corruptions.empty()) {
    parse_corruptions(options.corruptions);  // a mistyped name should not cost an evaluation
    parse_severities(options.severities);
  }
  if (!options.cifar_c.empty()) {
    if (options.corruptions.empty())
      throw UsageError("--cifar-c goes with --corruptions (all, or names of its files)");
    if (options.data.dataset != "cifar10" && options.data.dataset != "cifar100")
      throw UsageError("--cifar-c goes with --dataset cifar10 or cifar100");
  }
  if (!options.out.empty()) {
    create_folders(options.out);
    for (const char* name :
         {"evaluation.json", "confusion-unlabelled.csv", "confusion-test.csv",
          "classes-unlabelled.csv", "classes-test.csv", "corruptions.csv", "corruptions.md"}) {
      const auto file = options.out / name;
      check_output_file(file, options.overwrite, "out");
      std::filesystem::remove(file);  // of an earlier evaluation: not to stand beside new numbers
    }
  }
}

void evaluate_model(const EvaluateVerbOptions& options, Session& session) {
  check_options(options);
  const ComputeSettings settings(session.context);
  ModelEvaluation(options, session, session.context).run(session);
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
            table.add("cluster_metrics", &options->cluster_metrics,
                      "also how tight classes are and how far apart");
            table
                .add("corruptions", &options->corruptions,
                     "also on corrupted images: all, or names as fog,snow (see corrupt --help)")
                .value_name("NAMES");
            table.add("severities", &options->severities, "of the corruptions, 1 to 5")
                .value_name("LIST");
            table
                .add("cifar_c", &options->cifar_c,
                     "take corrupted images from the published files in this folder")
                .value_name("DIR");
            table
                .add("out", &options->out,
                     "a folder for evaluation.json, classes-SET.csv, confusion-SET.csv and "
                     "corruptions.csv, .md")
                .value_name("DIR");
            table.add("overwrite", &options->overwrite, "replace the tables that are there")
                .flag_only();
            return [options](Session& session) {
              adopt_recorded_split(options->data, options->model);
              evaluate_model(*options, session);
            };
          }};
}

}  // namespace protogcd::cli
