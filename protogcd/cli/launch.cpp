#include "protogcd/cli/launch.h"

#include <cstdlib>
#include <filesystem>

namespace protogcd::cli {

void give_back_library_path() {
  const char* users = std::getenv(kUsersLibraryPath);
  if (users == nullptr) return;  // started without the launcher
  if (*users == '\0') {
    ::unsetenv(kLibraryPath);
  } else {
    ::setenv(kLibraryPath, users, 1);
  }
  ::unsetenv(kUsersLibraryPath);
}

std::string program_to_start() {
  const char* launcher = std::getenv(kLauncher);
  return launcher != nullptr ? launcher : std::filesystem::read_symlink("/proc/self/exe").string();
}

}  // namespace protogcd::cli
