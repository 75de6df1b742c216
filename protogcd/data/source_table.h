// Where images are: files as folder and name, boxes of files, files inside a tar file, whose path
// is their folder's, or records inside a container file. Folders are stored once and names in one
// long text, so that a million files take tens of megabytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "protogcd/data/packed_images.h"
#include "protogcd/data/record_file.h"

namespace protogcd {

struct UnreadableFile {
  std::string path, reason;
};

class SourceTable {
 public:
  std::size_t size() const { return entries_.size(); }

  /// Image files of kinds that cannot be read, found beside the sources. They are none themselves,
  /// so that nothing counts or numbers them: they are here to be listed among what was left out.
  const std::vector<UnreadableFile>& unreadable() const { return unreadable_; }
  void add_unreadable(std::string path, std::string reason) {
    unreadable_.push_back({std::move(path), std::move(reason)});
  }

  /// A folder or container is a place; adding a folder again gives the same place.
  std::uint32_t add_folder(const std::string& folder);
  std::uint32_t add_container(std::shared_ptr<const RecordFile> container);
  std::uint32_t add_file(std::uint32_t folder, std::string_view name);
  /// A path is split into folder and name.
  std::uint32_t add_path(const std::filesystem::path& path);
  /// A part of a file, in pixels of the upright image.
  std::uint32_t add_box(const std::filesystem::path& path, const ImageBox& box);
  std::uint32_t add_record(std::uint32_t container, std::size_t record);
  /// All images of a tar file, "shard.tar/0017.jpg"; returns the first.
  std::uint32_t add_packed(const std::string& file, std::shared_ptr<const PackedImages> packed);

  bool is_record(std::size_t source) const { return entries_[source].length == kRecord; }
  /// The bytes of an image that lies in a tar file; nothing for any other.
  std::optional<std::span<const std::byte>> packed(std::size_t source) const;
  /// Nothing where the source is a whole image.
  std::optional<ImageBox> box(std::size_t source) const;
  std::uint32_t place(std::size_t source) const { return entries_[source].place; }
  std::size_t place_count() const { return places_.size(); }
  /// The folder, the tar file or the container's file.
  const std::string& place_path(std::uint32_t place) const { return places_[place].path; }
  /// A file's name without its folder, with "#x,y,width,height" for a box; "#17" for a record.
  std::string name(std::size_t source) const;
  /// "folder/name.jpg", or "folder/data_batch_1.bin#17" for a record.
  std::string path(std::size_t source) const;
  /// The file on disk that holds the image.
  std::string file(std::size_t source) const;
  /// The record's image; InternalError if the source is a file, which the image area decodes.
  Image load_record(std::size_t source) const;

 private:
  struct Place {
    std::string path;
    std::shared_ptr<const RecordFile> container = nullptr;  ///< null for a folder
    std::shared_ptr<const PackedImages> packed = nullptr;   ///< of a tar file, whose images are
    std::uint32_t first = 0;                                ///< the sources from this one on
  };
  struct Entry {
    std::uint64_t position;  ///< of the name in names_, or the record's number
    std::uint32_t place;
    std::uint32_t length;  ///< of the name; kRecord for a record
  };
  static constexpr std::uint32_t kRecord = 0;

  std::uint32_t add(const Entry& entry);

  std::vector<Place> places_;
  std::unordered_map<std::string, std::uint32_t> folders_;
  std::vector<Entry> entries_;
  std::string names_;
  std::vector<UnreadableFile> unreadable_;
  std::unordered_map<std::uint32_t, ImageBox> boxes_;  ///< by source; their names end in them
};

/// Paths as a CSV file shows them: relative to the CSV's folder where possible, '/' between parts.
class CsvPaths {
 public:
  explicit CsvPaths(const std::filesystem::path& csv_file);
  std::string operator()(const SourceTable& sources, std::size_t source);
  std::string operator()(const std::filesystem::path& path) const;

 private:
  std::filesystem::path base_;  ///< links resolved: ".." of a linked folder is its target's parent
  const SourceTable* table_ = nullptr;
  std::vector<std::string> places_;  ///< the relative form of each place, made when first needed
};

/// The path with the working folder in front and without "." and "..": equal texts for equal files,
/// symbolic links aside.
std::string comparable_path(const std::filesystem::path& path);

}  // namespace protogcd
