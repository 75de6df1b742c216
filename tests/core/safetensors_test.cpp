#include "protogcd/core/safetensors.h"

#include <gmock/gmock.h>

#include <cstring>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;

std::string file_with(const std::string& header, std::size_t data_size) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data_size, '\1');
}

/// The message a file is refused with; empty if it is accepted.
std::string refusal_of(const std::string& bytes) {
  try {
    const SafetensorsFile file(std::as_bytes(std::span(bytes)), "weights.safetensors");
  } catch (const ModelFileError& error) {
    return error.what();
  }
  return "";
}

const std::string kGood =
    R"({"__metadata__":{"note":"x"},"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},)"
    R"("a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"empty":{"dtype":"F64","shape":[0,5],"data_offsets":[8,8]}})";

TEST(Safetensors, GivesEntriesMetadataAndBytes) {
  const std::string bytes = file_with(kGood, 11);
  const SafetensorsFile file(std::as_bytes(std::span(bytes)), "w");
  ASSERT_EQ(file.entries().size(), 3u);
  EXPECT_EQ(file.entries()[0].name, "a");
  EXPECT_EQ(file.at("a").shape_text(), "[2, 1]");
  EXPECT_EQ(file.at("b").element_count(), 3u);
  EXPECT_EQ(file.at("empty").element_count(), 0u);
  EXPECT_EQ(file.metadata().at("note"), "x");
  EXPECT_EQ(file.find("c"), nullptr);
  EXPECT_THROW(file.at("c"), ModelFileError);
}

TEST(Safetensors, RefusesEveryKindOfFalseClaim) {
  const auto entry = [](const std::string& body, std::size_t data = 8) {
    return refusal_of(file_with("{\"x\":" + body + "}", data));
  };
  EXPECT_EQ(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})"), "");
  EXPECT_THAT(entry(R"({"dtype":"Q4","shape":[2],"data_offsets":[0,8]})"),
              HasSubstr("entry 'x': unknown dtype 'Q4'"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
              HasSubstr("do not fit its shape"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"), HasSubstr("shape"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]})", 4),
              HasSubstr("do not fit"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
              HasSubstr("lies outside"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[4],"data_offsets":[0,16]})"),
              HasSubstr("lies outside the 8 bytes"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,9]})"),
              HasSubstr("data_offsets"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})"), HasSubstr("hole"));
  EXPECT_THAT(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 9),
              HasSubstr("1 bytes after the last"));
  EXPECT_THAT(entry(R"({"shape":[2],"data_offsets":[0,8]})"), HasSubstr("no dtype"));
  EXPECT_THAT(entry("3"), HasSubstr("not an object"));
  EXPECT_THAT(refusal_of(file_with("[]", 0)), HasSubstr("header is not an object"));
  EXPECT_THAT(refusal_of(file_with(std::string(100, '['), 0)), HasSubstr("nested too deeply"));
  EXPECT_THAT(refusal_of(file_with(R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                   R"("x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                                   1)),
              HasSubstr("entry 'x' occurs twice"));
  EXPECT_THAT(refusal_of(file_with(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                                   R"("y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                                   3)),
              HasSubstr("overlaps"));
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string good = file_with(kGood, 11);
  ASSERT_EQ(refusal_of(good), "");
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(refusal_of(good.substr(0, size)), "") << size;
  }
}

TEST(Safetensors, NoFlippedHeaderByteGetsPastTheChecks) {
  const std::string good = file_with(kGood, 11);
  for (std::size_t i = 0; i < good.size() - 11; ++i) {
    for (const int bit : {1, 4, 128}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ bit);
      try {
        const SafetensorsFile file(std::as_bytes(std::span(bad)), "w");
        std::size_t total = 0;
        for (const auto& entry : file.entries()) total += entry.bytes.size();
        EXPECT_EQ(total, 11u) << "byte " << i;  // at most a name has changed
      } catch (const ModelFileError&) {
      }
    }
  }
}

TEST(Safetensors, WhatIsWrittenReadsBack) {
  const testing::TemporaryFolder folder;
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  const std::vector<std::uint8_t> bytes = {7, 8, 9};
  write_safetensors(
      folder / "w",
      std::vector<TensorEntry>{
          {"blocks.0.weight", ElementType::kFloat32, {2, 3}, std::as_bytes(std::span(floats))},
          {"flags", ElementType::kUint8, {3}, std::as_bytes(std::span(bytes))}},
      {{"by", "test"}});
  const SafetensorsFile file(folder / "w");
  EXPECT_EQ(testing::values_of<float>(file.at("blocks.0.weight")), floats);
  EXPECT_EQ(testing::values_of<std::uint8_t>(file.at("flags")), bytes);
  EXPECT_EQ(file.metadata().at("by"), "test");
  // Data begins at a multiple of 8, so that a mapped float64 tensor is aligned.
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.at("blocks.0.weight").bytes.data()) % 8, 0u);
}

TEST(Safetensors, AnAbsentFileIsNamed) {
  EXPECT_THROW(SafetensorsFile("no/such.safetensors"), FileError);
}

}  // namespace
}  // namespace protogcd
