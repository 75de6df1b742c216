#include "protogcd/discovery/trainer.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/discovery/confidence.h"
#include "protogcd/discovery/run_beginning.h"
#include "protogcd/discovery/trained_files.h"
#include "protogcd/model/model_outputs.h"
#include "protogcd/model/outlier_calibration.h"
#include "protogcd/run/epoch_comparison.h"
#include "protogcd/run/metrics_file.h"
#include "protogcd/training/candidate.h"
#include "protogcd/training/training_loop.h"

namespace protogcd {
namespace {

/// The old classes, the new ones that images were found for, and those of an earlier run, as the
/// numbers of its others would change.
std::vector<std::int64_t> classes_with_images(const std::vector<std::int32_t>& labels,
                                              const ModelInfo& info, const TakenHead& head) {
  std::vector<bool> found(static_cast<std::size_t>(info.k()), false);
  for (const std::int32_t label : labels) found[static_cast<std::size_t>(label)] = true;
  for (std::int64_t c = 0; head.prototypes.defined() && c < info.k(); ++c)
    if (head.prototypes[c].any().item<bool>()) found[static_cast<std::size_t>(c)] = true;
  std::vector<std::int64_t> classes;
  for (std::int64_t c = 0; c < info.k(); ++c)
    if (!info.is_new(c) || found[static_cast<std::size_t>(c)]) classes.push_back(c);
  return classes;
}

// Fewer images do not say where the most outlying twentieth begins.
constexpr std::size_t kLeastForThreshold = 20;

}  // namespace

Trainer::Trainer(TrainerInput input)
    : given_(std::move(input)),
      options_(given_.options),
      context_(given_.context),
      material_(given_.material),
      info_(given_.info),
      set_(material_.set()),
      to_predict_(set_.to_predict()),
      truths_(truths_of(to_predict_)),
      model_(given_.earlier ? with_blocks_of(*given_.earlier, given_.backbone) : given_.backbone,
             info_, material_.placement(), material_.trunk()),
      head_(given_.earlier ? head_of(*given_.earlier, info_) : TakenHead()),
      method_(make_method()),
      sets_(material_, model_.blocks(), context_) {}

std::unique_ptr<Method> Trainer::make_method() const {
  MethodInput input = prepared_input(material_, given_.backbone, *options_.method, info_.k(),
                                     options_.loop.schedule.epochs, context_.seed, {}, context_);
  if (!given_.starts.empty()) input.first_classes = given_.starts.classes[given_.starts.surest()];
  input.taken = head_;
  return options_.method->make(input);
}

void Trainer::evaluate_all() {
  outcome_ = method_->outcome(sets_);
  model_.set_prototypes(outcome_.prototypes);
  predict_and_evaluate();
}

void Trainer::predict_and_evaluate() {
  predictions_ = predict({SampleSet::kUnlabelled, SampleSet::kAside});
  predictions_.labels = found_labels();
  evaluate_sets();
}

void Trainer::evaluate_sets() {
  on_unlabelled_ = evaluate(predictions_, truths_, info_.old_classes);
  if (set_.count(SampleSet::kTest) > 0) {
    on_test_ = evaluate(predict({SampleSet::kTest}), truths_of(set_.of(SampleSet::kTest)),
                        info_.old_classes);
  }
}

Predictions Trainer::predict(std::initializer_list<SampleSet> sets) {
  Predictions predictions;
  for (const SampleSet set : sets) {
    material_.for_each_rows(
        set, context_, [&](const TrunkTokens& tokens) { return model_.cosines(tokens); },
        [&](const at::Tensor& cosines) { predictions.add(cosines, model_); });
  }
  predictions.finish();
  return predictions;
}

/// By the prototypes, or as the method found them in another way: it has not seen what was set
/// aside.
std::vector<std::int32_t> Trainer::found_labels() const {
  std::vector<std::int32_t> labels = predictions_.labels;
  std::ranges::copy(outcome_.labels, labels.begin());
  return labels;
}

/// The outlier threshold comes from labelled images that training has not seen; where too few were
/// kept out, from the unlabelled images, of which it is a fixed share. Returns the features of the
/// unlabelled images, if there are any.
at::Tensor Trainer::calibrate_and_predict() {
  if (to_predict_.empty()) return {};
  const ModelOutputs trained_on = outputs_of(model_, material_.tokens(SampleSet::kUnlabelled),
                                             "the unlabelled images", context_);
  at::Tensor held_out;
  if (set_.count(SampleSet::kCalibration) >= kLeastForThreshold) {
    held_out = outputs_of(model_, material_.tokens(SampleSet::kCalibration),
                          "the images kept out of training", context_)
                   .cosines;
  }
  calibration_error_before_ = calibration_error_of(predictions_, truths_);
  if (given_.confidence) model_.set_confidence(*given_.confidence);
  model_.set_outliers(calibrate_outliers(model_.info(), trained_on.cosines, options_.outlier_score,
                                         options_.outlier_keep, held_out));
  ModelOutputs all = trained_on;
  if (set_.count(SampleSet::kAside) > 0) {
    const ModelOutputs aside =
        outputs_of(model_, material_.tokens(SampleSet::kAside), "the images set aside", context_);
    all = {.features = at::cat({all.features, aside.features}),
           .cosines = at::cat({all.cosines, aside.cosines})};
  }
  predictions_ = {};
  predictions_.keep_posterior = true;
  predictions_.add(all.cosines, model_);
  predictions_.finish();
  if (!outcome_.labels.empty()) predictions_.assign(found_labels(), all.cosines, model_);
  calibration_error_ = calibration_error_of(predictions_, truths_);
  if (given_.confidence) evaluate_sets();  // what is told of confidence is what the model says now
  return all.features;
}

/// A prototype that no image is nearest to: what the run found is the same without it.
void Trainer::drop_empty_classes() {
  const std::vector<std::int64_t> kept = classes_with_images(predictions_.labels, info_, head_);
  const std::int64_t new_classes = info_.k() - info_.old_classes,
                     empty = info_.k() - static_cast<std::int64_t>(kept.size());
  if (to_predict_.empty() || empty == 0) return;
  if (!options_.drops_empty()) {
    if (5 * empty < new_classes) return;  // a few may stay empty
    context_.log.warning(fmt::format(
        "{} of the {} new classes have no image: {} is probably too large", empty, new_classes,
        options_.k ? fmt::format("{} {}", option_name("k"), info_.k())
                   : fmt::format("the number of {} classes", info_.k())));
    return;
  }
  context_.log.info(fmt::format("{} of the {} new classes found no image: {} classes are left",
                                empty, new_classes, kept.size()));
  model_.keep_classes(kept);
  for (std::int32_t& label : outcome_.labels)
    label = static_cast<std::int32_t>(std::ranges::lower_bound(kept, label) - kept.begin());
  predict_and_evaluate();
}

void Trainer::train_epochs() {
  TrainingLoop loop(given_.folder, material_, model_.blocks(), *method_, options_.loop,
                    identity_of(options_, info_, material_, context_.seed), context_,
                    {.borrow = options_.material.borrow});
  seconds_before_ = loop.run(options_.resume, given_.started, [this](nlohmann::json& line) {
    evaluate_all();
    line["unlabelled"] = to_json(*on_unlabelled_);
    line["test"] = on_test_ ? to_json(*on_test_) : nlohmann::json("none");
    if (on_unlabelled_->samples == 0) return std::string();  // said as the run began
    return fmt::format("unlabelled images: {}", in_words(*on_unlabelled_));
  });
}

std::optional<TakenFrom> Trainer::take_from_earlier() const {
  if (!given_.earlier) return std::nullopt;
  TakenFrom taken = taken_from(*given_.earlier, info_, *method_, head_.give_to(*method_));
  note_from(given_.folder, taken);
  tell_taken(taken, *given_.earlier, info_, context_.log);
  return taken;
}

RunResult Trainer::result_so_far() const {
  return {.k = model_.info().k(),
          .k_old = info_.old_classes,
          .dropped = info_.k() - model_.info().k(),
          .confidence = given_.confidence,
          .calibration_error = calibration_error_,
          .calibration_error_before = calibration_error_before_,
          .labelled = set_.count(SampleSet::kLabelled),
          .unlabelled = to_predict_.size(),
          .test = set_.count(SampleSet::kTest),
          .skipped = set_.skipped().listed(set_.sources()),
          .epochs = options_.epochs(),
          .on_unlabelled = *on_unlabelled_,
          .on_test = on_test_,
          .by_epoch = compare_epochs(read_metrics(given_.folder.metrics())),
          .classes = describe_classes(model_.info().classes, info_.old_classes, predictions_.labels,
                                      predictions_.confidence, truths_, set_.dataset().classes),
          .outliers = predictions_.outliers(model_.info()),
          .outlier_keep = options_.outlier_keep,
          .frozen_accuracy = given_.frozen_accuracy,
          .out = options_.out};
}

RunResult Trainer::run() {
  note_method(given_.folder, options_.method->name(), *method_);
  std::optional<TakenFrom> taken = take_from_earlier();
  context_.log.info(
      fmt::format("{} labelled, {} unlabelled and {} test images; {} old and {} new classes",
                  set_.count(SampleSet::kLabelled), to_predict_.size(),
                  set_.count(SampleSet::kTest), info_.old_classes, info_.k() - info_.old_classes));
  if (std::ranges::all_of(truths_, [](std::int32_t truth) { return truth < 0; }))
    context_.log.info("no labels to compare with: accuracies are not told");
  if (options_.method->trains()) train_epochs();
  if (!on_unlabelled_) evaluate_all();  // no training, or resumed after its last epoch
  drop_empty_classes();
  const at::Tensor features = calibrate_and_predict();

  RunResult result = result_so_far();
  result.from = std::move(taken);
  std::vector<std::int32_t> trained_on = predictions_.labels;  // short trainings saw no others
  trained_on.resize(set_.count(SampleSet::kUnlabelled));
  const auto stability = class_stability(given_.starts, trained_on, result.k);
  for (std::size_t c = 0; c < stability.size(); ++c) result.classes[c].stability = stability[c];
  model_.set_stability(stability);
  if (model_.info().outliers && model_.info().outliers->held_out)
    result.calibrated_on = static_cast<std::size_t>(model_.info().outliers->images);
  const TrainedFiles files{given_.folder, material_,    given_.backbone,
                           model_,        predictions_, context_};
  write_predictions(files);
  write_label_queue(files, features);
  const auto teacher = method_->teacher();
  model_.save(given_.folder.model(), teacher ? teacher->parameters : method_->parameters());
  // Attention shows what training changed.
  write_report_files(files, features, options_.report && options_.method->trains());
  const auto now = std::chrono::steady_clock::now();
  result.seconds = seconds_before_ + std::chrono::duration<double>(now - given_.started).count();
  const PeakMemory memory = peak_memory(material_.placement().device);
  result.host_mib = memory.host >> 20;
  result.gpu_mib = memory.gpu >> 20;
  return result;
}

}  // namespace protogcd
