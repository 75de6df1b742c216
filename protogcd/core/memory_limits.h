// Main memory that can still be had: of the machine, and within the limits that control groups
// (cgroup v1 and v2) and ulimit set.
#pragma once

#include <cstdint>
#include <filesystem>

namespace protogcd {

/// Bytes that each of so many processes beside each other can still take. What cannot be read is no
/// limit. `root` holds proc and sys.
std::uint64_t free_main_memory(int processes = 1, const std::filesystem::path& root = "/");

}  // namespace protogcd
