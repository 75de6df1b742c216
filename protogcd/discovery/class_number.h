// How many classes are there? (paper, section IV; docs/class-number.md says which rule is how
// good.)
//
//   kNeighbours  The default. Nearest neighbours of labelled images by the backbone's own features
//                tell how large a class is, and so how many there are (neighbour_count.h). Trains
//                nothing. Where fewer than two classes or no second image of one are labelled,
//                kClusters.
//   kClusters    Two models with more prototypes than classes are likely are trained, and their
//                features clustered for every K: how distinct are the clusters (mean silhouette)?
//                Clusters of the features as they were before training: do they keep the labelled
//                classes whole (max-acc's accuracy)? K is where silhouette x accuracy^(1/4) is
//                highest. Without labelled images the silhouette decides alone; for a method that
//                does not train, that of the features as they are.
//   kPaper       Algorithm 1: a binary search for the highest Prototype Score, as published.
//   kMaxAcc, kSilhouette, kElbow, kInfomap, kGpc   others' ways (class_number_baselines.h)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "protogcd/discovery/class_number_search.h"
#include "protogcd/discovery/prototype_score.h"
#include "protogcd/run/class_number.h"
#include "protogcd/training/candidate.h"

namespace protogcd {

enum class ClassNumberRule {
  kNeighbours,
  kClusters,
  kPaper,
  kMaxAcc,
  kSilhouette,
  kElbow,
  kInfomap,
  kGpc
};

/// As an option has them: neighbours, clusters, paper, max-acc, silhouette, elbow, infomap, gpc.
std::string_view name_of(ClassNumberRule rule);
inline constexpr ClassNumberRule kClassNumberRules[] = {
    ClassNumberRule::kNeighbours, ClassNumberRule::kClusters,   ClassNumberRule::kPaper,
    ClassNumberRule::kMaxAcc,     ClassNumberRule::kSilhouette, ClassNumberRule::kElbow,
    ClassNumberRule::kInfomap,    ClassNumberRule::kGpc};

struct ClassNumberOptions {
  ClassNumberRule rule = ClassNumberRule::kNeighbours;
  /// Nothing: by neighbours, infomap and gpc, a fifth of the images; by max-acc 1,000, as
  /// published; else 3 K_old + 20 (100 where K_old is 0), at most a fifth of the images.
  std::optional<std::int64_t> k_max = {};
  std::int64_t epochs = 3;     ///< of a candidate of the Prototype Score, and
  std::int64_t min_steps = 1;  ///< never fewer steps than these
  /// Of a model whose features are clustered; nothing: 18 epochs, at least 450 and at most 1,000.
  std::optional<std::int64_t> cluster_steps = {};
  std::int64_t seeds = 1;  ///< repetitions, which narrow the noise
  /// Of a full run; what a candidate needs is set here.
  CandidateOptions model = {};
  /// Scores that were found before, of the same images and settings; and who keeps those that are
  /// found, all of them after every few.
  std::vector<ClassNumberPoint> known = {};
  std::function<void(const std::vector<ClassNumberPoint>&)> keep = {};
};

/// UsageError or DataError where there is nothing to estimate from: no unlabelled images, none that
/// are labelled for a rule that needs them, or a k_max below the old classes or above what the
/// images can tell.
void check_class_number(const TrainingSet& set, const ClassNumberOptions& options);
std::int64_t largest_class_number(const TrainingSet& set, const ClassNumberOptions& options);

/// Training steps that an estimate takes; how many a binary search takes is not known before.
std::int64_t estimate_steps(TrainingMaterial& material, const Backbone& backbone,
                            const ClassNumberOptions& options, const Context& context);

ClassNumber estimate_class_number(TrainingMaterial& material, const Backbone& backbone,
                                  const ClassNumberOptions& options, const Context& context);

/// All numbers in `ks`, each with every score.
std::vector<ClassNumberPoint> class_number_curve(TrainingMaterial& material,
                                                 const Backbone& backbone,
                                                 const ClassNumberOptions& options,
                                                 const std::vector<std::int64_t>& ks,
                                                 const Context& context);

/// Whether these images and this method allow a rule. Neighbours need two labelled classes, and a
/// second labelled image in one of them.
bool can_count(ClassNumberRule rule, const TrainingSet& set, const ClassNumberOptions& options);
/// The rule that is asked for; clusters where neighbours say nothing.
ClassNumberRule rule_for(const TrainingSet& set, const ClassNumberOptions& options);

/// Mean silhouette of semi-supervised k-means of a candidate's features, for each number of
/// clusters. labels [N_l] int64.
std::vector<double> silhouette_curve(const Candidate& candidate, const at::Tensor& labels,
                                     const std::vector<std::int64_t>& ks, std::uint64_t seed,
                                     const Context& context);

}  // namespace protogcd
