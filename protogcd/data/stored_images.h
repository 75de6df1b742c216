// Images by the paths that tables name them with: a file, a box of one ("photo.jpg#4,8,32,32"), a
// file in a tar file ("shard.tar/0017.jpg"), or a record of a container ("data_batch_1.bin#17").
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "protogcd/data/packed_images.h"
#include "protogcd/data/record_file.h"
#include "protogcd/image/decode.h"

namespace protogcd {

/// Containers are opened once. Threads may read at the same time.
class StoredImages {
 public:
  /// Records are those of CIFAR-10 and CIFAR-100; of other containers, a reason comes back.
  ImageOrBad read(const std::filesystem::path& path, const DecodeOptions& options);

 private:
  std::shared_ptr<const RecordFile> container(const std::filesystem::path& file);
  /// The bytes at a path that leads into a tar file; nothing for any other.
  std::optional<std::span<const std::byte>> packed(const std::string& path);

  std::mutex mutex_;
  std::map<std::filesystem::path, std::shared_ptr<const RecordFile>> containers_;  ///< null: none
  struct Archive {
    std::shared_ptr<const PackedImages> images;
    std::unordered_map<std::string_view, std::size_t> by_name;  ///< views of its names
  };
  std::map<std::string, Archive> archives_;
};

}  // namespace protogcd
