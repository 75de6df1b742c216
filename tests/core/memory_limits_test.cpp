// Free main memory, of machines that are made up: proc and sys lie in a folder.
#include "protogcd/core/memory_limits.h"

#include <gtest/gtest.h>

#include <limits>

#include "protogcd/core/files.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMebi = 1024 * 1024;

struct Machine {
  Machine() { write("proc/meminfo", "MemTotal: 8192000 kB\nMemAvailable:    4096000 kB\n"); }

  void write(const std::string& file, const std::string& text) const {
    create_folders((root.path() / file).parent_path());
    write_file_atomically(root.path() / file, text);
  }
  /// In MiB; none of `cache` is asked for.
  void group2(const std::string& path, const std::string& limit, std::uint64_t used,
              std::uint64_t cache = 0) const {
    write(path + "/memory.max", limit + "\n");
    write(path + "/memory.current", std::to_string(used * kMebi) + "\n");
    write(path + "/memory.stat",
          "anon 1\ninactive_file " + std::to_string(cache * kMebi) + "\nactive_file 5\n");
  }
  void group1(const std::string& path, const std::string& limit, std::uint64_t used,
              std::uint64_t cache = 0) const {
    write(path + "/memory.limit_in_bytes", limit + "\n");
    write(path + "/memory.usage_in_bytes", std::to_string(used * kMebi) + "\n");
    write(path + "/memory.stat",
          "inactive_file 0\ntotal_inactive_file " + std::to_string(cache * kMebi) + "\n");
  }
  /// In MiB.
  std::uint64_t free(int processes = 1) const {
    return free_main_memory(processes, root.path()) / kMebi;
  }

  testing::TemporaryFolder root;
};

std::string bytes(std::uint64_t mebibytes) {
  return std::to_string(mebibytes * kMebi);
}

constexpr const char* kMountOf2 =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
constexpr const char* kMountsOf1 =
    "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "32 30 0:28 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n";

TEST(MemoryLimits, WithoutAnyTheMachinesMemoryIsSharedByItsProcesses) {
  const Machine machine;
  EXPECT_EQ(machine.free(), 4000u);
  EXPECT_EQ(machine.free(4), 1000u);
}

TEST(MemoryLimits, WhatCannotBeReadIsNone) {
  const Machine machine;
  machine.write("proc/self/cgroup", "no line\n0::/gone/away\n4:memory:/gone\n");
  machine.write("proc/self/mountinfo", "short\n1 - \n1 2 3 - cgroup2\n");
  machine.write("proc/self/limits", "Max data size\n");
  EXPECT_EQ(machine.free(), 4000u);
  const testing::TemporaryFolder nothing;
  EXPECT_EQ(free_main_memory(1, nothing.path()), std::numeric_limits<std::uint64_t>::max());
}

TEST(MemoryLimits, OfAGroupOfVersion2IsWhatItDoesNotUseButForCaches) {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/job\n");
  machine.write("proc/self/mountinfo", kMountOf2);
  machine.group2("sys/fs/cgroup/job", bytes(512), 300, 100);
  EXPECT_EQ(machine.free(), 312u);
  machine.group2("sys/fs/cgroup/job", bytes(512), 700);
  EXPECT_EQ(machine.free(), 0u);
  machine.group2("sys/fs/cgroup/job", "max", 300);
  EXPECT_EQ(machine.free(), 4000u);
}

TEST(MemoryLimits, OfNestedGroupsTheTightestCounts) {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/slice/job/step\n");
  machine.write("proc/self/mountinfo", kMountOf2);
  machine.group2("sys/fs/cgroup/slice", bytes(1000), 900);  // its other jobs leave 100
  machine.group2("sys/fs/cgroup/slice/job", "max", 200);
  machine.group2("sys/fs/cgroup/slice/job/step", bytes(512), 200);
  EXPECT_EQ(machine.free(), 100u);
  machine.group2("sys/fs/cgroup/slice", bytes(2000), 900);
  EXPECT_EQ(machine.free(), 312u);
}

TEST(MemoryLimits, OfAGroupOfVersion1IsWhatItDoesNotUseButForCaches) {
  const Machine machine;
  machine.write("proc/self/cgroup", "9:cpu:/else\n4:hugetlb,memory:/slice/job\n0::/\n");
  machine.write("proc/self/mountinfo", kMountsOf1);
  machine.group1("sys/fs/cgroup/memory", "9223372036854771712", 3000);
  machine.group1("sys/fs/cgroup/memory/slice", bytes(600), 500, 200);
  EXPECT_EQ(machine.free(), 300u);
  machine.group1("sys/fs/cgroup/memory/slice/job", bytes(256), 100, 50);
  EXPECT_EQ(machine.free(), 206u);
  EXPECT_EQ(machine.free(2), 103u);
}

TEST(MemoryLimits, OfAContainerThatSeesOnlyItsOwnGroupAreThere) {
  const Machine machine;
  machine.group2("sys/fs/cgroup", bytes(512), 12);
  // In a namespace of its own; with the host's names, and its own group as the mount's root; and
  // where the group lies elsewhere, or no mount is told.
  for (const auto& [group, mount] : std::initializer_list<std::pair<const char*, const char*>>{
           {"0::/\n", kMountOf2},
           {"0::/docker/1f\n", "30 23 0:26 /docker/1f /sys/fs/cgroup ro - cgroup2 cgroup rw\n"},
           {"0::/docker/1f\n", kMountOf2},
           {"0::/../other\n", kMountOf2},
           {"0::/\n", ""}}) {
    SCOPED_TRACE(group + std::string(mount));
    machine.write("proc/self/cgroup", group);
    machine.write("proc/self/mountinfo", mount);
    EXPECT_EQ(machine.free(), 500u);
  }
  machine.write("proc/self/cgroup", "0::/docker/1f/step\n");
  machine.write("proc/self/mountinfo",
                "30 23 0:26 /docker/1f /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  machine.group2("sys/fs/cgroup/step", bytes(100), 10);
  EXPECT_EQ(machine.free(), 90u);
}

TEST(MemoryLimits, OfTheProcessAreItsOwn) {
  const Machine machine;
  machine.write("proc/self/status", "Name:\tx\nVmSize:\t  204800 kB\nVmData:\t  102400 kB\n");
  const auto limits = [&](const std::string& space, const std::string& data) {
    machine.write("proc/self/limits",
                  "Limit                     Soft Limit           Hard Limit           Units\n"
                  "Max data size             " +
                      data +
                      "            unlimited            bytes\n"
                      "Max address space         " +
                      space + "           unlimited            bytes\n");
  };
  limits("unlimited", "unlimited");
  EXPECT_EQ(machine.free(), 4000u);
  limits(bytes(1000), "unlimited");
  EXPECT_EQ(machine.free(), 800u);
  EXPECT_EQ(machine.free(2), 800u) << "not divided";
  limits(bytes(1000), bytes(500));
  EXPECT_EQ(machine.free(), 400u);
}

TEST(MemoryLimits, OfThisMachineAreRead) {
  const std::uint64_t free = free_main_memory();
  EXPECT_GT(free, 0u);
  EXPECT_LT(free, std::uint64_t{1} << 50);
}

}  // namespace
}  // namespace protogcd
