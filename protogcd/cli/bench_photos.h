// Photographs for benchmarks, made up on the spot and gone with the object.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "protogcd/core/scratch_folder.h"
#include "protogcd/image/image.h"

namespace protogcd::cli {

/// JPEGs (quality 90) of one size in a scratch folder.
class BenchPhotos {
 public:
  BenchPhotos(ImageSize size, int count, std::uint64_t seed);

  const ScratchFolder& folder() const { return folder_; }
  const std::vector<std::filesystem::path>& files() const { return files_; }
  ImageSize size() const { return size_; }
  std::size_t mean_bytes() const { return bytes_ / files_.size(); }

 private:
  ScratchFolder folder_;
  ImageSize size_;
  std::vector<std::filesystem::path> files_;
  std::size_t bytes_ = 0;
};

}  // namespace protogcd::cli
