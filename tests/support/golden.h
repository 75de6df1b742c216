// The golden numbers: results of the published code, in the folder named by PROTOGCD_GOLDEN
// (default tests/golden).
#pragma once

#include <filesystem>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "protogcd/core/json.h"
#include "protogcd/core/safetensors.h"

namespace protogcd::testing {

std::filesystem::path golden_folder();
/// golden.json, parsed.
nlohmann::json golden_json();
/// The same of other methods than the project's own: baselines/baselines.json.
nlohmann::json baselines_json();

/// An entry's elements copied out as T, whose size must be that of the stored type.
template <class T>
std::vector<T> values_of(const TensorEntry& entry) {
  if (sizeof(T) != element_size(entry.type))
    throw std::runtime_error(entry.name + ": another type");
  std::vector<T> values(entry.element_count());
  std::copy(entry.bytes.begin(), entry.bytes.end(),
            std::as_writable_bytes(std::span(values)).begin());
  return values;
}

}  // namespace protogcd::testing
