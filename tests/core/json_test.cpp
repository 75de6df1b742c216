// JSON of strangers: what is nested too deep for the stack is refused before anything is made of
// it.
#include "protogcd/core/json.h"

#include <gtest/gtest.h>

namespace protogcd {
namespace {

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(Json, WhatIsNestedTooDeepIsRefusedHoweverDeep) {
  for (const std::size_t depth : {101, 1'000'000}) {
    EXPECT_THROW(parse_json(nested(depth)), nlohmann::json::exception);
    EXPECT_TRUE(parse_json_or_discard(nested(depth)).is_discarded());
    EXPECT_TRUE(parse_json_or_discard(std::string(depth, '[')).is_discarded());
  }
  EXPECT_EQ(parse_json(nested(100)).dump(), nested(100));
}

TEST(Json, BracketsInTextsAreNoNesting) {
  const std::string text = R"(["\"[\\", ")" + std::string(1000, '[') + R"("])";
  EXPECT_EQ(parse_json(text).size(), 2u);
  std::string siblings = "[0";
  for (int i = 0; i < 1000; ++i) siblings += ",{}";
  EXPECT_EQ(parse_json(siblings + "]").size(), 1001u);
}

}  // namespace
}  // namespace protogcd
