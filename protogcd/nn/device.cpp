#include "protogcd/nn/device.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/core.h>

#include <cstdlib>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"
#include "protogcd/nn/torch_version.h"

namespace protogcd {
namespace {

constexpr const char* kWorkspaceVariable = "CUBLAS_WORKSPACE_CONFIG";

}  // namespace

int cuda_device_count() {
  return at::hasCUDA() ? static_cast<int>(at::detail::getCUDAHooks().deviceCount()) : 0;
}

std::string ComputeDevice::name() const {
  return is_cuda ? fmt::format("cuda:{}", index) : "cpu";
}

ComputeDevice resolve_device(const std::string& choice) {
  if (choice == "cpu") return {};
  const int count = cuda_device_count();
  if (choice == "auto") return {.is_cuda = count > 0};
  std::int64_t index = 0;
  if (choice.starts_with("cuda:")) {
    index = parse_integer(std::string_view(choice).substr(5)).value_or(-1);
  } else if (choice != "cuda") {
    index = -1;
  }
  if (index < 0) {
    throw UsageError(fmt::format("{}: '{}' is not allowed: expected auto, cpu, cuda or cuda:N",
                                 option_name("device"), choice));
  }
  if (index >= count) {
    throw DeviceError(
        fmt::format("{}: '{}' was asked for, but {} CUDA device(s) are visible to libtorch {}",
                    option_name("device"), choice, count, TORCH_VERSION),
        fmt::format("use {} cpu, or build against a CUDA torch (TORCH_DIR=...)",
                    option_name("device")));
  }
  return {.is_cuda = true, .index = static_cast<int>(index)};
}

ComputeThreads::ComputeThreads(std::size_t threads) : before_(at::get_num_threads()) {
  at::set_num_threads(static_cast<int>(threads));
}

ComputeThreads::~ComputeThreads() {
  at::set_num_threads(before_);
}

DeterministicMode::DeterministicMode(bool wanted)
    : wanted_(wanted),
      algorithms_(at::globalContext().deterministicAlgorithms()),
      warn_only_(at::globalContext().deterministicAlgorithmsWarnOnly()),
      cudnn_(at::globalContext().deterministicCuDNN()) {
  if (!wanted_) return;
  sets_workspace_ = std::getenv(kWorkspaceVariable) == nullptr;  // what the user set stays
  if (sets_workspace_) ::setenv(kWorkspaceVariable, ":4096:8", /*overwrite=*/1);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  at::globalContext().setDeterministicCuDNN(true);
}

DeterministicMode::~DeterministicMode() {
  if (!wanted_) return;
  at::globalContext().setDeterministicAlgorithms(algorithms_, warn_only_);
  at::globalContext().setDeterministicCuDNN(cudnn_);
  if (sets_workspace_) ::unsetenv(kWorkspaceVariable);
}

Tf32Products::Tf32Products(bool wanted) : before_(at::globalContext().allowTF32CuBLAS()) {
  if (wanted) at::globalContext().setAllowTF32CuBLAS(true);
}

Tf32Products::~Tf32Products() {
  at::globalContext().setAllowTF32CuBLAS(before_);
}

std::string torch_version() {
  return TORCH_VERSION;
}

std::string cpu_capability() {
  return at::get_cpu_capability();
}

std::vector<std::string> cuda_device_names() {
  std::vector<std::string> names;
  for (int index = 0; index < cuda_device_count(); ++index)
    names.push_back(fmt::format("cuda:{}", index));
  return names;
}

}  // namespace protogcd
