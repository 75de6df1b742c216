#include "protogcd/data/source_table.h"

#include <fmt/core.h>

#include <limits>
#include <utility>

#include "protogcd/core/error.h"
#include "protogcd/data/boxed_path.h"

namespace protogcd {
namespace {

std::string joined(std::string_view folder, std::string_view name) {
  if (folder.empty()) return std::string(name);
  return folder.ends_with('/') ? fmt::format("{}{}", folder, name)
                               : fmt::format("{}/{}", folder, name);
}

}  // namespace

std::uint32_t SourceTable::add_folder(const std::string& folder) {
  const auto [found, is_new] =
      folders_.try_emplace(folder, static_cast<std::uint32_t>(places_.size()));
  if (is_new) places_.push_back({.path = folder});
  return found->second;
}

std::uint32_t SourceTable::add_container(std::shared_ptr<const RecordFile> container) {
  std::string path = container->path.string();
  places_.push_back({.path = std::move(path), .container = std::move(container)});
  return static_cast<std::uint32_t>(places_.size() - 1);
}

std::uint32_t SourceTable::add(const Entry& entry) {
  if (entries_.size() >= std::numeric_limits<std::uint32_t>::max()) {
    throw DataError("more than four billion images");
  }
  entries_.push_back(entry);
  return static_cast<std::uint32_t>(entries_.size() - 1);
}

std::uint32_t SourceTable::add_file(std::uint32_t folder, std::string_view name) {
  if (name.empty()) throw InternalError("SourceTable: a file without a name");
  const std::uint64_t position = names_.size();
  names_ += name;
  return add({position, folder, static_cast<std::uint32_t>(name.size())});
}

std::uint32_t SourceTable::add_path(const std::filesystem::path& path) {
  return add_file(add_folder(path.parent_path().string()), path.filename().string());
}

std::uint32_t SourceTable::add_box(const std::filesystem::path& path, const ImageBox& box) {
  const std::uint32_t source = add_path(boxed_path(path.string(), box));
  boxes_[source] = box;
  return source;
}

std::uint32_t SourceTable::add_record(std::uint32_t container, std::size_t record) {
  return add({record, container, kRecord});
}

std::uint32_t SourceTable::add_packed(const std::string& file,
                                      std::shared_ptr<const PackedImages> packed) {
  const auto place = static_cast<std::uint32_t>(places_.size()),
             first = static_cast<std::uint32_t>(size());
  for (std::size_t i = 0; i < packed->images().size(); ++i) add_file(place, packed->name(i));
  places_.push_back({.path = file, .packed = std::move(packed), .first = first});
  return first;
}

std::optional<std::span<const std::byte>> SourceTable::packed(std::size_t source) const {
  const Place& place = places_[entries_.at(source).place];
  if (!place.packed) return std::nullopt;
  return place.packed->images()[source - place.first].bytes;
}

std::string SourceTable::name(std::size_t source) const {
  const Entry& entry = entries_.at(source);
  return entry.length == kRecord ? fmt::format("#{}", entry.position)
                                 : names_.substr(entry.position, entry.length);
}

std::string SourceTable::path(std::size_t source) const {
  const std::string& place = places_[entries_.at(source).place].path;
  return is_record(source) ? place + name(source) : joined(place, name(source));
}

std::optional<ImageBox> SourceTable::box(std::size_t source) const {
  const auto found = boxes_.find(static_cast<std::uint32_t>(source));
  return found == boxes_.end() ? std::nullopt : std::optional(found->second);
}

std::string SourceTable::file(std::size_t source) const {
  if (is_record(source) || packed(source)) return places_[entries_[source].place].path;
  std::string path = this->path(source);
  if (box(source)) path.resize(path.rfind('#'));
  return path;
}

Image SourceTable::load_record(std::size_t source) const {
  const Entry& entry = entries_.at(source);
  if (entry.length != kRecord) throw InternalError(path(source) + ": a file, not a record");
  return places_[entry.place].container->load(entry.position);
}

CsvPaths::CsvPaths(const std::filesystem::path& csv_file) {
  const std::filesystem::path folder =
      comparable_path(csv_file.has_parent_path() ? csv_file.parent_path() : ".");
  std::error_code error;
  base_ = std::filesystem::weakly_canonical(folder, error);
  if (error) base_ = folder;
}

std::string CsvPaths::operator()(const SourceTable& sources, std::size_t source) {
  if (table_ != &sources) {
    table_ = &sources;
    places_.clear();
  }
  const std::uint32_t place = sources.place(source);
  if (place >= places_.size()) places_.resize(sources.place_count());
  std::string& relative = places_[place];
  if (relative.empty()) {
    relative = (*this)(sources.place_path(place));
  }
  if (sources.is_record(source)) return relative + sources.name(source);
  return relative == "." ? sources.name(source) : joined(relative, sources.name(source));
}

std::string CsvPaths::operator()(const std::filesystem::path& path) const {
  const std::filesystem::path target = comparable_path(path);
  const auto shorter = target.lexically_relative(base_);
  return shorter.empty() ? target.generic_string() : shorter.generic_string();
}

std::string comparable_path(const std::filesystem::path& path) {
  std::error_code error;
  const auto whole = std::filesystem::absolute(path.empty() ? "." : path, error);
  std::string text = (error ? path : whole).lexically_normal().string();
  if (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

}  // namespace protogcd
