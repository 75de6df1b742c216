#include "protogcd/core/pth_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>

#include "protogcd/core/error.h"
#include "protogcd/core/pickle.h"
#include "protogcd/core/zip_archive.h"

namespace protogcd {
namespace {

using PickleKind = PickleValue::Kind;

struct StorageType {
  std::string_view name;
  ElementType type;
};

constexpr StorageType kStorageTypes[] = {{"torch.DoubleStorage", ElementType::kFloat64},
                                         {"torch.FloatStorage", ElementType::kFloat32},
                                         {"torch.HalfStorage", ElementType::kFloat16},
                                         {"torch.BFloat16Storage", ElementType::kBfloat16},
                                         {"torch.LongStorage", ElementType::kInt64},
                                         {"torch.IntStorage", ElementType::kInt32},
                                         {"torch.ShortStorage", ElementType::kInt16},
                                         {"torch.CharStorage", ElementType::kInt8},
                                         {"torch.ByteStorage", ElementType::kUint8},
                                         {"torch.BoolStorage", ElementType::kBool}};

// Everything a file may name. argparse.Namespace stands in training checkpoints beside the weights;
// like all the others it is only a name here.
constexpr std::string_view kAllowedGlobals[] = {"collections.OrderedDict",
                                                "torch._utils._rebuild_tensor_v2",
                                                "torch._utils._rebuild_parameter",
                                                "argparse.Namespace",
                                                "torch.DoubleStorage",
                                                "torch.FloatStorage",
                                                "torch.HalfStorage",
                                                "torch.BFloat16Storage",
                                                "torch.LongStorage",
                                                "torch.IntStorage",
                                                "torch.ShortStorage",
                                                "torch.CharStorage",
                                                "torch.ByteStorage",
                                                "torch.BoolStorage"};

constexpr std::size_t kMostEntries = 1'000'000;
constexpr int kDeepestDict = 8;
constexpr std::size_t kLongestName = 1000;

struct Storage {
  std::string_view key;
  ElementType type = ElementType::kFloat32;
  std::span<const std::byte> bytes;
};

class Reader {
 public:
  Reader(const ZipArchive& archive, std::string root, const std::string& name,
         std::uint64_t file_bytes, std::uint64_t pickle_bytes)
      : archive_(archive),
        root_(std::move(root)),
        name_(name),
        visit_budget_(2 * pickle_bytes),
        copy_budget_(2 * file_bytes) {}

  std::vector<TensorEntry> entries;
  std::vector<std::unique_ptr<std::vector<std::byte>>> rearranged;

  /// Collects the tensors of what was saved: one alone, or those of a dict.
  void collect(const PickleValue& content) {
    if (is_tensor(content))
      entries.push_back(tensor(content, "tensor"));
    else
      collect(content, "", 0);
  }

 private:
  /// Collects the tensors of a dict and of the dicts inside it.
  void collect(const PickleValue& value, const std::string& prefix, int depth) {
    if (depth > kDeepestDict) throw ModelFileError(fmt::format("{}: nested too deeply", name_));
    for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
      // A dict may occur any number of times inside others: a small file can describe a huge tree.
      // One that is a tree has fewer entries than bytes.
      if (visit_budget_-- == 0) throw ModelFileError(fmt::format("{}: too many entries", name_));
      const PickleValue& key = *value.items[i];
      const PickleValue& item = *value.items[i + 1];
      const std::string key_text =
          key.is_string() ? std::string(key.text) : fmt::format("{}", key.integer);
      if (!key.is_string() && !key.is(PickleKind::kInteger)) continue;
      const std::string name = prefix + key_text;
      if (name.size() > kLongestName) {
        throw ModelFileError(fmt::format("{}: entry '{}...': its name has {} characters", name_,
                                         name.substr(0, 100), name.size()));
      }
      if (is_tensor(item)) {
        if (!names_.insert(name).second)
          throw ModelFileError(fmt::format("{}: entry '{}' occurs twice", name_, name));
        if (entries.size() >= kMostEntries)
          throw ModelFileError(fmt::format("{}: too many tensors", name_));
        entries.push_back(tensor(item, name));
      } else if (item.is(PickleKind::kDict) || is_call(item, "collections.OrderedDict")) {
        collect(item, name + ".", depth + 1);
      }
    }
  }

  [[noreturn]] void fail(const std::string& entry, std::string_view reason) const {
    throw ModelFileError(fmt::format("{}: entry '{}': {}", name_, entry, reason));
  }

  static bool is_call(const PickleValue& value, std::string_view function) {
    return value.is(PickleKind::kObject) && value.text == function;
  }

  static bool is_tensor(const PickleValue& value) {
    return is_call(value, "torch._utils._rebuild_tensor_v2") ||
           is_call(value, "torch._utils._rebuild_parameter");
  }

  /// ('storage', type, key, location, count)
  Storage storage(const PickleValue& value, const std::string& entry) const {
    const PickleValue* id = value.is(PickleKind::kPersistent) ? value.arguments : nullptr;
    if (id == nullptr || !id->is(PickleKind::kTuple) || id->items.size() != 5 ||
        !id->items[0]->is_string() || id->items[0]->text != "storage" ||
        !id->items[1]->is(PickleKind::kGlobal) || !id->items[2]->is_string() ||
        !id->items[4]->is(PickleKind::kInteger)) {
      fail(entry, "not backed by a storage");
    }
    const auto type = std::ranges::find(kStorageTypes, id->items[1]->text, &StorageType::name);
    if (type == std::end(kStorageTypes))
      fail(entry, fmt::format("unknown storage type '{}'", id->items[1]->text));
    const auto record =
        archive_.records().find(fmt::format("{}data/{}", root_, id->items[2]->text));
    if (record == archive_.records().end())
      fail(entry, fmt::format("no record 'data/{}'", id->items[2]->text));
    const auto bytes = record->second.bytes;
    const std::array count = {id->items[4]->integer};
    const auto claimed = checked_byte_count(count, type->type);
    if (!claimed || *claimed != bytes.size()) {
      fail(entry,
           fmt::format("claims {} elements of {}, but its record 'data/{}' has {} bytes", count[0],
                       element_name(type->type), id->items[2]->text, bytes.size()));
    }
    return {id->items[2]->text, type->type, bytes};
  }

  std::vector<std::int64_t> sizes(const PickleValue& value, const std::string& entry) const {
    if (!value.is(PickleKind::kTuple) || value.items.size() > 16)
      fail(entry, "sizes or strides are no tuple");
    std::vector<std::int64_t> result;
    for (const PickleValue* item : value.items) {
      if (!item->is(PickleKind::kInteger) || item->integer < 0)
        fail(entry, "a size or stride is no natural number");
      result.push_back(item->integer);
    }
    return result;
  }

  /// _rebuild_tensor_v2(storage, offset, size, stride, ...), possibly inside
  /// _rebuild_parameter(tensor, ...).
  TensorEntry tensor(const PickleValue& value, const std::string& entry) {
    const PickleValue* call = &value;
    if (is_call(*call, "torch._utils._rebuild_parameter")) {
      if (call->arguments == nullptr || call->arguments->items.empty())
        fail(entry, "a parameter without a tensor");
      call = call->arguments->items[0];
    }
    if (!is_call(*call, "torch._utils._rebuild_tensor_v2") || call->arguments == nullptr ||
        call->arguments->items.size() < 4 || !call->arguments->items[1]->is(PickleKind::kInteger)) {
      fail(entry, "not a tensor as PyTorch writes it");
    }
    const auto& arguments = call->arguments->items;
    const Storage source = storage(*arguments[0], entry);
    const auto shape = sizes(*arguments[2], entry), strides = sizes(*arguments[3], entry);
    if (shape.size() != strides.size()) fail(entry, "as many strides as sizes are needed");
    const auto byte_count = checked_byte_count(shape, source.type);
    // A tensor larger than its storage repeats elements (stride 0): nothing a weight file needs,
    // and a way to ask for any amount of memory.
    if (!byte_count || *byte_count > source.bytes.size()) fail(entry, "is larger than its storage");
    const std::uint64_t offset = first_byte(arguments[1]->integer, shape, strides, source, entry);
    if (*byte_count == 0 || is_row_major(shape, strides)) {
      return {entry, source.type, shape, source.bytes.subspan(offset, *byte_count)};
    }
    // Any number of tensors may share one storage; what is copied stays in proportion to the file.
    if (*byte_count > copy_budget_) fail(entry, "too many tensors are views of one storage");
    copy_budget_ -= *byte_count;
    rearranged.push_back(
        std::make_unique<std::vector<std::byte>>(row_major_copy(source, offset, shape, strides)));
    return {entry, source.type, shape, *rearranged.back()};
  }

  /// The offset in bytes, once offset and strides are known to stay inside the storage.
  std::uint64_t first_byte(std::int64_t offset, const std::vector<std::int64_t>& shape,
                           const std::vector<std::int64_t>& strides, const Storage& source,
                           const std::string& entry) const {
    const auto elements =
        static_cast<std::int64_t>(source.bytes.size() / element_size(source.type));
    if (offset < 0 || offset > elements)
      fail(entry, fmt::format("offset {} lies outside its storage", offset));
    if (std::ranges::find(shape, 0) != shape.end()) return 0;
    std::int64_t last = offset;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t step = 0;
      if (__builtin_mul_overflow(shape[i] - 1, strides[i], &step) ||
          __builtin_add_overflow(last, step, &last)) {
        fail(entry, "strides are too large");
      }
    }
    if (last >= elements)
      fail(entry, fmt::format("reaches element {} of a storage of {}", last, elements));
    return static_cast<std::uint64_t>(offset) * element_size(source.type);
  }

  static bool is_row_major(const std::vector<std::int64_t>& shape,
                           const std::vector<std::int64_t>& strides) {
    std::int64_t expected = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (shape[i] != 1 && strides[i] != expected) return false;
      expected *= shape[i];
    }
    return true;
  }

  static std::vector<std::byte> row_major_copy(const Storage& source, std::uint64_t offset,
                                               const std::vector<std::int64_t>& shape,
                                               const std::vector<std::int64_t>& strides) {
    const std::size_t element = element_size(source.type);
    std::vector<std::byte> result(*checked_byte_count(shape, source.type));
    std::vector<std::int64_t> index(shape.size());
    for (std::size_t at = 0; at < result.size(); at += element) {
      std::int64_t from = 0;
      for (std::size_t i = 0; i < shape.size(); ++i) from += index[i] * strides[i];
      std::memcpy(result.data() + at,
                  source.bytes.data() + offset + static_cast<std::size_t>(from) * element, element);
      for (std::size_t i = shape.size(); i-- > 0 && ++index[i] == shape[i];) index[i] = 0;
    }
    return result;
  }

  const ZipArchive& archive_;
  std::string root_;
  const std::string& name_;
  std::set<std::string> names_;
  std::uint64_t visit_budget_;
  std::uint64_t copy_budget_;
};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

bool PthFile::looks_like_one(std::span<const std::byte> bytes) {
  return text_of(bytes).starts_with("PK\x03\x04");
}

PthFile::PthFile(MappedFile file) : file_(std::move(file)) {
  parse(file_->bytes(), file_->path().string());
}

PthFile::PthFile(std::span<const std::byte> bytes, const std::string& name) {
  parse(bytes, name);
}

void PthFile::parse(std::span<const std::byte> bytes, const std::string& name) {
  const ZipArchive archive(bytes, name);
  const auto pickle = std::ranges::find_if(archive.records(), [](const auto& record) {
    return record.first == "data.pkl" || record.first.ends_with("/data.pkl");
  });
  if (pickle == archive.records().end())
    throw ModelFileError(fmt::format("{}: no record 'data.pkl'", name));
  const std::string root =
      pickle->first.substr(0, pickle->first.size() - std::string_view("data.pkl").size());
  const auto order = archive.records().find(root + "byteorder");
  if (order != archive.records().end() && text_of(order->second.bytes) != "little") {
    throw ModelFileError(fmt::format("{}: written by a big-endian machine", name));
  }
  if (!ZipArchive::is_intact(pickle->second)) {
    throw ModelFileError(
        fmt::format("{}: record '{}' is damaged: its checksum is wrong", name, pickle->first));
  }
  const PickleDocument document(
      text_of(pickle->second.bytes), fmt::format("{}: record '{}'", name, pickle->first),
      {.allowed_globals = kAllowedGlobals, .error_kind = ErrorKind::kModelFile});
  const PickleValue& content = document.root();
  if (!content.is(PickleKind::kDict) && !content.is(PickleKind::kObject)) {
    throw ModelFileError(
        fmt::format("{}: holds a {}, not a state_dict", name, pickle_kind_name(content.kind)));
  }
  Reader reader(archive, root, name, bytes.size(), pickle->second.bytes.size());
  reader.collect(content);
  if (reader.entries.empty()) throw ModelFileError(fmt::format("{}: holds no tensors", name));
  entries_ = std::move(reader.entries);
  rearranged_ = std::move(reader.rearranged);
}

}  // namespace protogcd
