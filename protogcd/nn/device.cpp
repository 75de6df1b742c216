#include "protogcd/nn/device.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"
#include "protogcd/nn/torch_version.h"

namespace protogcd {
namespace {

int cuda_device_count() {
  return at::hasCUDA() ? static_cast<int>(at::detail::getCUDAHooks().deviceCount()) : 0;
}

}  // namespace

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

void set_compute_threads(std::size_t threads) {
  at::set_num_threads(static_cast<int>(threads));
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
