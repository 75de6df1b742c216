#include "protogcd/data/packed_images.h"

#include <algorithm>
#include <unordered_map>

#include "protogcd/core/json.h"
#include "protogcd/core/tar_archive.h"
#include "protogcd/core/text.h"
#include "protogcd/data/class_numbers.h"
#include "protogcd/image/formats.h"
#include "protogcd/image/tiff_directory.h"

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

bool has_hidden_part(std::string_view name) {
  return name.starts_with('.') || name.find("/.") != name.npos;
}

/// "./a/../b.jpg" -> "b.jpg"; nothing where the name leads out of the archive.
std::optional<std::string> name_within(std::string_view name) {
  if (name.starts_with('/')) return std::nullopt;
  if (!has_hidden_part(name) && name.find("//") == name.npos) return std::string(name);
  std::string normal = std::filesystem::path(name).lexically_normal().string();
  if (normal == ".." || normal.starts_with("../")) return std::nullopt;
  return normal;
}

bool is_label_ending(std::string_view ending) {
  return ending == "cls" || ending == "json";
}

}  // namespace

bool is_packed_name(std::string_view file_name) {
  return file_name.ends_with(".tar");
}

std::optional<std::string> archive_in_path(const std::string& path) {
  constexpr std::string_view kEnd = ".tar/";
  for (std::size_t at = 0; (at = path.find(kEnd, at)) != path.npos; at += kEnd.size()) {
    const std::string file = path.substr(0, at + kEnd.size() - 1);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored)) return file;
  }
  return std::nullopt;
}

std::shared_ptr<const PackedImages> PackedImages::open(const std::filesystem::path& file) {
  auto mapped = std::make_unique<MappedFile>(file);
  auto packed = std::make_shared<PackedImages>(mapped->bytes(), file.string());
  packed->file_ = std::move(mapped);
  return packed;
}

/// Sorts the files of an archive into images, labels and the rest.
class PackedImages::Reader {
 public:
  explicit Reader(PackedImages& packed) : packed_(packed) {}

  void add(const TarFile& file) {
    const std::optional<std::string> name = name_within(file.name);
    if (!name) {
      packed_.left_out_.outside.emplace_back(file.name);
      return;
    }
    if (has_hidden_part(*name)) {
      ++packed_.left_out_.hidden;
      return;
    }
    begin_key(key_of(*name));
    const std::string_view ending =
        std::string_view(*name).substr(std::min(name->size(), key_.size() + 1));
    const ImageKind* kind = kind_of_file_name(*name);
    if (kind == nullptr && !is_label_ending(ending))
      ++packed_.left_out_.ignored;
    else if (file.is_link)
      packed_.left_out_.links.push_back(*name);
    else if (kind == nullptr)
      add_label(label_in(ending, text_of_bytes(file.bytes)));
    else if (!kind->obstacle.empty())
      packed_.left_out_.unreadable.push_back(*name);
    else
      add_image(*name, *kind, file.bytes);
  }

  void finish() {
    begin_key({});
    packed_.label_names_ = numbers_.names();
    if (apart_.empty()) return;
    for (std::size_t i = 0; i < packed_.images_.size(); ++i) {
      const auto found = apart_.find(std::string(key_of(packed_.name(i))));
      std::int32_t& label = packed_.images_[i].label;
      if (label < 0 && found != apart_.end()) label = found->second;
    }
  }

 private:
  /// WebDataset has the files of a key together, so that no table of all keys is needed.
  void begin_key(std::string_view key) {
    if (key == key_) return;
    if (label_ >= 0 && first_of_key_ == packed_.images_.size()) apart_[key_] = label_;
    key_ = key;
    label_ = -1;
    first_of_key_ = packed_.images_.size();
  }

  void add_label(const std::string& text) {
    if (text.empty()) return;
    label_ = numbers_(text);
    for (std::size_t i = first_of_key_; i < packed_.images_.size(); ++i)
      packed_.images_[i].label = label_;
  }

  void add_image(std::string_view name, const ImageKind& kind, std::span<const std::byte> bytes) {
    packed_.images_.push_back({.position = packed_.names_.size(),
                               .length = static_cast<std::uint32_t>(name.size()),
                               .label = label_,
                               .bytes = bytes});
    packed_.names_ += name;
    if (kind.name == "tiff" && has_several_tiff_pages(bytes)) ++packed_.several_pages_;
  }

  PackedImages& packed_;
  ClassNumbers numbers_;
  std::string key_;
  std::int32_t label_ = -1;
  std::size_t first_of_key_ = 0;
  /// Labels that have no image beside them, by key: their images may stand elsewhere.
  std::unordered_map<std::string, std::int32_t> apart_;
};

PackedImages::PackedImages(std::span<const std::byte> archive, const std::string& origin) {
  Reader reader(*this);
  for_each_file_in_tar(archive, origin, [&](const TarFile& file) { reader.add(file); });
  reader.finish();
}

}  // namespace protogcd
