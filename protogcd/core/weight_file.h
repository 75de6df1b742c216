// A file of named tensors in either format, told apart by its content: safetensors or PyTorch's
// .pth/.pt.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protogcd/core/tensor_entry.h"

namespace protogcd {

enum class WeightFormat { kSafetensors, kPytorch };

std::string_view weight_format_name(WeightFormat format);

struct WeightFile {
  WeightFormat format = WeightFormat::kSafetensors;
  std::vector<TensorEntry> entries;             ///< in the file's order
  std::map<std::string, std::string> metadata;  ///< of safetensors
  std::shared_ptr<const void> owner;            ///< what keeps the entries' bytes alive
};

/// Maps the file once; opening is not reading. ModelFileError with file, entry and offset. What is
/// often taken for a weight file (a web page, a git-lfs pointer, files of old PyTorch versions) is
/// named for what it is.
WeightFile open_weight_file(const std::filesystem::path& path);

}  // namespace protogcd
