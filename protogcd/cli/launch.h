// What the launcher tells the program that it becomes, through the environment.
#pragma once

#include <string>

namespace protogcd::cli {

inline constexpr const char* kLibraryPath = "LD_LIBRARY_PATH";
inline constexpr const char* kUsersLibraryPath = "PROTOGCD_USERS_LIBRARY_PATH";
inline constexpr const char* kLauncher = "PROTOGCD_LAUNCHER";

/// To be called first: what the program starts in turn must not meet the launcher's libtorch.
void give_back_library_path();

/// What to start to have this program once more.
std::string program_to_start();

}  // namespace protogcd::cli
