#include "tests/support/temporary_folder.h"

#include <stdlib.h>

#include <stdexcept>

#include "protogcd/core/files.h"

namespace protogcd::testing {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "protogcd-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  remove_folder(path_, ignored);
}

}  // namespace protogcd::testing
