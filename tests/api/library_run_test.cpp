// A run that a program of its own makes through the public headers is one like any other: it is
// resumed, reported, predicted with and corrected, and its host hears of it.
#include <gmock/gmock.h>

#include <cmath>
#include <span>
#include <variant>

#include "protogcd/api/class_number.h"
#include "protogcd/api/demo.h"
#include "protogcd/api/discover.h"
#include "protogcd/api/model.h"
#include "protogcd/api/request_options.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/image/decode.h"
#include "protogcd/report/page.h"
#include "protogcd/report/report.h"
#include "tests/discovery/run_helpers.h"
#include "tests/support/error_message.h"
#include "tests/support/recorded_host.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::TinyRun;

struct LibraryRun {
  DiscoverRequest request(const std::string& out) const {
    DiscoverRequest made;
    made.labelled = tiny.folder / "demo/labelled";
    made.unlabelled = tiny.folder / "demo/unlabelled";
    made.out = tiny.folder / out;
    made.backbone = tiny.folder / "tiny.safetensors";
    made.k = 16;
    made.epochs = 2;
    made.settings = {{"image_size", "32"},  {"batch_size", "16"},
                     {"head_hidden", "32"}, {"projection", "16"},
                     {"report", "false"},   {"truth", tiny.folder / "demo/truth.csv"}};
    return made;
  }

  const TinyRun tiny{4};
  const Context context{.device = "cpu", .dtype = "float32", .threads = 1};
};

TEST(LibraryRun, IsLikeTheProgramsOwn) {
  const LibraryRun library;
  const RunResult found = discover(library.request("library"), library.context);
  testing::json_of(testing::run_protogcd(
      library.tiny.command("discover", "program", {"--epochs", "2", "--eval-every", "5"})));
  library.tiny.expect_same("library", "program");
  EXPECT_EQ(found.k, 16);
  EXPECT_EQ(found.classes.size(), 16u);
  EXPECT_FALSE(std::isnan(found.on_unlabelled.accuracy.all));
}

TEST(LibraryRun, IsResumedPredictedWithReportedAndCorrected) {
  const LibraryRun library;
  discover(library.request("run"), library.context);

  DiscoverRequest again = library.request("run");
  again.resume = true;
  const std::string before = library.tiny.read("run/result.json");
  EXPECT_EQ(discover(again, library.context).k, 16);
  EXPECT_EQ(library.tiny.read("run/result.json"), before);
  const auto by_program = testing::run_protogcd(
      {"discover", "--out", library.tiny.folder / "run", "--resume", "--json"});
  EXPECT_THAT(by_program.errors, HasSubstr("finished already"));

  const Model model = Model::load(library.tiny.folder / "run", library.context);
  EXPECT_EQ(model.classes().size(), 16u);
  EXPECT_EQ(model.old_classes(), 10);
  const fs::path image = library.tiny.folder / "demo/unlabelled/00001.png";
  const PredictedImages predicted = model.predict({image, "no-such.png", "folder/"});
  ASSERT_EQ(predicted.images.size(), 1u);
  ASSERT_EQ(predicted.unread.size(), 2u);
  EXPECT_EQ(predicted.unread[0].path, "folder/");
  EXPECT_EQ(predicted.unread[1].path, "no-such.png");
  const PredictionsTable table =
      PredictionsTable::read(library.tiny.folder / "run/predictions.csv");
  EXPECT_EQ(predicted.images[0].class_name, table.class_name(0));
  EXPECT_NEAR(predicted.images[0].confidence, table.confidence(0), 1e-5);
  EXPECT_EQ(model.predict_folder(library.tiny.folder / "demo/unlabelled").images.size(),
            table.size());

  const EmbeddedImages embedded = model.embed({image, image});
  ASSERT_EQ(embedded.values.size(), static_cast<std::size_t>(2 * embedded.width));
  double squares = 0;
  for (std::int64_t i = 0; i < embedded.width; ++i) {
    const float value = embedded.values[static_cast<std::size_t>(i)];
    squares += static_cast<double>(value) * value;
    EXPECT_EQ(value, embedded.values[static_cast<std::size_t>(embedded.width + i)]);
  }
  EXPECT_NEAR(squares, 1, 1e-5);

  if (has_report_page()) {
    write_report(library.tiny.folder / "run", library.tiny.folder / "page.html", library.context);
    EXPECT_GT(fs::file_size(library.tiny.folder / "page.html"), 100000u);
  }

  write_file_atomically(library.tiny.folder / "c.csv",
                        "action,path,class,target\naccept,," + table.class_name(0) + ",\n");
  DiscoverRequest next = library.request("next");
  next.settings["corrections"] = library.tiny.folder / "c.csv";
  next.settings["previous"] = library.tiny.folder / "run";
  EXPECT_GT(discover(next, library.context).labelled, 20u);
}

TEST(LibraryRun, ImagesInMemoryAreThoseOfTheirFiles) {
  const LibraryRun library;
  discover(library.request("run"), library.context);
  const Model model = Model::load(library.tiny.folder / "run", library.context);
  const std::vector<fs::path> files = {library.tiny.folder / "demo/unlabelled/00001.png",
                                       library.tiny.folder / "demo/unlabelled/00002.png"};
  const std::string encoded = read_text_file(files[0]), broken = "no image";
  const Image pixels = std::get<Image>(read_image(files[1]));
  const std::vector<ImageInMemory> images = {
      {.name = "first", .encoded = std::as_bytes(std::span(encoded))},
      {.name = "broken", .encoded = std::as_bytes(std::span(broken))},
      {.name = "second", .pixels = pixels.pixels, .width = pixels.width, .height = pixels.height}};

  const PredictedImages expected = model.predict(files, true), found = model.predict(images, true);
  ASSERT_EQ(found.images.size(), 2u);
  EXPECT_THAT(found.positions, ElementsAre(0, 2));
  EXPECT_EQ(found.images[1].path, "second");
  EXPECT_EQ(found.images[0].class_name, expected.images[0].class_name);
  EXPECT_EQ(found.probabilities.size(), 32u);
  EXPECT_EQ(found.probabilities, expected.probabilities);
  ASSERT_EQ(found.unread.size(), 1u);
  EXPECT_EQ(found.unread[0].path, "broken");
  EXPECT_EQ(model.embed(images).values, model.embed(files).values);
}

TEST(LibraryRun, TellsItsHostAndNobodyElse) {
  const LibraryRun library;
  const auto host = std::make_shared<testing::RecordedHost>();
  Context context = library.context;
  context.log = Logger(host);
  context.progress_sink = host;
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  discover(library.request("run"), context);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_THAT(host->take(), AllOf(HasSubstr("old and 6 new classes"), HasSubstr("epoch 2/2")));
}

TEST(LibraryRun, StopsWhenItsHostAsks) {
  const LibraryRun library;
  Context context = library.context;
  context.stop.request_stop();
  EXPECT_THROW(discover(library.request("run"), context), InterruptedError);
}

TEST(LibraryRun, NamesOptionsByTheirKeys) {
  const LibraryRun library;
  DiscoverRequest request = library.request("run");
  request.settings["momemtum"] = "1";
  EXPECT_THAT(message_of([&] { discover(request, library.context); }),
              AllOf(HasSubstr("momemtum"), HasSubstr("momentum")));
  request = library.request("run");
  request.settings["momentum"] = "7";
  EXPECT_THAT(message_of([&] { discover(request, library.context); }), HasSubstr("momentum: '7'"));
  request = library.request("run");
  request.k = 3;
  EXPECT_THAT(message_of([&] { discover(request, library.context); }), HasSubstr("k: 3 is less"));
  for (const char* key : {"k", "epochs", "seed", "runs"}) {
    request = library.request("run");
    request.settings[key] = "1";
    EXPECT_THAT(message_of([&] { discover(request, library.context); }), HasSubstr("settings:"));
  }
  EXPECT_FALSE(fs::exists(library.tiny.folder / "run/config.toml"));
}

TEST(LibraryRun, AsPublishedHasItsOwnProductsUnlessTheContextSaysOthers) {
  const LibraryRun library;
  DiscoverRequest request = library.request("run");
  request.settings["as_published"] = "true";
  const auto dtype = [&](const char* asked) {
    const Context context{.device = "cpu", .dtype = asked};
    return context_for(options_of(request, context), context).dtype;
  };
  EXPECT_EQ(dtype("auto"), "tf32");
  EXPECT_EQ(dtype("float32"), "float32");
  request.settings["as_published"] = "false";
  EXPECT_EQ(dtype("auto"), "auto");
}

TEST(LibraryRun, CountsClasses) {
  const LibraryRun library;
  DiscoverRequest request = library.request("");
  request.out.clear();
  request.k.reset();
  request.settings.merge(std::map<std::string, std::string>{
      {"k_max", "13"}, {"cluster_steps", "4"}, {"min_steps", "4"}});
  const ClassNumber found = estimate_class_number(request, library.context);
  EXPECT_GE(found.k, 10);
  EXPECT_LE(found.k, 13);
}

TEST(Demo, IsDrawn) {
  const testing::TemporaryFolder folder;
  draw_demo(folder / "drawn", 2);
  EXPECT_TRUE(fs::exists(folder / "drawn/truth.csv"));
  EXPECT_TRUE(fs::is_directory(folder / "drawn/labelled/star"));
}

}  // namespace
}  // namespace protogcd
