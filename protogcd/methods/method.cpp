#include "protogcd/methods/method.h"

#include <ATen/ATen.h>

namespace protogcd {

EpochScalar::EpochScalar(at::ScalarType type, at::Device device)
    : value_(at::zeros({}, at::device(device).dtype(type))) {}

}  // namespace protogcd
