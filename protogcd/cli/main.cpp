#include "protogcd/cli/command_line.h"
#include "protogcd/cli/verbs.h"

#ifdef PROTOGCD_WITH_TORCH
#include <unistd.h>

#include <array>
#include <cstring>

// Threads of libgomp that wait for work spin for milliseconds by default, and take the cores from
// those that decode images, or from other programs: on two busy cores training was up to ten times
// slower. If they slept at once, each of a step's many small operations would wait for them to wake
// up: a few microseconds of spinning are the best of both (docs/speed.md). libgomp reads its
// settings while it is loaded, so the program starts itself once more with the setting in its
// environment, before any library has begun. What the user sets stays.
static void let_waiting_threads_sleep_soon(int, char** argv, char** environment) {
  static std::array<char*, 4096> extended;
  static char setting[] = "GOMP_SPINCOUNT=2000";
  std::size_t count = 0;
  for (; environment[count] != nullptr; ++count) {
    const char* entry = environment[count];
    const bool is_set = std::strncmp(entry, "OMP_WAIT_POLICY=", 16) == 0 ||
                        std::strncmp(entry, "GOMP_SPINCOUNT=", 15) == 0;
    if (is_set || count + 2 >= extended.size()) return;
    extended[count] = environment[count];
  }
  extended[count] = setting;
  ::execve("/proc/self/exe", argv,
           extended.data());  // if it fails, slower is better than not at all
}
[[gnu::used, gnu::section(".preinit_array")]] static void (*const before_libraries)(
    int, char**, char**) = let_waiting_threads_sleep_soon;
#endif

int main(int argc, char** argv) {
  return protogcd::cli::run_command_line({argv + 1, argv + argc}, protogcd::cli::all_verbs());
}
