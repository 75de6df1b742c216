// The only place that knows about differences between libtorch versions (2.11 to 2.13 are tested).
#pragma once

#include <torch/version.h>

#if TORCH_VERSION_MAJOR < 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 11)
#error "libtorch 2.11 or newer is needed"
#endif
