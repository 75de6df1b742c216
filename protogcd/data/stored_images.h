// Images by the paths that tables name them with: a file, a box of one ("photo.jpg#4,8,32,32"), or
// a record of a container ("data_batch_1.bin#17").
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

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

  std::mutex mutex_;
  std::map<std::filesystem::path, std::shared_ptr<const RecordFile>> containers_;  ///< null: none
};

}  // namespace protogcd
