// A folder for what need not outlive a piece of work.
#pragma once

#include <filesystem>
#include <string>

namespace protogcd {

/// It goes when the object does, however the work ends. FileError where none can be made.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace protogcd
