// Counting classes by nearest neighbours, as animals are counted by capture and recapture: labels
// are the marks. Of the nearest neighbours of a labelled image, the share a carries its label and
// the share b another one. With probability p a neighbour is of the image's own class, and then
// labelled with probability rho, the share of a class that is labelled; else it is any image of
// another class, and labelled as often as those are:
//
//   a = p rho        b = (1 - p) (N_l - w) / (N - w / rho)        w: labelled images of its class
//   =>  rho = (a - b w / (N_l - w)) / (1 - b N / (N_l - w))
//
// So an old class has (N_l / K_old) / rho images, and N images make K classes of that size. What
// this takes for granted: new classes are on average as large as old ones, lie among the others as
// these do, and labels were given without choosing images (docs/class-number.md).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "protogcd/core/stop.h"

namespace protogcd {

struct NeighbourCount {
  double k = 0;               ///< not rounded, at least the old classes
  double log_error = 0;       ///< standard error of log k, from leaving out one old class each
  double purity = 0;          ///< p
  double labelled_share = 0;  ///< rho
  double class_size = 0;      ///< images of a class, labelled and unlabelled
  /// Variance of log rho over the old classes, where all have nearly the same number of labels: as
  /// many labels for each class say nothing of sizes, and k is too large by up to this share.
  double size_doubt = 0;
  /// Deviation of the sizes of old classes, relative to their mean, as far as numbers of labels
  /// differ by more than chance. Where sizes differ, labelled classes may be the large ones, and k
  /// too small.
  double size_spread = 0;
  std::int64_t old_classes = 0;

  /// How far log k may be off, above and below, with this probability on each side.
  double log_margin(double normal_quantile) const;
};

/// Features [N_l, D] and [N_u, D], labels [N_l] int64. Nothing where fewer than two classes are
/// labelled, or no class has two labelled images: neighbours then say nothing.
std::optional<NeighbourCount> count_by_neighbours(const at::Tensor& labelled,
                                                  const at::Tensor& labels,
                                                  const at::Tensor& unlabelled,
                                                  const StopToken& stop = {});

}  // namespace protogcd
