// Named tensors of a model, read from a weight file without copying: a tensor is a view into the
// mapped file.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "protogcd/core/tensor_entry.h"
#include "protogcd/core/weight_file.h"

namespace protogcd {

struct StateDict {
  std::string origin;  ///< the file, for messages
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, std::string> metadata = {};  ///< the file's notes about itself

  const at::Tensor* find(const std::string& name) const;
};

/// Opens safetensors, or PyTorch's .pth/.pt, whichever the content is. Tensors keep the mapped file
/// alive.
StateDict load_state_dict(const std::filesystem::path& path);
StateDict state_of(const WeightFile& file, const std::string& origin);

at::ScalarType scalar_type_of(ElementType type);
ElementType element_type_of(at::ScalarType type);

/// A view of an entry's bytes that keeps `owner` alive; copied only where the bytes are not aligned
/// for the type.
at::Tensor tensor_of(const TensorEntry& entry, std::shared_ptr<const void> owner);
/// The bytes of a contiguous CPU tensor, which must outlive the entry.
TensorEntry entry_of(const std::string& name, const at::Tensor& tensor);

/// One size that a list of needed tensors has wrong: missing, unexpected or wrongly shaped, all
/// reported together.
struct ExpectedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// Throws one ModelFileError that lists every missing tensor (with the nearest name there is) and
/// every wrong shape. Tensors nobody asked for are returned, for a warning: a classifier head on a
/// backbone is no error.
std::vector<std::string> check_tensors(const StateDict& state,
                                       const std::vector<ExpectedTensor>& expected);

}  // namespace protogcd
