// A named array inside a file, as bytes with a type and a shape: what every array format here reads
// into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace protogcd {

enum class ElementType {
  kFloat64,
  kFloat32,
  kFloat16,
  kBfloat16,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUint8,
  kBool
};

std::size_t element_size(ElementType type);
std::string_view element_name(ElementType type);  ///< "float32"

struct TensorEntry {
  std::string name;
  ElementType type = ElementType::kFloat32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  ///< row-major, little-endian; need not be aligned

  std::size_t element_count() const { return bytes.size() / element_size(type); }
  std::string shape_text() const;  ///< "[192, 64]"
};

/// Product of the sizes times the element's bytes; nothing if a size is negative or the product
/// does not fit.
std::optional<std::uint64_t> checked_byte_count(std::span<const std::int64_t> shape,
                                                ElementType type);

}  // namespace protogcd
