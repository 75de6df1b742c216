// PyTorch's own files, and damaged and hostile ones.
#include "protogcd/core/pth_file.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "tests/support/golden.h"
#include "tests/support/run_program.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(testing::source_folder()) / "tests/fixtures" / name;
}

const TensorEntry& entry(const PthFile& file, const std::string& name) {
  const auto found = std::ranges::find(file.entries(), name, &TensorEntry::name);
  if (found == file.entries().end()) throw std::runtime_error("no entry " + name);
  return *found;
}

std::string refusal_of(const std::string& bytes) {
  try {
    const PthFile file(std::as_bytes(std::span(bytes)), "model.pth");
  } catch (const ModelFileError& error) {
    return error.what();
  }
  return "";
}

TEST(PthFile, ReadsEveryTypeShapeAndStrideThatTorchWrote) {
  const PthFile file(fixture("types.pth"));
  EXPECT_EQ(file.entries().size(), 13u);
  std::vector<float> base(24);
  for (int i = 0; i < 24; ++i) base[i] = static_cast<float>(i);
  EXPECT_EQ(testing::values_of<float>(entry(file, "float32")), base);
  EXPECT_EQ(testing::values_of<double>(entry(file, "float64")),
            std::vector<double>(base.begin(), base.end()));
  EXPECT_EQ(testing::values_of<std::int64_t>(entry(file, "int64")),
            std::vector<std::int64_t>(base.begin(), base.end()));
  EXPECT_EQ(entry(file, "float16").type, ElementType::kFloat16);
  EXPECT_EQ(entry(file, "bfloat16").type, ElementType::kBfloat16);
  EXPECT_EQ(entry(file, "bool").type, ElementType::kBool);
  EXPECT_THAT(entry(file, "transposed").shape, ElementsAre(6, 4));
  EXPECT_THAT(testing::values_of<float>(entry(file, "transposed")).at(1), 6);
  EXPECT_THAT(testing::values_of<float>(entry(file, "slice")), ElementsAre(8, 9, 14, 15));
  EXPECT_THAT(testing::values_of<float>(entry(file, "shared")),
              ElementsAre(12, 13, 14, 15, 16, 17));
  EXPECT_THAT(testing::values_of<float>(entry(file, "scalar")), ElementsAre(2.5F));
  EXPECT_EQ(entry(file, "empty").element_count(), 0u);
  EXPECT_EQ(testing::values_of<float>(entry(file, "parameter")).at(0), 1);
}

TEST(PthFile, NamesNestedTensorsByTheirPath) {
  const PthFile file(fixture("dino_checkpoint.pth"));
  EXPECT_EQ(file.entries().size(), 6u);
  EXPECT_THAT(entry(file, "teacher.backbone.cls_token").shape, ElementsAre(1, 1, 4));
  EXPECT_THAT(entry(file, "student.module.backbone.pos_embed").shape, ElementsAre(1, 5, 4));
}

TEST(PthFile, ReadsATensorThatWasSavedAlone) {
  const PthFile file(fixture("tensor.pth"));
  ASSERT_EQ(file.entries().size(), 1u);
  EXPECT_THAT(entry(file, "tensor").shape, ElementsAre(3, 6));
  EXPECT_EQ(testing::values_of<float>(entry(file, "tensor")).at(17), 17);
}

TEST(PthFile, RefusesAFileThatWouldExecuteSomethingByName) {
  EXPECT_THAT(refusal_of(read_text_file(fixture("evil.pth"))),
              AllOf(HasSubstr("model.pth"), HasSubstr("system")));
}

TEST(PthFile, EveryTruncationIsRefused) {
  const std::string good = read_text_file(fixture("types.pth"));
  ASSERT_EQ(refusal_of(good), "");
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(refusal_of(good.substr(0, size)), "") << size;
}

TEST(PthFile, NoFlippedByteOfTheDirectoryOrThePickleCrashesOrReadsOutside) {
  const std::string good = read_text_file(fixture("dino_checkpoint.pth"));
  std::size_t refused = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int bit : {1, 16, 128}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ bit);
      try {
        const PthFile file(std::as_bytes(std::span(bad)), "model.pth");
        for (const auto& tensor : file.entries()) {
          EXPECT_GE(tensor.bytes.data(), std::as_bytes(std::span(bad)).data());
          EXPECT_LE(tensor.bytes.data() + tensor.bytes.size(),
                    std::as_bytes(std::span(bad)).data() + bad.size());
        }
      } catch (const ModelFileError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, good.size() / 4);
}

TEST(PthFile, TellsItsOwnKindFromOthers) {
  const std::string legacy = read_text_file(fixture("legacy.pth")),
                    zip = read_text_file(fixture("types.pth"));
  EXPECT_TRUE(PthFile::looks_like_one(std::as_bytes(std::span(zip))));
  EXPECT_FALSE(PthFile::looks_like_one(std::as_bytes(std::span(legacy))));
  EXPECT_NE(refusal_of(legacy), "");
}

}  // namespace
}  // namespace protogcd
