// Main memory that a GPU reads by itself.
#pragma once

#include <ATen/core/Tensor.h>

namespace protogcd {

/// Takes what is asked for and no more, where libtorch's own pinned memory is rounded up to a power
/// of two. DeviceError where it is not to be had.
at::Tensor make_pinned(at::IntArrayRef sizes, at::ScalarType type);

}  // namespace protogcd
