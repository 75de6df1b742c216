#include "protogcd/core/state_notes.h"

#include <fmt/core.h>
#include <zlib.h>

#include <cctype>

#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/core/option_name.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using Notes = std::map<std::string, std::string>;

/// The format without its version: "protogcd-checkpoint" of "protogcd-checkpoint-2".
std::string_view stem_of(std::string_view format) {
  return format.substr(0, format.rfind('-'));
}

/// A checksum says nothing to people.
bool holds_checksum(std::string_view text) {
  std::size_t digits = 0;
  for (const char letter : text) {
    digits = std::isxdigit(static_cast<unsigned char>(letter)) ? digits + 1 : 0;
    if (digits == 64) return true;
  }
  return false;
}

std::string difference_in_words(const std::string& key, const std::string& then,
                                const std::string& now, bool names_options) {
  if (holds_checksum(then) || holds_checksum(now))
    return fmt::format("the run was begun with another {}", key);
  const std::string before = then.empty() ? "not set" : then;
  if (!names_options || key.find(' ') != key.npos)
    return fmt::format("the run was begun with another {} ({}, now {})", key, before, now);
  return fmt::format("{} was {} when the run was begun, now it is {}", option_name(key), before,
                     now);
}

void check_identity(const StateFileKind& kind, const Notes& notes, const fs::path& file) {
  const auto found = notes.find("identity");
  Notes theirs;
  try {
    if (found != notes.end()) theirs = parse_json(found->second);
  } catch (const nlohmann::json::exception&) {
    throw ModelFileError(fmt::format("{}: unreadable identity", file.string()));
  }
  check_same_run(kind.identity, theirs, kind.names_options);
}

}  // namespace

std::string state_checksum(std::span<const TensorEntry> entries,
                           const std::map<std::string, std::string>& notes) {
  uLong sum = crc32(0, nullptr, 0);
  const auto add = [&](const void* bytes, std::size_t size) {
    sum = crc32_z(sum, static_cast<const Bytef*>(bytes), size);
  };
  for (const auto& [key, value] : notes) {
    if (key == "crc32") continue;
    add(key.data(), key.size());
    add(value.data(), value.size());
  }
  std::map<std::string, const TensorEntry*> by_name;
  for (const auto& entry : entries) by_name[entry.name] = &entry;
  for (const auto& [name, entry] : by_name) {
    add(name.data(), name.size());
    add(entry->bytes.data(), entry->bytes.size());
  }
  return fmt::format("{:08x}", sum);
}

void check_same_run(const std::map<std::string, std::string>& now,
                    const std::map<std::string, std::string>& then, bool names_options) {
  for (const auto& [key, value] : now) {
    const auto other = then.find(key);
    if (other != then.end() && other->second == value) continue;
    throw UsageError(
        fmt::format("{}: {}", option_name("resume"),
                    difference_in_words(key, other == then.end() ? "" : other->second, value,
                                        names_options)),
        fmt::format("resume it as it was begun, or choose another {}", option_name("out")));
  }
}

void check_state_notes(std::span<const TensorEntry> entries, const Notes& notes,
                       const StateFileKind& kind, const fs::path& file) {
  const auto format = notes.find("format");
  if (format != notes.end() && format->second != kind.format &&
      stem_of(format->second) == stem_of(kind.format)) {
    throw UsageError(fmt::format("{}: written by another version of the program ({}, this one "
                                 "writes {})",
                                 file.string(), format->second, kind.format),
                     "finish it with the version that began it, or start anew");
  }
  if (format == notes.end() || format->second != kind.format) {
    throw ModelFileError(fmt::format("{}: not a checkpoint of this program's version ({})",
                                     file.string(), kind.format));
  }
  const auto sum = notes.find("crc32");
  if (sum == notes.end() || sum->second != state_checksum(entries, notes)) {
    throw ModelFileError(fmt::format("{}: damaged, its checksum does not match", file.string()));
  }
  check_identity(kind, notes, file);
}

}  // namespace protogcd
