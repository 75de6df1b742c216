// The Prototype Score (paper, section IV): how well a model's number of classes fits the data.
//
//   accScore    share of labelled images whose nearest prototype is that of their class; falls when
//               there are too many prototypes
//   centrScore  product over the old classes of c_l . c_u, the means of the unit features of the
//               labelled images and of the unlabelled ones predicted so (not normalised again);
//               falls when there are too few
//   protoScore  accScore x centrScore
//
// In logarithms, as a product over hundreds of classes underflows.
#pragma once

#include "protogcd/training/candidate.h"

namespace protogcd {

struct PrototypeScore {
  double accuracy = 0;       ///< accScore
  double log_centroids = 0;  ///< log centrScore; minus infinity where a factor is not positive, or
                             ///< no unlabelled image falls into an old class
  double log_score() const;  ///< log protoScore
};

/// labels [N_l] int64 of the labelled images, all in 0 .. old_classes - 1; every class has one.
PrototypeScore prototype_score(const Candidate& candidate, const at::Tensor& labels,
                               std::int64_t old_classes);

}  // namespace protogcd
