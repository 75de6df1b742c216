#include "protogcd/core/scratch_folder.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"

namespace protogcd {

ScratchFolder::ScratchFolder() {
  std::error_code error;
  const auto folder = std::filesystem::temp_directory_path(error);
  if (error)
    throw FileError(fmt::format("TMPDIR: no folder for temporary files: {}", error.message()));
  std::string name = (folder / "protogcd-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw FileError(fmt::format("{}: cannot make a folder: {}", name, std::strerror(errno)));
  }
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  remove_folder(path_, ignored);
}

}  // namespace protogcd
