// Which device computes: turns `--device` into one that exists, or into an error that says what
// does.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace protogcd {

struct ComputeDevice {
  bool is_cuda = false;
  int index = 0;  ///< of the CUDA device

  std::string name() const;  ///< "cpu", "cuda:0"
};

/// auto: the first CUDA device, else the CPU. cuda or cuda:N must exist: DeviceError, never a
/// silent CPU run.
ComputeDevice resolve_device(const std::string& choice);

/// How many CPU threads libtorch computes with.
void set_compute_threads(std::size_t threads);

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

std::string torch_version();
std::string cpu_capability();  ///< the vector instructions libtorch uses, e.g. "AVX512"
std::vector<std::string> cuda_device_names();

}  // namespace protogcd
