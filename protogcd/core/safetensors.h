// Reader and writer of the safetensors format: 8-byte header length, JSON header, raw data.
// Everything a header claims is checked before use: a damaged or hostile file gives a
// ModelFileError with file, entry and offset.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protogcd/core/mapped_file.h"
#include "protogcd/core/tensor_entry.h"

namespace protogcd {

/// A memory-mapped safetensors file. Opening reads the header alone.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(MappedFile file);
  explicit SafetensorsFile(const std::filesystem::path& path) : SafetensorsFile(MappedFile(path)) {}
  /// For tests and fuzzing: bytes that must outlive the object; `name` stands for the file in
  /// messages.
  SafetensorsFile(std::span<const std::byte> bytes, const std::string& name);

  const std::vector<TensorEntry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const TensorEntry* find(std::string_view name) const;
  /// The entry, or a ModelFileError that names file and entry.
  const TensorEntry& at(std::string_view name) const;

 private:
  void parse(std::span<const std::byte> bytes);

  std::string name_;
  std::optional<MappedFile> file_;
  std::vector<TensorEntry> entries_;  ///< in the order of their data
  std::map<std::string, std::string> metadata_;
};

/// Writes entries in the given order; the file appears only when complete.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorEntry> entries,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace protogcd
