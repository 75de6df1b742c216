// ProtoGCD (Ma et al., TPAMI 2025): joint prototypes of old and new classes, pseudo-labels that
// turn from soft to hard, and regularisers against predictions that shrink to few classes.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "protogcd/methods/head_options.h"
#include "protogcd/methods/method_options.h"
#include "protogcd/methods/protogcd/objective.h"
#include "protogcd/methods/protogcd/ramp.h"

namespace protogcd {

/// kReference: as the released code computes; kPaper: as the equations say (docs/method.md);
/// kGeneral: for collections that nobody tuned settings on (docs/defaults.md).
enum class ProtoGcdPreset { kReference, kPaper, kGeneral };
/// Eq. 10 ranks all unlabelled images once an epoch; the released code ranks each batch.
enum class HardScope { kBatch, kSet };
/// What share of the images the classes are expected to have, where no file says it.
enum class ClassShares {
  kEven,    ///< the same for every class, as published
  kCounted  ///< by how many images of which classes are labelled: `counted_shares`
};
/// Where prototypes begin.
enum class FirstPrototypes {
  kRandom,  ///< as published
  kKmeans   ///< semi-supervised k-means of the backbone's own features
};

struct ProtoGcdOptions : MethodOptions {
  /// Nothing: general, or as the facts ask for reference.
  std::optional<ProtoGcdPreset> preset;
  ObjectiveOptions objective;
  HardLabels hard_labels = HardLabels::kRamp;
  HeadOptions head;
  std::filesystem::path prior;  ///< class,share; empty: as `class_shares` says

  // Nothing: as the preset says; `resolve` gives them values.
  std::optional<double> lambda_entropy, tau_unsup_con, confidence_floor, marginal_window;
  std::optional<MarginalScope> marginal_scope;
  std::optional<ClassShares> class_shares;
  std::optional<FirstPrototypes> first_prototypes;
  std::optional<bool> scale_regularisers, ramp_as_published;
  std::optional<HardScope> hard_scope;
  std::optional<std::int64_t> wide_projection;
  std::optional<std::int64_t> ramp_epochs;  ///< nothing: half of the epochs
  std::int64_t ramp_wait = 0;               ///< and the others of RampOptions
  double ramp_from = 0, ramp_to = 1;
  /// Pseudo-labels are a teacher's, who sees weak views where the trained model sees strong ones
  /// (protogcd_plus.cpp). Nothing: the model's own.
  std::optional<TeacherMomentum> teacher;
  /// A file of one tensor [K_old or more, D]: first prototypes of the old classes, as the released
  /// code can take them. Empty: none.
  std::filesystem::path init_prototypes;

  std::string name() const override { return "protogcd"; }
  std::unique_ptr<MethodOptions> copy() const override;
  void declare(OptionTable& table) override;
  std::vector<std::string> resolve(const MethodFacts& facts) override;
  std::vector<PublishedSetting> published(const std::string& dataset) const override;
  bool begins_with_classes() const override { return first_prototypes == FirstPrototypes::kKmeans; }
  void become_candidate(std::optional<std::int64_t> epochs) override;
  void change_epochs(std::int64_t before, std::int64_t now) override;
  std::string tuned_option() const override { return "lambda_entropy"; }
  bool sees_labelled() const override { return first_prototypes == FirstPrototypes::kKmeans; }
  std::map<std::string, std::string> identity() const override;
  std::unique_ptr<Method> make(const MethodInput& input) const override;
};

std::unique_ptr<MethodOptions> protogcd_options();

/// Shares of the classes from a `class,share` file: those it does not name share the rest evenly.
/// DataError names file and line.
std::vector<double> read_prior(const std::filesystem::path& file,
                               const std::vector<std::string>& classes);

/// The first rows [classes, width] of the file's one tensor; ModelFileError names the file.
at::Tensor read_prototypes(const std::filesystem::path& file, std::int64_t classes,
                           std::int64_t width);

/// What is expected of K classes before anything is known of the unlabelled images.
struct ExpectedShares {
  std::vector<double> shares;  ///< [K]
  /// Variance of class sizes over their squared mean, as the labels tell it: 0 where their counts
  /// differ by no more than chance.
  double unevenness = 0;
};

/// The shares that K classes have of the images whose mean prediction is taken. Old and new classes
/// are taken to be of one size on average, old ones of the sizes that their labels tell: as far as
/// labels differ by more than chance. What is labelled is missing among the unlabelled images.
ExpectedShares counted_shares(const MethodInput& input, MarginalScope scope);

}  // namespace protogcd
