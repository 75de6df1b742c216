// Images in a tar file, as WebDataset has them: files of one name with different endings belong
// together, KEY.jpg the image, KEY.cls or KEY.json its label. They are read where they lie. What
// counts as an image is what counts in a folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protogcd/core/mapped_file.h"

namespace protogcd {

class PackedImages {
 public:
  struct Image {
    std::uint64_t position = 0;  ///< of its name in `names`
    std::uint32_t length = 0;
    std::int32_t label = -1;  ///< one of `label_names`; -1: none
    std::span<const std::byte> bytes;
  };

  /// DataError names the file where it is no tar archive.
  static std::shared_ptr<const PackedImages> open(const std::filesystem::path& file);
  /// From bytes that outlive it.
  PackedImages(std::span<const std::byte> archive, const std::string& origin);

  const std::vector<Image>& images() const { return images_; }  ///< in the order of the archive
  std::string_view name(std::size_t image) const {
    return std::string_view(names_).substr(images_[image].position, images_[image].length);
  }
  const std::vector<std::string>& label_names() const { return label_names_; }

  /// What is no image here, or none that can be read.
  struct LeftOut {
    std::uint64_t ignored = 0,
                  hidden = 0;             ///< other files; names with a part that begins with a dot
    std::vector<std::string> unreadable;  ///< images of kinds that cannot be read
    std::vector<std::string> outside;     ///< names that lead out of the archive
    std::vector<std::string> links;       ///< images and labels that are links to other files
  };
  const LeftOut& left_out() const { return left_out_; }
  std::uint64_t several_pages() const { return several_pages_; }  ///< TIFF files that have them

 private:
  class Reader;

  std::unique_ptr<MappedFile> file_;
  std::vector<Image> images_;
  std::string names_;  ///< one long text
  std::vector<std::string> label_names_;
  LeftOut left_out_;
  std::uint64_t several_pages_ = 0;
};

/// Whether a file of this name is taken for an archive of images.
bool is_packed_name(std::string_view file_name);

/// The archive that a path leads into ("a/shard.tar" of "a/shard.tar/b/0017.jpg"), where there is
/// such a file: a folder may be called so too.
std::optional<std::string> archive_in_path(const std::string& path);

}  // namespace protogcd
