// A method that uses what the seam offers and no real one needs all of: a number of the epoch, kept
// state, two streams of batches, and an end by clustering.
#pragma once

#include "protogcd/methods/method_options.h"

namespace protogcd::testing {

struct ToyOptions : MethodOptions {
  double pull = 0.1;

  std::string name() const override { return "toy"; }
  std::unique_ptr<MethodOptions> copy() const override {
    return std::make_unique<ToyOptions>(*this);
  }
  void declare(OptionTable& table) override;
  bool sees_labelled() const override { return true; }
  std::int64_t views_per_step(std::int64_t batch) const override { return 2 * (batch + 4); }
  std::unique_ptr<Method> make(const MethodInput& input) const override;
};

}  // namespace protogcd::testing
