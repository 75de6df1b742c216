// The launcher in a prefix of its own, with torch packages that are empty but for what it looks at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "protogcd/cli/launch.h"
#include "protogcd/core/files.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ProgramResult;

constexpr const char* kMinor = PROTOGCD_TORCH_MINOR;

class Launcher : public ::testing::Test {
 protected:
  Launcher() {
    create_folders(folder_ / "prefix/bin");
    create_folders(program_folder());
    fs::copy_file(testing::protogcd_path(), folder_ / "prefix/bin/protogcd");
    const fs::path program = program_folder() / "protogcd-program";
    write_file_atomically(program,
                          "#!/bin/sh\n"
                          "echo \"libraries $LD_LIBRARY_PATH.\"\n"
                          "echo \"users $PROTOGCD_USERS_LIBRARY_PATH.\"\n"
                          "echo \"spin $GOMP_SPINCOUNT.\"\n"
                          "echo \"arguments $*.\"\n");
    fs::permissions(program, fs::perms::owner_all);
    create_folders(home());
  }

  /// A torch package of the machine itself would be found where a test expects none.
  void SetUp() override {
    for (const fs::path& libraries : {fs::path("/usr/lib"), fs::path("/usr/local/lib")}) {
      for (const auto& entry : fs::directory_iterator(libraries)) {
        for (const char* kind : {"site-packages/torch", "dist-packages/torch"}) {
          if (entry.path().filename().string().starts_with("python3") &&
              fs::exists(entry.path() / kind))
            GTEST_SKIP() << (entry.path() / kind) << " is there";
        }
      }
    }
  }

  fs::path program_folder() const { return folder_ / "prefix/libexec/protogcd"; }
  fs::path home() const { return folder_ / "home"; }

  /// A torch package below `prefix`, as pip would put it there.
  fs::path add_torch(const fs::path& prefix, const std::string& version) {
    const fs::path package = prefix / "lib/python3.99/site-packages/torch";
    create_folders(package / "lib");
    for (const char* library :
         {"libtorch_cpu.so", "libtorch.so", "libc10.so", "libtorch_cuda.so", "libc10_cuda.so"})
      write_file_atomically(package / "lib" / library, "");
    write_file_atomically(package / "version.py", "__version__ = '" + version + "+cpu'\n");
    return package;
  }

  /// Started with nothing in the environment but `settings`.
  ProgramResult start(const std::vector<std::string>& settings = {}) const {
    std::vector<std::string> command = {"env", "-i", "PATH=/nonexistent",
                                        "HOME=" + home().string()};
    command.insert(command.end(), settings.begin(), settings.end());
    for (const std::string& word :
         {(folder_ / "prefix/bin/protogcd").string(), std::string("info"), std::string("--json")})
      command.push_back(word);
    return testing::run_command(command);
  }

  testing::TemporaryFolder folder_;
};

std::string of_this_minor() {
  return std::string(kMinor) + ".7";
}

TEST_F(Launcher, WithoutLibtorchSaysWhatToInstall) {
  const ProgramResult result = start();
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors,
              AllOf(HasSubstr("none was found"), HasSubstr("TORCH_DIR"),
                    HasSubstr(std::string("pip install 'torch==") + kMinor + ".*'")));
}

TEST_F(Launcher, NamesALibtorchOfAnotherVersionAndDoesNotUseIt) {
  const fs::path package = add_torch(folder_ / "environment", "1.2.3");
  const ProgramResult result = start({"VIRTUAL_ENV=" + (folder_ / "environment").string()});
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_THAT(result.errors, HasSubstr(package.string() + " (version 1.2.3)"));
}

// 2.1 is not 2.13.
TEST_F(Launcher, ComparesWholeNumbersOfTheVersion) {
  const std::string minor = kMinor;
  for (const std::string& other : {minor + "0.1", minor.substr(0, minor.size() - 1) + ".0"}) {
    add_torch(folder_ / "environment", other);
    EXPECT_EQ(start({"VIRTUAL_ENV=" + (folder_ / "environment").string()}).exit_code, 6) << other;
  }
}

TEST_F(Launcher, TakesThePackageOfTheActiveEnvironmentAndPassesArgumentsOn) {
  const fs::path package = add_torch(folder_ / "environment", of_this_minor());
  for (const char* variable : {"VIRTUAL_ENV=", "CONDA_PREFIX="}) {
    const ProgramResult result = start({variable + (folder_ / "environment").string()});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_THAT(result.output, AllOf(HasSubstr("libraries " + (package / "lib").string() + "."),
                                     HasSubstr("users ."), HasSubstr("arguments info --json.")));
  }
}

TEST_F(Launcher, TakesThePackageOfThePythonInPath) {
  const fs::path package = add_torch(folder_ / "environment", of_this_minor());
  create_folders(folder_ / "environment/bin");
  write_file_atomically(folder_ / "environment/bin/python3", "");
  const ProgramResult result = start({"PATH=" + (folder_ / "environment/bin").string()});
  EXPECT_THAT(result.output, HasSubstr("libraries " + (package / "lib").string() + "."));
}

TEST_F(Launcher, TorchDirWinsOverEverythingElseAndIsTheOnlyOneThen) {
  add_torch(folder_ / "environment", of_this_minor());
  const fs::path named = add_torch(folder_ / "named", of_this_minor());
  const std::string active = "VIRTUAL_ENV=" + (folder_ / "environment").string();
  for (const fs::path& spelling : {named, named / "share/cmake", named.parent_path()}) {
    EXPECT_THAT(start({active, "TORCH_DIR=" + spelling.string()}).output,
                HasSubstr("libraries " + (named / "lib").string() + "."))
        << spelling;
  }
  const ProgramResult absent = start({active, "TORCH_DIR=/nonexistent/a/b/c"});
  EXPECT_EQ(absent.exit_code, 6);
  EXPECT_THAT(absent.errors, AllOf(HasSubstr("TORCH_DIR names none"), HasSubstr("/nonexistent")));
}

TEST_F(Launcher, TheLibtorchOfTheBuildComesFirstWhileItIsThere) {
  const fs::path active = add_torch(folder_ / "environment", of_this_minor());
  const fs::path built_with = add_torch(folder_ / "venv", of_this_minor());
  write_file_atomically(program_folder() / "torch_folder", built_with.string() + "\n");
  const std::string environment = "VIRTUAL_ENV=" + (folder_ / "environment").string();
  EXPECT_THAT(start({environment}).output, HasSubstr((built_with / "lib").string()));
  remove_folder(folder_ / "venv");
  EXPECT_THAT(start({environment}).output, HasSubstr((active / "lib").string()));
  const ProgramResult none = start();
  EXPECT_EQ(none.exit_code, 6);
  EXPECT_THAT(none.errors, HasSubstr(built_with.string() + " (of the build; no longer there)"));
}

TEST_F(Launcher, ALibtorchWithoutANeededLibraryIsNotUsed) {
  const fs::path package = add_torch(folder_ / "environment", of_this_minor());
  fs::remove(package / "lib/libc10.so");
  const ProgramResult result = start({"VIRTUAL_ENV=" + (folder_ / "environment").string()});
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_THAT(result.errors, HasSubstr("has no libc10.so"));
}

TEST_F(Launcher, KeepsWhatTheUserSet) {
  const fs::path package = add_torch(folder_ / "environment", of_this_minor());
  const std::string active = "VIRTUAL_ENV=" + (folder_ / "environment").string();
  EXPECT_THAT(start({active}).output, HasSubstr("spin 2000."));
  EXPECT_THAT(start({active, "GOMP_SPINCOUNT=7"}).output, HasSubstr("spin 7."));
  EXPECT_THAT(start({active, "OMP_WAIT_POLICY=active"}).output, HasSubstr("spin ."));
  EXPECT_THAT(start({active, "LD_LIBRARY_PATH=/own"}).output,
              AllOf(HasSubstr("libraries " + (package / "lib").string() + ":/own."),
                    HasSubstr("users /own.")));
}

TEST(Launch, WhatTheProgramStartsGetsTheUsersLibraryPath) {
  ::setenv(cli::kLibraryPath, "/torch/lib:/own", 1);
  ::setenv(cli::kUsersLibraryPath, "/own", 1);
  cli::give_back_library_path();
  EXPECT_STREQ(std::getenv(cli::kLibraryPath), "/own");
  EXPECT_EQ(std::getenv(cli::kUsersLibraryPath), nullptr);

  ::setenv(cli::kUsersLibraryPath, "", 1);  // there was none
  cli::give_back_library_path();
  EXPECT_EQ(std::getenv(cli::kLibraryPath), nullptr);

  ::setenv(cli::kLibraryPath, "/own", 1);  // started without the launcher
  cli::give_back_library_path();
  EXPECT_STREQ(std::getenv(cli::kLibraryPath), "/own");
  ::unsetenv(cli::kLibraryPath);
}

TEST(Launch, TheProgramIsStartedAgainThroughTheLauncher) {
  ::unsetenv(cli::kLauncher);
  EXPECT_EQ(cli::program_to_start(), fs::read_symlink("/proc/self/exe").string());
  ::setenv(cli::kLauncher, "/prefix/bin/protogcd", 1);
  EXPECT_EQ(cli::program_to_start(), "/prefix/bin/protogcd");
  ::unsetenv(cli::kLauncher);
}

}  // namespace
}  // namespace protogcd
