// For methods that look at no whole set of images.
#pragma once

#include <ATen/ATen.h>

#include "protogcd/methods/method.h"

namespace protogcd::testing {

class NoSets : public SetFeatures {
 public:
  std::int64_t count(SampleSet) const override { return 0; }
  void for_each(SampleSet, const std::function<void(const at::Tensor&)>&) override {}
  at::Tensor labels() const override { return at::empty({0}, at::kLong); }
};

}  // namespace protogcd::testing
