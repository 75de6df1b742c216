#include "protogcd/data/packed_images.h"

#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/core/tar_archive.h"
#include "protogcd/core/text.h"
#include "protogcd/data/class_numbers.h"
#include "protogcd/image/formats.h"

namespace protogcd {
namespace {

constexpr std::size_t kLongestLabel = 1 << 20;  // of the file that holds it

/// "folder/0017.seg.png" -> "folder/0017": up to the first dot of the file's own name.
std::string_view key_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t dot = name.find('.', slash == name.npos ? 0 : slash + 1);
  return name.substr(0, dot);
}

std::string_view text_of_bytes(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The label in a .cls file, or under "label" or "cls" in a .json file; empty where there is none.
std::string label_in(std::string_view ending, std::string_view text) {
  if (text.size() > kLongestLabel) return {};
  if (ending == "cls") return std::string(trim(text));
  const nlohmann::json json = parse_json_or_discard(text);
  if (!json.is_object()) return {};
  for (const char* key : {"label", "cls"}) {
    const auto found = json.find(key);
    if (found == json.end()) continue;
    if (found->is_string()) return found->get<std::string>();
    if (found->is_number_integer()) return found->dump();
  }
  return {};
}

}  // namespace

bool is_packed_name(std::string_view file_name) {
  return file_name.ends_with(".tar");
}

std::shared_ptr<const PackedImages> PackedImages::open(const std::filesystem::path& file) {
  auto mapped = std::make_unique<MappedFile>(file);
  auto packed = std::make_shared<PackedImages>(mapped->bytes(), file.string());
  packed->file_ = std::move(mapped);
  return packed;
}

PackedImages::PackedImages(std::span<const std::byte> archive, const std::string& origin) {
  ClassNumbers numbers;
  // Files of one key stand together; a label may come before its image or after it.
  std::string key;
  std::int32_t label = -1;
  std::size_t first_of_key = 0;
  for_each_file_in_tar(
      archive, origin, [&](std::string_view name, std::span<const std::byte> bytes) {
        if (key_of(name) != key) {
          key = key_of(name);
          label = -1;
          first_of_key = images_.size();
        }
        const std::string_view ending = name.substr(std::min(name.size(), key.size() + 1));
        const ImageKind* kind = kind_of_file_name(std::string(name));
        if (kind != nullptr && kind->obstacle.empty()) {
          images_.push_back({.position = names_.size(),
                             .length = static_cast<std::uint32_t>(name.size()),
                             .label = label,
                             .bytes = bytes});
          names_ += name;
        } else if (ending == "cls" || ending == "json") {
          const std::string text = label_in(ending, text_of_bytes(bytes));
          if (text.empty()) return;
          label = numbers(text);
          for (std::size_t i = first_of_key; i < images_.size(); ++i) images_[i].label = label;
        } else {
          ++ignored_files_;
        }
      });
  label_names_ = numbers.names();
}

}  // namespace protogcd
