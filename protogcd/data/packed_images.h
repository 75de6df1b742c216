// Images in a tar file, as WebDataset has them: files of one name with different endings belong
// together, KEY.jpg the image, KEY.cls or KEY.json its label. They are read where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
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
  std::uint64_t ignored_files() const { return ignored_files_; }

 private:
  std::unique_ptr<MappedFile> file_;
  std::vector<Image> images_;
  std::string names_;  ///< one long text
  std::vector<std::string> label_names_;
  std::uint64_t ignored_files_ = 0;
};

/// Whether a file of this name is taken for an archive of images.
bool is_packed_name(std::string_view file_name);

}  // namespace protogcd
