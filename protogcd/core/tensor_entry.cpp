#include "protogcd/core/tensor_entry.h"

#include <fmt/core.h>

#include <limits>

#include "protogcd/core/text.h"

namespace protogcd {

std::size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::kFloat64:
    case ElementType::kInt64:
      return 8;
    case ElementType::kFloat32:
    case ElementType::kInt32:
      return 4;
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
    case ElementType::kInt16:
      return 2;
    case ElementType::kInt8:
    case ElementType::kUint8:
    case ElementType::kBool:
      break;
  }
  return 1;
}

std::string_view element_name(ElementType type) {
  constexpr std::string_view kNames[] = {"float64", "float32", "float16", "bfloat16", "int64",
                                         "int32",   "int16",   "int8",    "uint8",    "bool"};
  return kNames[static_cast<int>(type)];
}

std::string TensorEntry::shape_text() const {
  return fmt::format("[{}]", join(shape, ", "));
}

std::optional<std::uint64_t> checked_byte_count(std::span<const std::int64_t> shape,
                                                ElementType type) {
  std::uint64_t count = element_size(type);
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    const auto factor = static_cast<std::uint64_t>(size);
    if (factor != 0 && count > std::numeric_limits<std::uint64_t>::max() / factor)
      return std::nullopt;
    count *= factor;
  }
  return count;
}

}  // namespace protogcd
