// MATLAB's v5 .mat files, as far as Stanford Cars and SVHN need them: numeric and text arrays and
// arrays of structs, plain or compressed. Our own reader: the formats' public library has a long
// history of memory errors on hostile files, and these few array kinds need no library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace protogcd {

/// A value of a .mat file. Arrays are in MATLAB's order: the first dimension varies fastest.
struct MatlabArray {
  enum class Kind { kNumeric, kText, kStruct, kOther };
  Kind kind = Kind::kOther;
  std::string name;
  std::vector<std::size_t> dimensions;
  std::vector<double> numbers;        ///< numeric, except 8-bit unsigned
  std::span<const std::byte> bytes;   ///< numeric of 8-bit unsigned type: the raw elements
  std::string text;                   ///< text, in UTF-8
  std::vector<std::string> fields;    ///< struct: the fields' names
  std::vector<MatlabArray> elements;  ///< struct: element-major, fields.size() values each

  std::size_t element_count() const;
  /// A struct's field; nullptr if there is none of that name.
  const MatlabArray* field(std::size_t element, std::string_view field_name) const;
};

class MatlabFile {
 public:
  /// Throws DataError naming file, array and offset: damaged or hostile files, v4 and v7.3 files.
  explicit MatlabFile(const std::filesystem::path& path);
  /// For tests and fuzzing: bytes that must outlive the object.
  MatlabFile(std::span<const std::byte> bytes, std::string name);

  /// The array of that name; DataError lists those there are.
  const MatlabArray& at(std::string_view array) const;
  const std::vector<MatlabArray>& arrays() const { return arrays_; }
  /// Keeps what arrays' bytes point into.
  std::shared_ptr<const void> storage() const { return storage_; }

 private:
  struct Storage;
  void parse(std::span<const std::byte> bytes);

  std::string name_;
  std::shared_ptr<Storage> storage_;
  std::vector<MatlabArray> arrays_;
};

}  // namespace protogcd
