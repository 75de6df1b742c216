// PyTorch's .pth/.pt files (the zip format of PyTorch 1.6 and newer), read without executing
// anything: the pickle's calls become values, and only the types a state_dict is made of are let
// through.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protogcd/core/mapped_file.h"
#include "protogcd/core/tensor_entry.h"

namespace protogcd {

/// A memory-mapped .pth file. Opening reads the directory and the pickle, not the tensors. Tensors
/// inside nested dicts are named by their path: "teacher.backbone.cls_token"; one that was saved
/// alone is "tensor". Throws ModelFileError with file, entry and offset.
class PthFile {
 public:
  explicit PthFile(MappedFile file);
  explicit PthFile(const std::filesystem::path& path) : PthFile(MappedFile(path)) {}
  /// For tests and fuzzing: bytes that must outlive the object.
  PthFile(std::span<const std::byte> bytes, const std::string& name);

  const std::vector<TensorEntry>& entries() const { return entries_; }

  /// Whether the bytes begin like a zip file (what PyTorch writes) rather than something else.
  static bool looks_like_one(std::span<const std::byte> bytes);

 private:
  void parse(std::span<const std::byte> bytes, const std::string& name);

  std::optional<MappedFile> file_;
  std::vector<TensorEntry> entries_;
  std::vector<std::unique_ptr<std::vector<std::byte>>>
      rearranged_;  ///< tensors whose strides are not row-major
};

}  // namespace protogcd
