#include "protogcd/core/safetensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"

static_assert(std::endian::native == std::endian::little, "file formats here are little-endian");

namespace protogcd {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLargestJson =
    100'000'000;  // the limit of the format's own reference reader
constexpr std::size_t kSafetensorsAlignment = 8;

constexpr std::array<std::string_view, 10> kTypeNames = {"F64", "F32", "F16", "BF16", "I64",
                                                         "I32", "I16", "I8",  "U8",   "BOOL"};

std::optional<ElementType> type_of_name(std::string_view name) {
  const auto found = std::ranges::find(kTypeNames, name);
  if (found == kTypeNames.end()) return std::nullopt;
  return static_cast<ElementType>(found - kTypeNames.begin());
}

/// Parses JSON and refuses keys that occur twice in one object and deep nesting, which nlohmann's
/// parser would accept.
class StrictJson {
 public:
  explicit StrictJson(const std::string& name) : name_(name) {}

  nlohmann::json parse(std::string_view text) {
    const auto watch = [this](int depth, nlohmann::json::parse_event_t event,
                              nlohmann::json& value) { return check(depth, event, value); };
    try {
      return nlohmann::json::parse(text, watch);
    } catch (const nlohmann::json::exception& error) {
      throw ModelFileError(
          fmt::format("{}: header at offset {}: {}", name_, kLengthBytes, error.what()));
    }
  }

 private:
  bool check(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& value) {
    constexpr int kDeepest = 8;
    using Event = nlohmann::json::parse_event_t;
    if (depth > kDeepest)
      throw ModelFileError(fmt::format("{}: header is nested too deeply", name_));
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key && !keys_.back().insert(value.get<std::string>()).second) {
      throw ModelFileError(
          fmt::format("{}: entry '{}' occurs twice", name_, value.get<std::string>()));
    }
    return true;
  }

  const std::string& name_;
  std::vector<std::set<std::string>> keys_;
};

/// A JSON array of non-negative integers, or nothing.
std::optional<std::vector<std::int64_t>> integer_list(const nlohmann::json& object,
                                                      const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const auto& item : *found) {
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    values.push_back(item.get<std::int64_t>());
  }
  return values;
}

/// What is wrong with one entry; the file and the entry are named where it is caught.
struct BadEntry : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string_view json_text(std::span<const std::byte> bytes, const std::string& file) {
  if (bytes.size() < kLengthBytes) {
    throw ModelFileError(
        fmt::format("{}: {} bytes are too few for a safetensors file", file, bytes.size()));
  }
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data(), kLengthBytes);
  if (size > kLargestJson || size > bytes.size() - kLengthBytes) {
    throw ModelFileError(fmt::format("{}: header at offset 0 claims {} bytes, the file has {}",
                                     file, size, bytes.size()));
  }
  return {reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, size};
}

std::map<std::string, std::string> notes_of(const nlohmann::json& value) {
  std::map<std::string, std::string> notes;
  for (const auto& [key, note] : value.items()) {
    if (!note.is_string()) throw BadEntry("metadata must be text");
    notes[key] = note.get<std::string>();
  }
  return notes;
}

TensorEntry entry_of(const std::string& name, const nlohmann::json& value,
                     std::span<const std::byte> data) {
  const auto type_field = value.find("dtype");
  if (type_field == value.end() || !type_field->is_string()) throw BadEntry("no dtype");
  const auto& type_name = type_field->get_ref<const std::string&>();
  const auto type = type_of_name(type_name);
  if (!type) throw BadEntry(fmt::format("unknown dtype '{}'", type_name));
  const auto shape = integer_list(value, "shape");
  if (!shape) throw BadEntry("shape is not a list of sizes");
  const auto offsets = integer_list(value, "data_offsets");
  if (!offsets || offsets->size() != 2) throw BadEntry("data_offsets is not a pair of offsets");
  const auto begin = static_cast<std::uint64_t>((*offsets)[0]),
             end = static_cast<std::uint64_t>((*offsets)[1]);
  if (begin > end || end > data.size()) {
    throw BadEntry(fmt::format("data at offset {} to {} lies outside the {} bytes of data", begin,
                               end, data.size()));
  }
  const auto expected = checked_byte_count(*shape, *type);
  if (!expected || *expected != end - begin) {
    throw BadEntry(
        fmt::format("{} bytes at offset {} do not fit its shape and dtype", end - begin, begin));
  }
  return {name, *type, *shape, data.subspan(begin, end - begin)};
}

/// By begin, then by end: entries without data come before the one that begins where they lie.
void sort_by_place(std::vector<TensorEntry>& entries) {
  std::ranges::stable_sort(entries, {}, [](const TensorEntry& entry) {
    return std::pair(entry.bytes.data(), entry.bytes.size());
  });
}

/// Data must follow one another without overlap or holes, as the format demands.
void check_gapless(std::span<const TensorEntry> entries, std::span<const std::byte> data,
                   const std::string& file) {
  const std::byte* position = data.data();
  for (const auto& entry : entries) {
    if (entry.bytes.data() != position) {
      throw ModelFileError(
          fmt::format("{}: entry '{}' at offset {} overlaps its neighbour or leaves a hole", file,
                      entry.name, entry.bytes.data() - data.data()));
    }
    position += entry.bytes.size();
  }
  if (position != data.data() + data.size()) {
    throw ModelFileError(fmt::format("{}: {} bytes after the last entry", file,
                                     data.data() + data.size() - position));
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(MappedFile file)
    : name_(file.path().string()), file_(std::move(file)) {
  parse(file_->bytes());
}

SafetensorsFile::SafetensorsFile(std::span<const std::byte> bytes, const std::string& name)
    : name_(name) {
  parse(bytes);
}

void SafetensorsFile::parse(std::span<const std::byte> bytes) {
  const std::string_view text = json_text(bytes, name_);
  const auto data = bytes.subspan(kLengthBytes + text.size());
  const nlohmann::json header = StrictJson(name_).parse(text);
  if (!header.is_object()) throw ModelFileError(fmt::format("{}: header is not an object", name_));
  for (const auto& [name, value] : header.items()) {
    try {
      if (!value.is_object()) throw BadEntry("not an object");
      if (name == "__metadata__") {
        metadata_ = notes_of(value);
      } else {
        entries_.push_back(entry_of(name, value, data));
      }
    } catch (const BadEntry& bad) {
      throw ModelFileError(fmt::format("{}: entry '{}': {}", name_, name, bad.what()));
    }
  }
  sort_by_place(entries_);
  check_gapless(entries_, data, name_);
}

const TensorEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &TensorEntry::name);
  return found == entries_.end() ? nullptr : &*found;
}

const TensorEntry& SafetensorsFile::at(std::string_view name) const {
  const TensorEntry* entry = find(name);
  if (entry == nullptr) throw ModelFileError(fmt::format("{}: no entry '{}'", name_, name));
  return *entry;
}

void write_safetensors(const std::filesystem::path& path, std::span<const TensorEntry> entries,
                       const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (const auto& entry : entries) {
    const auto expected = checked_byte_count(entry.shape, entry.type);
    if (!expected || *expected != entry.bytes.size() || header.contains(entry.name)) {
      throw InternalError(fmt::format("write_safetensors: bad entry '{}'", entry.name));
    }
    header[entry.name] = {{"dtype", kTypeNames[static_cast<int>(entry.type)]},
                          {"shape", entry.shape},
                          {"data_offsets", {offset, offset + entry.bytes.size()}}};
    offset += entry.bytes.size();
  }
  std::string text = header.is_null() ? "{}" : header.dump();
  text.append((kSafetensorsAlignment - text.size() % kSafetensorsAlignment) % kSafetensorsAlignment,
              ' ');
  const std::uint64_t header_size = text.size();
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&header_size, 1)));
  file.write(text);
  for (const auto& entry : entries) file.write(entry.bytes);
  file.commit();
}

}  // namespace protogcd
