// What people start as `protogcd`: finds libtorch, prepares the environment that must stand before
// libtorch is loaded, and becomes the program in libexec/protogcd. Without libtorch it says what to
// install, where the program itself would die in the dynamic loader.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "protogcd/cli/launch.h"
#include "protogcd/cli/torch_search.h"
#include "protogcd/core/error.h"

namespace protogcd::cli {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

TorchNeed need_of_build() {
  TorchNeed need{.version = PROTOGCD_TORCH_MINOR, .libraries = {"libtorch.so", "libc10.so"}};
#ifdef PROTOGCD_TORCH_CUDA
  need.libraries.insert(need.libraries.end(), {"libtorch_cuda.so", "libc10_cuda.so"});
#endif
  return need;
}

int explain(const TorchSearch& search, const TorchNeed& need) {
  std::fprintf(stderr, "protogcd: error: libtorch %s is needed, and %s\n", need.version.c_str(),
               search.asked_by_name ? "TORCH_DIR names none" : "none was found");
  for (const std::string& line : search.rejected)
    std::fprintf(stderr, "  not used: %s\n", line.c_str());
  std::fprintf(stderr,
               "  Install it with Python's pip, into the active environment:\n"
               "    pip install 'torch==%s.*'\n"
               "  or set TORCH_DIR to the folder of a torch package or of an unpacked libtorch.\n",
               need.version.c_str());
  return static_cast<int>(ErrorKind::kDevice);
}

/// Threads of libgomp that wait for work spin for milliseconds by default, and take the cores from
/// those that decode images, or from other programs: on two busy cores training was up to ten times
/// slower. If they slept at once, each of a step's many small operations would wait for them to
/// wake up: a few microseconds of spinning are the best of both (docs/speed.md). libgomp reads its
/// settings while it is loaded. What the user sets stays.
void let_waiting_threads_sleep_soon() {
  if (!variable("OMP_WAIT_POLICY")) ::setenv("GOMP_SPINCOUNT", "2000", /*overwrite=*/0);
}

/// The dynamic loader reads LD_LIBRARY_PATH as the program starts; the program then gives the
/// user's own value back.
void lead_loader_to(const fs::path& libraries) {
  const std::string own = variable(kLibraryPath).value_or("");
  ::setenv(kUsersLibraryPath, own.c_str(), 1);
  ::setenv(kLibraryPath, (libraries.string() + (own.empty() ? "" : ":" + own)).c_str(), 1);
}

int launch(char** arguments) {
  std::error_code error;
  const fs::path launcher = fs::read_symlink("/proc/self/exe", error);
  const fs::path folder = launcher.parent_path().parent_path() / "libexec/protogcd";
  std::string recorded;
  std::getline(std::ifstream(folder / "torch_folder"), recorded);

  const TorchNeed need = need_of_build();
  const TorchSearch search = find_torch(need, recorded, variable);
  if (!search.found) return explain(search, need);

  let_waiting_threads_sleep_soon();
  lead_loader_to(search.found->libraries);
  ::setenv(kLauncher, launcher.c_str(), 1);
  const fs::path program = folder / "protogcd-program";
  ::execv(program.c_str(), arguments);
  std::fprintf(stderr, "protogcd: error: %s: cannot be started: %s\n", program.c_str(),
               std::strerror(errno));
  return static_cast<int>(ErrorKind::kFile);
}

}  // namespace
}  // namespace protogcd::cli

int main(int, char** argv) {
  return protogcd::cli::launch(argv);
}
