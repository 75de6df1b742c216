// How a piece of work is done whatever it is: where, with how many threads, from which seed, and
// how patient with images that cannot be read.
#pragma once

#include <cstdint>
#include <string>

#include "protogcd/core/bad_image_policy.h"
#include "protogcd/core/options.h"

namespace protogcd {

struct MachineOptions {
  std::string device = "auto";
  std::string dtype = "auto";
  std::int64_t threads = 0;  ///< 0: all
  std::uint64_t seed = 0;
  std::string bad_images = "skip";
  std::string max_bad = BadImagePolicy::kUsualLimit;
};

void declare_machine_options(OptionTable& table, MachineOptions& options);

}  // namespace protogcd
