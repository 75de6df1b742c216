// Mixed precision: while it lives, matrix products on the device compute in the given type, on
// converted copies of float32 operands; sums, norms and gradients of the weights stay float32.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

namespace protogcd {

class Autocast {
 public:
  Autocast(c10::DeviceType device, c10::ScalarType type);
  /// Forgets the converted weights as well: the next step has others.
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType device_;
  bool enabled_before_;
  c10::ScalarType type_before_;
};

}  // namespace protogcd
