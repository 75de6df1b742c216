// The built-in backbone: the default for small images, part of the program, and good enough to
// discover with.
#include <gmock/gmock.h>

#include "protogcd/core/files.h"
#include "protogcd/image/encode.h"
#include "protogcd/nn/backbone.h"
#include "tests/discovery/run_helpers.h"
#include "tests/image/image_helpers.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::json_of;
using testing::random_image;
using testing::run_protogcd;
using testing::TemporaryFolder;
using testing::TinyRun;

/// Without --backbone.
std::vector<std::string> discover_command(const TemporaryFolder& folder, const std::string& out) {
  return {"discover",
          "--labelled",
          folder / "demo/labelled",
          "--unlabelled",
          folder / "demo/unlabelled",
          "--truth",
          folder / "demo/truth.csv",
          "--k",
          "16",
          "--epochs",
          "2",
          "--bank-views",
          "2",
          "--json",
          "--device",
          "cpu",
          "--out",
          folder / out};
}

TEST(BuiltinBackbone, IsTheOneOfItsModelCard) {
  const Backbone backbone = load_backbone({.backbone = "builtin", .weights_dir = {}, .heads = {}});
  EXPECT_EQ(backbone.config.depth, 6);
  EXPECT_EQ(backbone.config.width, 192);
  EXPECT_EQ(backbone.config.patch, 8);
  EXPECT_EQ(backbone.preprocessing.size, 64);
  EXPECT_LE(builtin_backbone_bytes().size(), 6'000'000U);
  const std::string card =
      read_text_file(std::filesystem::path(testing::source_folder()) / "docs/builtin-backbone.md");
  EXPECT_THAT(card, HasSubstr(backbone_sha256("builtin")));
}

TEST(BuiltinBackbone, IsTakenForSmallImagesAndServesTheModelLater) {
  const TinyRun work;
  const auto json = json_of(run_protogcd(discover_command(work.folder, "run")));
  EXPECT_GT(json.at("all").get<double>(), 30) << "chance is 6";
  EXPECT_THAT(work.read("run/config.toml"),
              AllOf(HasSubstr("backbone = \"builtin\""), HasSubstr("head_hidden = 512")));
  const auto predicted =
      run_protogcd({"predict", "--model", work.folder / "run", "--images",
                    work.folder / "demo/unlabelled", "--out", work.folder / "again.csv"});
  ASSERT_EQ(predicted.exit_code, 0) << predicted.errors;
  const auto resumed =
      run_protogcd({"discover", "--out", work.folder / "run", "--resume", "--json"});
  EXPECT_EQ(json_of(resumed).at("all"), json.at("all"));
}

TEST(BuiltinBackbone, LargerImagesNeedAnotherAndTheMessageSaysWhich) {
  const TemporaryFolder folder;
  for (const char* name : {"labelled/a", "labelled/b", "unlabelled"}) create_folders(folder / name);
  write_png(folder / "labelled/a/1.png", random_image(64, 64, 1));
  write_png(folder / "labelled/b/1.png", random_image(96, 300, 2));
  write_png(folder / "unlabelled/1.png", random_image(97, 120, 3));
  const auto result = run_protogcd({"discover", "--labelled", folder / "labelled", "--unlabelled",
                                    folder / "unlabelled", "--k", "3", "--out", folder / "run"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors,
              AllOf(HasSubstr("unlabelled/1.png has 97 x 120 pixels"),
                    HasSubstr("protogcd weights get dino-vit"), HasSubstr("--backbone dino-vit"),
                    HasSubstr("protogcd weights list")));
  EXPECT_FALSE(std::filesystem::exists(folder / "run")) << "nothing is begun";
}

}  // namespace
}  // namespace protogcd
