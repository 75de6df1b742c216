// The frozen trunk in ordinary PyTorch, in a Python process beside the program: what ours is
// measured against.
#pragma once

#include <optional>

#include "protogcd/cli/python_process.h"
#include "protogcd/nn/vit_config.h"

namespace protogcd::cli {

struct TorchTrunkSetting {
  std::string python;
  VitConfig config;
  std::int64_t image_size = 224;
  std::string type;    ///< "float32", "bfloat16", ...
  std::string device;  ///< "cpu", "cuda:0"
  std::size_t threads = 1;
};

/// How PyTorch is asked to run the model.
struct TorchVariant {
  std::string mode;  ///< "eager", or "compile" for torch.compile
  std::int64_t batch = 0;

  std::string name() const { return mode + " " + std::to_string(batch); }
};

class TorchTrunk {
 public:
  explicit TorchTrunk(const TorchTrunkSetting& setting);

  const std::string& version() const { return version_; }
  /// Images per second of one run on random images; the first of a variant is preceded by
  /// warm-up. Nothing where PyTorch cannot do it here (no compiler, no memory).
  std::optional<double> images_per_second(const TorchVariant& variant);
  /// The fastest of several, each tried a few times; throws UsageError where none runs.
  TorchVariant fastest(const std::vector<TorchVariant>& variants);

 private:
  PythonProcess process_;
  std::string version_;
};

}  // namespace protogcd::cli
