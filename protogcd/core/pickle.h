// A restricted reader of Python pickles, for CIFAR's python files and PyTorch's .pth files. Nothing
// is ever executed: calls become values that name their function, and only functions on the
// caller's list are let through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protogcd/core/error.h"

namespace protogcd {

/// One value. Values belong to their PickleDocument and point at each other within it; a hostile
/// file can make them nest deeply or form cycles, so code that walks them must not recurse freely.
struct PickleValue {
  enum class Kind {
    kNone,
    kBool,  ///< integer is 0 or 1
    kInteger,
    kReal,
    kBytes,  ///< Python 2's str and Python 3's bytes
    kText,   ///< unicode
    kList,
    kTuple,
    kDict,        ///< items are key, value, key, value, ...
    kGlobal,      ///< text is "module.name"
    kObject,      ///< text is "module.name" of what was called with `arguments`
    kPersistent,  ///< arguments is the persistent id (PyTorch: the storage)
  };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text;                  ///< into the input, or into the document
  std::vector<const PickleValue*> items;  ///< list, tuple, dict; an object's dict entries
  const PickleValue* arguments = nullptr;
  const PickleValue* state = nullptr;  ///< what BUILD gave an object

  bool is(Kind expected) const { return kind == expected; }
  /// Text or bytes.
  bool is_string() const { return kind == Kind::kBytes || kind == Kind::kText; }
  /// The value of a dict's (or dict-like object's) string key; nullptr if there is none.
  const PickleValue* find(std::string_view key) const;
};

std::string_view pickle_kind_name(PickleValue::Kind kind);

struct PickleOptions {
  /// Functions and classes the file may name, as "module.name".
  std::span<const std::string_view> allowed_globals = {};
  /// What the thrown error is: data (CIFAR) or a model file (.pth).
  ErrorKind error_kind = ErrorKind::kData;
  std::size_t most_values = 4'000'000;
  std::size_t most_open_marks = 1000;
};

/// Reads one pickle (protocols 2 to 5). Long strings are views into the bytes, which must outlive
/// the document. Throws a DataError or ModelFileError with name and offset.
class PickleDocument {
 public:
  PickleDocument(std::string_view bytes, const std::string& name, const PickleOptions& options);
  PickleDocument(const PickleDocument&) = delete;
  PickleDocument& operator=(const PickleDocument&) = delete;

  const PickleValue& root() const { return *root_; }
  /// Bytes up to and including the end mark: where a following pickle would begin.
  std::size_t size() const { return size_; }

 private:
  friend class PickleReader;
  // Owned here in one flat list: shared values need no counting, cycles cannot leak, and destroying
  // a deeply nested document does not recurse.
  std::deque<PickleValue> values_;
  std::deque<std::string> names_;
  const PickleValue* root_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace protogcd
