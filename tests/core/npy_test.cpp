#include "protogcd/core/npy.h"

#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// A version 1 file with this header and this many zero bytes of data.
std::string npy_text(std::string header, std::size_t data) {
  header += "\n";
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size());
  text += '\0';
  return text + header + std::string(data, '\0');
}

std::string message_for(const std::string& text) {
  try {
    const NpyFile file(bytes_of(text), "a.npy");
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Npy, ReadsWhatNumpyWrote) {
  const auto folder = std::filesystem::path(testing::source_folder()) / "fuzz/corpus/npy";
  const NpyFile floats(folder / "f4.npy");
  EXPECT_EQ(floats.array().type, ElementType::kFloat32);
  EXPECT_THAT(floats.array().shape, ElementsAre(2, 3));
  EXPECT_THAT(NpyFile(folder / "i8.npy").integers(), ElementsAre(0, 1, 2));
  EXPECT_THAT(NpyFile(folder / "scalar.npy").array().shape, ElementsAre());
  EXPECT_THAT(NpyFile(folder / "v2.npy").integers(), ElementsAre(0, 0, 0));
  EXPECT_THAT(NpyFile(folder / "v3.npy").integers(), ElementsAre(0, 0, 0));
}

TEST(Npy, RefusesWhatItCannotReadAndSaysWhy) {
  const auto folder = std::filesystem::path(testing::source_folder()) / "fuzz/corpus/npy";
  const auto message = [&](const char* name) {
    try {
      const NpyFile file(folder / name);
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(message("fortran.npy"), HasSubstr("Fortran order"));
  EXPECT_THAT(message("object.npy"), HasSubstr("Python objects"));
  EXPECT_THAT(message("big.npy"), HasSubstr("big-endian"));
  EXPECT_THAT(message("struct.npy"), HasSubstr("structured types"));
  EXPECT_THAT(message("huge-shape.npy"), HasSubstr("huge-shape.npy: "));
  EXPECT_THAT(message("huge-shape.npy"), HasSubstr("do not fit"));
}

TEST(Npy, RefusesDamagedHeaders) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  EXPECT_EQ(message_for(npy_text(good, 8)), "accepted");
  EXPECT_THAT(message_for(npy_text(good, 7)), HasSubstr("do not fit"));
  EXPECT_THAT(message_for(npy_text(good, 8).substr(0, 20)), HasSubstr("claims"));
  EXPECT_THAT(message_for("x"), HasSubstr("not an npy file"));
  for (const char* bad :
       {"{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } x",
        "{'descr': '<q9', 'fortran_order': False, 'shape': (2,), }", "{", ""}) {
    EXPECT_NE(message_for(npy_text(bad, 8)), "accepted") << bad;
  }
}

TEST(Npy, WritesRowsThatReadBackAndThatNumpyWouldAccept) {
  const testing::TemporaryFolder folder;
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  NpyWriter writer(folder / "rows.npy", ElementType::kFloat32, {3, 2});
  writer.append(std::as_bytes(std::span(values).first(2)));
  writer.append(std::as_bytes(std::span(values).subspan(2)));
  writer.commit();
  const NpyFile file(folder / "rows.npy");
  EXPECT_THAT(file.array().shape, ElementsAre(3, 2));
  EXPECT_TRUE(std::ranges::equal(file.array().bytes, std::as_bytes(std::span(values))));
  // numpy aligns the data to 64 bytes, so that it can be mapped.
  EXPECT_EQ((std::filesystem::file_size(folder / "rows.npy") - file.array().bytes.size()) % 64, 0u);
}

TEST(Npy, AFileWithTooFewRowsNeverAppears) {
  const testing::TemporaryFolder folder;
  {
    NpyWriter writer(folder / "rows.npy", ElementType::kUint8, {3});
    const std::array<std::byte, 4> bytes{};
    EXPECT_THROW(writer.append(bytes), InternalError);
    EXPECT_THROW(writer.commit(), InternalError);
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "rows.npy"));
}

}  // namespace
}  // namespace protogcd
