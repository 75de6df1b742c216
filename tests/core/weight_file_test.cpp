// Weight files by content: what is one is opened, what is often taken for one is named.
#include "protogcd/core/weight_file.h"

#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/safetensors.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(testing::source_folder()) / "tests/fixtures" / name;
}

std::string refusal_of(const std::filesystem::path& path) {
  try {
    open_weight_file(path);
  } catch (const ModelFileError& error) {
    return std::string(error.what()) + "\n" + error.hint();
  }
  return "";
}

std::string refusal_of_content(std::string_view content) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "weights.bin", content);
  return refusal_of(folder / "weights.bin");
}

TEST(WeightFile, TheContentTellsTheFormatWhateverTheName) {
  const TemporaryFolder folder;
  std::filesystem::copy(fixture("types.pth"), folder / "a.safetensors");
  std::filesystem::copy(fixture("hf_vit.safetensors"), folder / "b.pth");
  const WeightFile pytorch = open_weight_file(folder / "a.safetensors");
  EXPECT_EQ(pytorch.format, WeightFormat::kPytorch);
  EXPECT_EQ(pytorch.entries.size(), 13u);
  const WeightFile safetensors = open_weight_file(folder / "b.pth");
  EXPECT_EQ(safetensors.format, WeightFormat::kSafetensors);
  EXPECT_EQ(safetensors.metadata.at("format"), "pt");
}

// A header's length may be any multiple of 8, also one that begins as a pickle does.
TEST(WeightFile, SafetensorsOfAnyHeaderLengthAreRead) {
  const TemporaryFolder folder;
  const std::array<std::byte, 4> bytes{};
  for (std::size_t length = 1; length < 600; length += 8) {
    write_safetensors(
        folder / "w",
        std::vector<TensorEntry>{{std::string(length, 'a'), ElementType::kFloat32, {1}, bytes}});
    EXPECT_EQ(open_weight_file(folder / "w").entries.size(), 1u) << length;
  }
}

TEST(WeightFile, AWebPageIsCalledOne) {
  EXPECT_THAT(
      refusal_of_content("\n<!DOCTYPE html>\n<html><body>Not found</body></html>"),
      AllOf(HasSubstr("weights.bin: is a web page"), HasSubstr("download the file itself")));
  EXPECT_THAT(refusal_of_content("<HTML>"), HasSubstr("web page"));
}

TEST(WeightFile, AGitLfsPointerIsCalledOne) {
  EXPECT_THAT(refusal_of_content("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
              AllOf(HasSubstr("git-lfs pointer"), HasSubstr("git lfs pull")));
}

TEST(WeightFile, AFileOfAnOldTorchSaysToSaveItAgain) {
  EXPECT_THAT(refusal_of(fixture("legacy.pth")),
              AllOf(HasSubstr("legacy.pth: is in the format of PyTorch before 1.6"),
                    HasSubstr("re-save it with a newer torch")));
}

TEST(WeightFile, TextPicklesAndEmptyFilesAreNamed) {
  EXPECT_THAT(refusal_of_content("{\"error\": \"no such model\"}"), HasSubstr("is text"));
  EXPECT_THAT(refusal_of_content("\x80\x04K\x01."), HasSubstr("Python pickle"));
  EXPECT_THAT(refusal_of_content(""), HasSubstr("is empty"));
}

}  // namespace
}  // namespace protogcd
