#include "protogcd/core/pickle.h"

#include <gmock/gmock.h>

#include <array>
#include <filesystem>

#include "protogcd/core/files.h"
#include "tests/support/run_program.h"

namespace protogcd {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;
using Kind = PickleValue::Kind;

constexpr std::array<std::string_view, 6> kGlobals = {
    "numpy.core.multiarray._reconstruct", "numpy.ndarray",           "numpy.dtype",
    "torch._utils._rebuild_tensor_v2",    "collections.OrderedDict", "torch.FloatStorage"};

std::string seed(const std::string& name) {
  return read_text_file(std::filesystem::path(testing::source_folder()) / "fuzz/corpus/pickle" /
                        name);
}

std::string message_for(const std::string& bytes, PickleOptions options = {}) {
  options.allowed_globals = kGlobals;
  try {
    const PickleDocument document(bytes, "x.pkl", options);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

// {'a': [1,-2,3000,70000,2**40,-2**50], 'b': (1.5,None,True,b'xy','é'), 'c': {}}
TEST(Pickle, ReadsPlainValuesOfEveryBinaryProtocol) {
  for (const char* name : {"plain3", "plain4", "plain5"}) {
    const std::string bytes = seed(name);
    const PickleDocument document(bytes, name, {});
    EXPECT_EQ(document.size(), bytes.size());
    const PickleValue* list = document.root().find("a");
    ASSERT_NE(list, nullptr) << name;
    std::vector<std::int64_t> numbers;
    for (const auto* item : list->items) numbers.push_back(item->integer);
    EXPECT_THAT(numbers, ::testing::ElementsAre(1, -2, 3000, 70000, std::int64_t{1} << 40,
                                                -(std::int64_t{1} << 50)));
    const PickleValue* tuple = document.root().find("b");
    ASSERT_NE(tuple, nullptr);
    ASSERT_EQ(tuple->items.size(), 5u);
    EXPECT_EQ(tuple->items[0]->real, 1.5);
    EXPECT_TRUE(tuple->items[1]->is(Kind::kNone));
    EXPECT_TRUE(tuple->items[2]->is(Kind::kBool));
    EXPECT_TRUE(tuple->items[3]->is(Kind::kBytes));
    EXPECT_EQ(tuple->items[3]->text, "xy");
    EXPECT_EQ(tuple->items[4]->text, "\xC3\xA9");
    EXPECT_TRUE(document.root().find("c")->is(Kind::kDict));
    EXPECT_EQ(document.root().find("missing"), nullptr);
  }
}

TEST(Pickle, ReadsATorchStateDictAsNamesAndArguments) {
  const std::string bytes = seed("torch");
  const PickleDocument document(bytes, "x.pth", {.allowed_globals = kGlobals});
  EXPECT_EQ(document.root().text, "collections.OrderedDict");
  ASSERT_NE(document.root().state, nullptr);
  const PickleValue* weight = document.root().find("weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->text, "torch._utils._rebuild_tensor_v2");
  ASSERT_EQ(weight->arguments->items.size(), 6u);
  const PickleValue* storage = weight->arguments->items[0];
  ASSERT_TRUE(storage->is(Kind::kPersistent));
  EXPECT_EQ(storage->arguments->items[1]->text, "torch.FloatStorage");
  EXPECT_EQ(weight->arguments->items[2]->items[1]->integer, 3);
}

TEST(Pickle, RefusesUnknownGlobalsByName) {
  EXPECT_THAT(message_for(seed("unknown-global")), HasSubstr("'os.system'"));
  EXPECT_THAT(message_for("\x80\x04\x8c\x02os\x8c\x06system\x93."s), HasSubstr("'os.system'"));
  EXPECT_THAT(message_for(seed("plain2")), HasSubstr("'_codecs.encode'"));
}

TEST(Pickle, ThrowsTheKindOfErrorTheCallerAsksFor) {
  EXPECT_THROW(PickleDocument("", "x", {}), DataError);
  EXPECT_THROW(PickleDocument("", "x", {.error_kind = ErrorKind::kModelFile}), ModelFileError);
}

TEST(Pickle, NamesFileAndOffset) {
  EXPECT_THAT(message_for("\x80\x02]K"s), HasSubstr("x.pkl: pickle at offset 3"));
}

TEST(Pickle, RefusesEveryTruncation) {
  for (const char* name : {"torch", "numpy2", "plain5"}) {
    const std::string bytes = seed(name);
    ASSERT_EQ(message_for(bytes), "accepted") << name;
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_NE(message_for(bytes.substr(0, length)), "accepted") << name << " " << length;
    }
  }
}

TEST(Pickle, ChecksOperandsOfEveryKind) {
  for (const auto& bad :
       {"K\x01K\x02"s + "a.", "]"s + "K\x01s.", "}K\x01s."s, "K\x01)R."s, ")K\x01"s + "b.",
        "h\x05."s, "t."s, "0."s, "(."s, "K\x01K\x01."s, "}(K\x01u."s, "K\x01\x93."s, "\x80\x09N."s,
        "\x8a\x09"s + std::string(9, '\1') + ".", "T\xff\xff\xff\xff."s, "I1\n."s,
        "((K\x01"s + "0" + "0."}) {
    EXPECT_NE(message_for(bad), "accepted") << ::testing::PrintToString(bad);
  }
}

TEST(Pickle, DeepAndCyclicValuesAreHeldAndFreedWithoutRecursion) {
  std::string deep = "\x80\x02)";
  deep.append(1'000'000, '\x85').append(".");
  EXPECT_EQ(message_for(deep), "accepted");
  const std::string cyclic = seed("cyclic");
  const PickleDocument document(cyclic, "x", {});
  EXPECT_EQ(document.root().items.at(0), &document.root());
}

TEST(Pickle, KeepsItsLimits) {
  EXPECT_THAT(message_for(std::string(2000, '(')), HasSubstr("nested too deeply"));
  EXPECT_THAT(message_for(std::string(2000, 'N'), {.most_values = 1000}),
              HasSubstr("too many values"));
}

}  // namespace
}  // namespace protogcd
