#include "protogcd/nn/state_dict.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

constexpr std::pair<ElementType, at::ScalarType> kTypes[] = {
    {ElementType::kFloat64, at::kDouble}, {ElementType::kFloat32, at::kFloat},
    {ElementType::kFloat16, at::kHalf},   {ElementType::kBfloat16, at::kBFloat16},
    {ElementType::kInt64, at::kLong},     {ElementType::kInt32, at::kInt},
    {ElementType::kInt16, at::kShort},    {ElementType::kInt8, at::kChar},
    {ElementType::kUint8, at::kByte},     {ElementType::kBool, at::kBool}};

std::string nearest_note(const std::string& name, const std::vector<std::string>& names) {
  const auto nearest = nearest_name(name, names);
  return nearest ? fmt::format(" (nearest: {})", *nearest) : "";
}

/// A tensor without elements may still claim sizes whose product no number holds.
at::Tensor empty_tensor(const TensorEntry& entry, at::ScalarType type) {
  try {
    return at::empty(entry.shape, type);
  } catch (const c10::Error&) {
    throw ModelFileError(
        fmt::format("entry '{}': shape {} is too large", entry.name, entry.shape_text()));
  }
}

}  // namespace

const at::Tensor* StateDict::find(const std::string& name) const {
  const auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

at::ScalarType scalar_type_of(ElementType type) {
  return std::ranges::find(kTypes, type, &std::pair<ElementType, at::ScalarType>::first)->second;
}

ElementType element_type_of(at::ScalarType type) {
  const auto found =
      std::ranges::find(kTypes, type, &std::pair<ElementType, at::ScalarType>::second);
  if (found == std::end(kTypes))
    throw InternalError(fmt::format("no element type for {}", c10::toString(type)));
  return found->first;
}

at::Tensor tensor_of(const TensorEntry& entry, std::shared_ptr<const void> owner) {
  const at::ScalarType type = scalar_type_of(entry.type);
  auto* data = const_cast<std::byte*>(entry.bytes.data());
  if (entry.bytes.empty()) return empty_tensor(entry, type);
  // A view with byte alignment is first seen as bytes, then copied into memory of its own.
  if (reinterpret_cast<std::uintptr_t>(data) % element_size(entry.type) != 0) {
    at::Tensor copy = at::empty(entry.shape, type);
    std::copy(entry.bytes.begin(), entry.bytes.end(), static_cast<std::byte*>(copy.data_ptr()));
    return copy;
  }
  return at::from_blob(
      data, entry.shape, [owner = std::move(owner)](void*) {}, at::TensorOptions(type));
}

TensorEntry entry_of(const std::string& name, const at::Tensor& tensor) {
  if (!tensor.is_contiguous() || !tensor.is_cpu())
    throw InternalError(fmt::format("entry_of: '{}' must be contiguous", name));
  return {name,
          element_type_of(tensor.scalar_type()),
          tensor.sizes().vec(),
          {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}};
}

StateDict load_state_dict(const std::filesystem::path& path) {
  return state_of(open_weight_file(path), path.string());
}

StateDict state_of(const WeightFile& file, const std::string& origin) {
  StateDict state{.origin = origin, .tensors = {}, .metadata = file.metadata};
  for (const auto& entry : file.entries) state.tensors[entry.name] = tensor_of(entry, file.owner);
  return state;
}

std::vector<std::string> check_tensors(const StateDict& state,
                                       const std::vector<ExpectedTensor>& expected) {
  std::vector<std::string> unexpected, problems;
  std::map<std::string, const ExpectedTensor*> wanted;
  for (const auto& tensor : expected) wanted[tensor.name] = &tensor;
  for (const auto& [name, tensor] : state.tensors) {
    if (!wanted.contains(name)) unexpected.push_back(name);
  }
  for (const auto& [name, shape] : expected) {
    const at::Tensor* found = state.find(name);
    if (found == nullptr) {
      problems.push_back(fmt::format("missing: {} [{}]{}", name, join(shape, ", "),
                                     nearest_note(name, unexpected)));
    } else if (found->sizes() != at::IntArrayRef(shape)) {
      problems.push_back(fmt::format("wrong shape: {} is [{}], expected [{}]", name,
                                     join(found->sizes(), ", "), join(shape, ", ")));
    }
  }
  if (!problems.empty()) {
    for (const auto& name : unexpected) problems.push_back(fmt::format("unexpected: {}", name));
    throw ModelFileError(fmt::format("{}: the tensors do not fit the model: {}", state.origin,
                                     join(problems, "; ")));
  }
  return unexpected;
}

}  // namespace protogcd
