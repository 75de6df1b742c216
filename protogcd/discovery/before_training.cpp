#include "protogcd/discovery/before_training.h"

#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/discovery/class_number.h"
#include "protogcd/discovery/confidence.h"
#include "protogcd/discovery/train.h"
#include "protogcd/discovery/tune.h"
#include "protogcd/training/candidate.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

/// What an estimate depends on beside images and model.
std::string estimate_settings(const ClassNumberOptions& options, std::uint64_t seed) {
  const auto or_usual = [](const std::optional<std::int64_t>& number) {
    return number ? std::to_string(*number) : "as usual";
  };
  return fmt::format("rule {}, k_max {}, {} epochs, {} steps, cluster steps {}, {} seeds from {}",
                     name_of(options.rule), or_usual(options.k_max), options.epochs,
                     options.min_steps, or_usual(options.cluster_steps), options.seeds, seed);
}

constexpr int kFoundFormat = 1;

/// What a run that is resumed found before. `what` was done, and can be done `again`.
template <class Found>
Found found_before(const fs::path& file, const std::string& settings, const char* what,
                   const char* again) {
  try {
    const auto json = parse_json(read_text_file(file));
    check_format(json, kFoundFormat, file.string());
    if (const std::string before = json.at("settings"); before != settings) {
      throw UsageError(fmt::format("{}: {} with {}; now it would be with {}", option_name("resume"),
                                   what, before, settings));
    }
    return Found::from_json(json);
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format("{}: {}", file.string(), error.what()),
                    fmt::format("remove it to {} again", again));
  }
}

void write_found(const fs::path& file, nlohmann::json json, const std::string& settings) {
  json["settings"] = settings;
  json[kFormatKey] = kFoundFormat;
  write_file_atomically(file, json.dump(2) + "\n");
}

/// How to go on after what is begun anew when it is stopped, but for scores that were kept.
InterruptedError stopped(const InterruptedError& error, const char* what,
                         const TrainOptions& options, const Context& context) {
  return InterruptedError(
      error.marked(),
      fmt::format("begin {} again with: {}", what,
                  context.command_line({{"out", options.out.string()}, {"resume", ""}})));
}

}  // namespace

ClassNumber class_number_of(const RunFolder& folder, TrainingMaterial& material,
                            const Backbone& backbone, const TrainOptions& options,
                            const Context& context) {
  const std::string settings = estimate_settings(options.estimate, context.seed);
  if (options.resume && fs::exists(folder.estimate())) {
    fs::remove(folder.estimate_scores());
    return found_before<ClassNumber>(folder.estimate(), settings,
                                     "the number of classes was estimated",
                                     "estimate the number of classes");
  }
  ClassNumberOptions how = estimate_of(options);
  const auto old = static_cast<std::int64_t>(material.set().dataset().old_classes);
  how.keep = [&](const std::vector<ClassNumberPoint>& points) {
    const ClassNumber so_far{.k = std::max<std::int64_t>(old, 1), .k_old = old, .curve = points};
    write_found(folder.estimate_scores(), so_far.to_json(), settings);
  };
  if (options.resume && fs::exists(folder.estimate_scores())) {
    how.known =
        found_before<ClassNumber>(folder.estimate_scores(), settings,
                                  "numbers of classes were scored", "score numbers of classes")
            .curve;
    if (!how.known.empty())
      context.log.info(fmt::format("{} numbers were scored before", how.known.size()));
  }
  ClassNumber found;
  try {
    found = estimate_class_number(material, backbone, how, context);
  } catch (const InterruptedError& error) {
    throw stopped(error, "the estimate", options, context);
  }
  write_found(folder.estimate(), found.to_json(), settings);
  fs::remove(folder.estimate_scores());
  context.log.info(found.in_words(option_name));
  return found;
}

Starts starts_of(const RunFolder& folder, TrainingMaterial& material, const Backbone& backbone,
                 const TrainOptions& options, std::int64_t k, const Context& context) {
  const std::string settings = start_settings(material, options, k, context.seed);
  if (options.resume && fs::exists(folder.starts()))
    return found_before<Starts>(folder.starts(), settings, "beginnings were tried",
                                "try beginnings");
  Starts found;
  try {
    found = try_starts(material, backbone, k, options, context);
  } catch (const InterruptedError& error) {
    throw stopped(error, "the short trainings", options, context);
  }
  if (!found.empty()) write_found(folder.starts(), found.to_json(), settings);
  return found;
}

ForeignImages foreign_of(const RunFolder& folder, TrainingMaterial& material,
                         const Backbone& backbone, const at::Tensor& labelled,
                         const TrainOptions& options, const Context& context) {
  const std::size_t unlabelled = material.set().count(SampleSet::kUnlabelled);
  if (unlabelled == 0) return {};
  const std::string settings = fmt::format("{} unlabelled images", unlabelled);
  const bool sets_aside = options.set_foreign_aside;
  if (sets_aside && options.resume && fs::exists(folder.foreign()))
    return found_before<ForeignImages>(folder.foreign(), settings, "foreign images were looked for",
                                       "look for foreign images")
        .checked(unlabelled, folder.foreign().string());
  ForeignImages found =
      find_foreign(labelled, labelled_classes(material.set()),
                   untrained_features(material, backbone, SampleSet::kUnlabelled, context));
  if (!sets_aside) return found;
  write_found(folder.foreign(), found.to_json(), settings);
  context.log.info(
      found.why_kept.empty()
          ? fmt::format("{} unlabelled images look unlike all that is labelled: not trained on",
                        found.places.size())
          : found.why_kept);
  return found;
}

Confidence confidence_of(const RunFolder& folder, TrainingMaterial& material,
                         const Backbone& backbone, const TrainOptions& options, std::int64_t k,
                         const Context& context) {
  const std::string settings = confidence_settings(material, options, k, context.seed);
  if (options.resume && fs::exists(folder.confidence()))
    return found_before<Confidence>(folder.confidence(), settings, "confidence was calibrated",
                                    "calibrate confidence");
  Confidence found;
  try {
    found = calibrate_confidence(material, backbone, options, k, context);
  } catch (const InterruptedError& error) {
    throw stopped(error, "the short training", options, context);
  }
  write_found(folder.confidence(), found.to_json(), settings);
  context.log.info(found.in_words());
  return found;
}

Tuning tuning_of(const RunFolder& folder, TrainingMaterial& material, const Backbone& backbone,
                 const TrainOptions& options, std::int64_t k, const Context& context) {
  const std::string settings = tuning_settings(material, options, k, context.seed);
  if (options.resume && fs::exists(folder.tune()))
    return found_before<Tuning>(folder.tune(), settings, "settings were tried", "try settings");
  Tuning found;
  try {
    found = tune(material, backbone, options, k, context);
  } catch (const InterruptedError& error) {
    throw stopped(error, "the trials", options, context);
  }
  write_found(folder.tune(), found.to_json(), settings);
  context.log.info(found.in_words(option_name));
  return found;
}

}  // namespace protogcd
