// Which device computes: turns a choice into one that exists, or into an error that says what does.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "protogcd/core/context.h"

namespace protogcd {

struct ComputeDevice {
  bool is_cuda = false;
  int index = 0;  ///< of the CUDA device

  std::string name() const;  ///< "cpu", "cuda:0"
};

/// 0 where this libtorch or machine has none.
int cuda_device_count();

/// auto: the first CUDA device, else the CPU. cuda or cuda:N must exist: DeviceError, never a
/// silent CPU run.
ComputeDevice resolve_device(const std::string& choice);

// Settings of libtorch that the whole process shares. Who needs one holds an object; when it ends,
// the setting is again what it was.

/// While it lives, libtorch computes with so many CPU threads in this thread, and in those that
/// begin.
class ComputeThreads {
 public:
  explicit ComputeThreads(std::size_t threads);
  ~ComputeThreads();
  ComputeThreads(const ComputeThreads&) = delete;
  ComputeThreads& operator=(const ComputeThreads&) = delete;

 private:
  int before_;
};

/// While it lives, CUDA computes the same bits every time, if it is `wanted`. cuBLAS reads its
/// environment variable when it makes the workspace of a stream: one that was made before keeps its
/// size, and one that is made while this lives stays reproducible after it.
class DeterministicMode {
 public:
  explicit DeterministicMode(bool wanted);
  ~DeterministicMode();
  DeterministicMode(const DeterministicMode&) = delete;
  DeterministicMode& operator=(const DeterministicMode&) = delete;

 private:
  const bool wanted_;
  bool algorithms_, warn_only_, cudnn_;
  bool sets_workspace_ = false;
};

/// While it lives, matrix products of float32 numbers on CUDA round their operands to TF32 (10
/// bits), if it is `wanted`: several times faster, and what the published runs did.
class Tf32Products {
 public:
  explicit Tf32Products(bool wanted);
  ~Tf32Products();
  Tf32Products(const Tf32Products&) = delete;
  Tf32Products& operator=(const Tf32Products&) = delete;

 private:
  bool before_;
};

/// Both, as the context asks for them.
class ComputeSettings {
 public:
  explicit ComputeSettings(const Context& context)
      : threads_(context.threads),
        tf32_(context.dtype == "tf32" && resolve_device(context.device).is_cuda) {}

 private:
  ComputeThreads threads_;
  Tf32Products tf32_;
};

std::string torch_version();
std::string cpu_capability();  ///< the vector instructions libtorch uses, e.g. "AVX512"
std::vector<std::string> cuda_device_names();

}  // namespace protogcd
