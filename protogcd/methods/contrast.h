// What GCD and the methods that build on it share: views and labels contrasted behind a projection,
// and classes that are clusters of the features in the end.
#pragma once

#include <cstdint>

#include "protogcd/methods/head_options.h"
#include "protogcd/methods/method_options.h"

namespace protogcd {

struct ContrastOptions {
  double sup_weight = 0.35;                                ///< share of the supervised contrast
  double unsup_temperature = 1.0, sup_temperature = 0.07;  ///< of the two contrasts
  std::int64_t wide_projection = 65536;                    ///< weight-normed last layer; 0: none
  HeadOptions head;

  void declare(OptionTable& table);
  /// One, or so many side by side, whose first weights differ from each other's and from the one's.
  Projection make(const MethodInput& input, std::int64_t stacked = 0) const;
};

struct ContrastLoss {
  at::Tensor total;  ///< (1 - sup_weight) unsup + sup_weight sup
  at::Tensor unsup, sup;
};

/// Of a stack of projections, with stacked rows [E, 2B, D] and labels [E, B]: the mean of theirs.
ContrastLoss contrast_loss(const Projection& projection, const ContrastOptions& options,
                           const StepBatch& batch, Communicator& communicator);

/// Semi-supervised k-means as the end of a method.
struct ClusterOptions {
  std::int64_t starts = 10;
  bool plain_seeding = false;  ///< as GCD's release draws first centroids

  void declare(OptionTable& table);
};

/// Options of a method that contrasts and ends in clusters.
struct ContrastMethodOptions : MethodOptions {
  ContrastOptions contrast;
  ClusterOptions clusters;

  void declare(OptionTable& table) override;
  std::vector<std::string> resolve(const MethodFacts& facts) override {
    return contrast.head.resolve(facts);
  }
  bool decays_all() const override { return true; }
  bool sees_labelled() const override { return true; }

 protected:
  /// With those that every release of them has: GCD's clusters and the width of its projection.
  std::vector<PublishedSetting> with_gcds(std::vector<PublishedSetting> settings) const;
};

/// Clusters of what the blocks have become: an unlabelled image is in the one that k-means put it
/// in, and a later image in the nearest.
class ClusterEnd {
 public:
  ClusterEnd(const ClusterOptions& options, const MethodInput& input)
      : options_(options),
        k_(input.k()),
        old_classes_(input.old_classes),
        seed_(input.seed),
        taken_(input.taken) {}

  Outcome outcome(SetFeatures& sets) const;

 private:
  const ClusterOptions options_;
  const std::int64_t k_, old_classes_;
  const std::uint64_t seed_;
  const TakenHead taken_;
};

}  // namespace protogcd
