#include "protogcd/core/sha256.h"

#include <gtest/gtest.h>

#include "protogcd/core/files.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheInputIsCut) {
  const std::string text(300, 'x');
  for (std::size_t length = 0; length <= 130; ++length) {
    Sha256 hash;
    hash.update(text.substr(0, length / 3));
    hash.update(text.substr(length / 3, length - length / 3));
    EXPECT_EQ(hexadecimal(hash.finish()), sha256_hex(text.substr(0, length))) << length;
  }
}

TEST(Sha256, HashesFiles) {
  const testing::TemporaryFolder folder;
  write_file_atomically(folder / "abc", "abc");
  EXPECT_EQ(sha256_file(folder / "abc"), sha256_hex("abc"));
}

}  // namespace
}  // namespace protogcd
