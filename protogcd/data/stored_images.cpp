#include "protogcd/data/stored_images.h"

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"
#include "protogcd/data/boxed_path.h"
#include "protogcd/data/cifar.h"
#include "protogcd/image/image_reader.h"

namespace protogcd {

std::shared_ptr<const RecordFile> StoredImages::container(const std::filesystem::path& file) {
  const std::lock_guard lock(mutex_);
  if (const auto found = containers_.find(file); found != containers_.end()) return found->second;
  containers_[file] = nullptr;
  for (const CifarKind kind : {CifarKind::kCifar10, CifarKind::kCifar100}) {
    try {
      CifarFiles files = open_cifar(file.parent_path(), kind);
      files.train.insert(files.train.end(), files.test.begin(), files.test.end());
      for (const auto& one : files.train) containers_[one->path.lexically_normal()] = one;
    } catch (const Error&) {  // not a folder of this kind
    }
  }
  return containers_[file];
}

std::optional<std::span<const std::byte>> StoredImages::packed(const std::string& path) {
  const auto file = archive_in_path(path);
  if (!file) return std::nullopt;
  const std::lock_guard lock(mutex_);
  auto found = archives_.find(*file);
  if (found == archives_.end()) {
    Archive archive{.images = PackedImages::open(*file), .by_name = {}};
    for (std::size_t i = 0; i < archive.images->images().size(); ++i)
      archive.by_name.try_emplace(archive.images->name(i), i);
    found = archives_.emplace(*file, std::move(archive)).first;
  }
  const Archive& archive = found->second;
  const auto image = archive.by_name.find(std::string_view(path).substr(file->size() + 1));
  if (image == archive.by_name.end()) return std::nullopt;
  return archive.images->images()[image->second].bytes;
}

ImageOrBad StoredImages::read(const std::filesystem::path& path, const DecodeOptions& options) {
  const std::string text = path.lexically_normal().string();
  if (const auto bytes = packed(text)) return decode_image(*bytes, options);
  const std::size_t mark = text.rfind('#');
  std::error_code ignored;
  if (mark == std::string::npos || std::filesystem::exists(path, ignored))
    return read_image(path, options);
  if (const auto boxed = split_boxed_path(text)) {
    Image part;
    if (auto bad = ImageReader(options).read_part(boxed->file, boxed->box, part))
      return std::move(*bad);
    return part;
  }
  const auto record = parse_unsigned(std::string_view(text).substr(mark + 1));
  const auto file = container(text.substr(0, mark));
  if (!file || !record || *record >= file->count)
    return BadImage{"no such record, or a container that only its dataset can open"};
  return file->load(*record);
}

}  // namespace protogcd
