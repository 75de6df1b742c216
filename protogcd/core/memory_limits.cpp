#include "protogcd/core/memory_limits.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace protogcd {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t left_of_limit(std::uint64_t limit, std::uint64_t used) {
  return limit > used ? limit - used : 0;
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
  return lines;
}

/// Of "VmSize:   1234 kB" and the like the number; nothing where there is none ("unlimited").
std::optional<std::uint64_t> number_after(const fs::path& file, std::string_view name) {
  for (const std::string& line : lines_of(file)) {
    std::uint64_t number = 0;
    if (line.starts_with(name) && std::istringstream(line.substr(name.size())) >> number)
      return number;
  }
  return std::nullopt;
}

std::uint64_t kibibytes_after(const fs::path& file, std::string_view name,
                              std::uint64_t otherwise) {
  const auto number = number_after(file, name);
  return number ? *number * 1024 : otherwise;
}

/// One version's names. Caches of files count as used there, but go when memory is wanted.
struct ControlGroups {
  std::string_view kind, controller, usual_mount;
  const char *limit, *used, *cache;
};
constexpr ControlGroups kVersions[] = {
    {"cgroup2", "", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
    {"cgroup", "memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_inactive_file "}};

bool lists(std::string_view words, std::string_view word) {
  for (std::size_t begin = 0, end; begin <= words.size(); begin = end + 1) {
    end = std::min(words.find(',', begin), words.size());
    if (words.substr(begin, end - begin) == word) return true;
  }
  return false;
}

/// This process's group, of a line of /proc/self/cgroup: "4:cpu,memory:/a/b", "0::/a/b".
std::optional<std::string> own_group(const ControlGroups& version, const fs::path& root) {
  for (const std::string& line : lines_of(root / "proc/self/cgroup")) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    if (lists(controllers, version.controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

struct Mount {
  std::string group, place;  ///< of groups only those below `group` are seen, and where
};

/// Of a line of /proc/self/mountinfo: "35 31 0:32 /group /sys/fs/cgroup/memory rw - cgroup x
/// rw,memory".
Mount mount_of(const ControlGroups& version, const fs::path& root) {
  for (const std::string& line : lines_of(root / "proc/self/mountinfo")) {
    const std::size_t dash = line.find(" - ");
    if (dash == line.npos) continue;
    std::istringstream before(line.substr(0, dash)), after(line.substr(dash + 3));
    std::string skipped, kind, options;
    Mount mount;
    before >> skipped >> skipped >> skipped >> mount.group >> mount.place;
    after >> kind >> skipped >> options;
    if (kind == version.kind && (version.controller.empty() || lists(options, version.controller)))
      return mount;
  }
  return {.group = "/", .place = std::string(version.usual_mount)};
}

std::uint64_t free_in_group(const ControlGroups& version, const fs::path& group) {
  const auto limit = number_after(group / version.limit, "");
  if (!limit) return kUnlimited;
  const std::uint64_t used = number_after(group / version.used, "").value_or(0),
                      cache = number_after(group / "memory.stat", version.cache).value_or(0);
  return left_of_limit(*limit, left_of_limit(used, cache));
}

/// A group's limit holds for all groups below it.
std::uint64_t free_in_groups(const ControlGroups& version, const fs::path& root) {
  const auto own = own_group(version, root);
  if (!own) return kUnlimited;
  const Mount mount = mount_of(version, root);
  const fs::path top = root / fs::path(mount.place).relative_path();
  const fs::path below = fs::path(*own).lexically_relative(mount.group);
  std::uint64_t free = free_in_group(version, top);
  if (below.empty() || *below.begin() == "..") return free;  // what contains it is not to be seen
  fs::path group = top;
  for (const fs::path& name : below) {
    group /= name;
    free = std::min(free, free_in_group(version, group));
  }
  return free;
}

/// Within `ulimit -v` and `ulimit -d`.
std::uint64_t free_of_process(const fs::path& root) {
  const fs::path limits = root / "proc/self/limits", status = root / "proc/self/status";
  std::uint64_t free = kUnlimited;
  for (const auto& [limit, used] :
       {std::pair{"Max address space", "VmSize:"}, {"Max data size", "VmData:"}}) {
    if (const auto most = number_after(limits, limit))
      free = std::min(free, left_of_limit(*most, kibibytes_after(status, used, 0)));
  }
  return free;
}

}  // namespace

std::uint64_t free_main_memory(int processes, const fs::path& root) {
  std::uint64_t shared = kibibytes_after(root / "proc/meminfo", "MemAvailable:", kUnlimited);
  for (const ControlGroups& version : kVersions)
    shared = std::min(shared, free_in_groups(version, root));
  return std::min(shared / static_cast<std::uint64_t>(processes), free_of_process(root));
}

}  // namespace protogcd
