// `protogcd datasets ...` as a user runs it: results, exit codes, and what bad input is answered.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "tests/data/layouts.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DatasetsVerbs : public ::testing::Test {
 protected:
  DatasetsVerbs() {
    put_image(folder_ / "lab/cat/1.png");
    put_image(folder_ / "lab/dog/2.png", "same");
    put_image(folder_ / "rest/3.png");
    put_image(folder_ / "rest/4.png", "same");
    put_file(folder_ / "truth.csv", "path,label\nrest/3.png,ant\nrest/4.png,dog\n");
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  TemporaryFolder folder_;
};

TEST_F(DatasetsVerbs, ListNamesEveryKnownDataset) {
  const auto result = run_protogcd({"datasets", "list", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  std::vector<std::string> names;
  const auto list = nlohmann::json::parse(result.output);
  for (const auto& row : list["datasets"]) names.push_back(row["name"]);
  EXPECT_THAT(names, ElementsAre("cifar10", "cifar100", "imagenet100", "cub", "scars", "aircraft",
                                 "herbarium19"));
  EXPECT_THAT(run_protogcd({"datasets", "list"}).output, HasSubstr("CUB_200_2011/"));
}

TEST_F(DatasetsVerbs, InfoCountsSetsClassesAndDuplicates) {
  const auto result = run_protogcd({"datasets", "info", "--labelled", at("lab"), "--unlabelled",
                                    at("rest"), "--truth", at("truth.csv"), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto info = nlohmann::json::parse(result.output);
  EXPECT_EQ(info["labelled"], 2);
  EXPECT_EQ(info["unlabelled"], 2);
  EXPECT_EQ(info["test"], 0);
  EXPECT_EQ(info["k_old"], 2);
  EXPECT_EQ(info["k"], 3);
  EXPECT_EQ(info["classes"][2]["name"], "ant");
  EXPECT_EQ(info["classes"][1]["unlabelled"], 1);
  EXPECT_EQ(info["duplicates"].size(), 1u);
  EXPECT_EQ(info["duplicates"][0].size(), 2u);
  const auto text = run_protogcd({"datasets", "info", "--images", at("rest")});
  EXPECT_THAT(text.output, AllOf(HasSubstr("unlabelled  2"), HasSubstr("test        none")));
}

TEST_F(DatasetsVerbs, SplitWritesPathsRelativeToTheCsv) {
  std::filesystem::create_directory(folder_ / "out");
  const std::vector<std::string> command = {
      "datasets", "split",   "--labelled",    at("lab"), "--unlabelled",
      at("rest"), "--truth", at("truth.csv"), "--csv",   at("out/split.csv")};
  ASSERT_EQ(run_protogcd(command).exit_code, 0);
  const CsvTable table = CsvTable::read(folder_ / "out/split.csv");
  EXPECT_THAT(table.header(), ElementsAre("path", "label", "class", "known", "set"));
  ASSERT_EQ(table.rows().size(), 4u);
  EXPECT_THAT(table.rows()[1].fields,
              ElementsAre("../lab/dog/2.png", "1", "dog", "old", "labelled"));
  EXPECT_THAT(table.rows()[2].fields,
              ElementsAre("../rest/3.png", "2", "ant", "new", "unlabelled"));

  const auto again = run_protogcd(command);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.errors, AllOf(HasSubstr("out/split.csv"), HasSubstr("--overwrite")));
  auto forced = command;
  forced.emplace_back("--overwrite");
  EXPECT_EQ(run_protogcd(forced).exit_code, 0);
}

TEST_F(DatasetsVerbs, AMillionImagesAreSplitWithinAGigabyte) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need more memory than the limit of this test";
#endif
  std::string manifest = "path,label,truth\n../lab/cat/1.png,cat,\n";
  for (int i = 1; i < 1'000'000; ++i) {
    manifest += fmt::format("camera-{:03}/2024/image-{:07}.jpg,{},species-{:03}\n", i % 1000, i,
                            i % 4 == 0 ? fmt::format("species-{:03}", i % 1000) : "", i % 1000);
  }
  put_file(folder_ / "many/m.csv", manifest);
  const auto result = run_protogcd({"datasets", "split", "--manifest", at("many/m.csv"), "--csv",
                                    at("many/split.csv"), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto summary = nlohmann::json::parse(result.output);
  EXPECT_EQ(summary["labelled"], 250'000);
  EXPECT_EQ(summary["unlabelled"], 750'000);
  // Resident memory: the libraries of a CUDA build reserve more addresses than that without using
  // them.
  struct rusage usage {};
  ASSERT_EQ(::getrusage(RUSAGE_CHILDREN, &usage), 0);
  EXPECT_LT(usage.ru_maxrss, 1'000'000);
}

TEST_F(DatasetsVerbs, SplitNamesRecordsOfContainerFiles) {
  make_cifar10_binary(folder_.path());
  ASSERT_EQ(run_protogcd({"datasets", "split", "--dataset", "cifar10", "--root", at("."), "--csv",
                          at("c.csv")})
                .exit_code,
            0);
  const CsvTable table = CsvTable::read(folder_ / "c.csv");
  ASSERT_EQ(table.rows().size(), 60u);
  EXPECT_THAT(table.rows()[59].fields,
              ElementsAre("cifar-10-batches-bin/test_batch.bin#9", "9", "class-09", "new", "test"));
}

TEST_F(DatasetsVerbs, VerifyPassesGoodDataAndListsProblemsOfBad) {
  const auto good = run_protogcd({"datasets", "verify", "--images", at("rest")});
  EXPECT_EQ(good.exit_code, 0) << good.errors;
  EXPECT_THAT(good.output, HasSubstr("all is there"));

  put_file(folder_ / "rest/broken.jpg", "no image");
  const auto bad =
      run_protogcd({"datasets", "verify", "--images", at("rest"), "--json", "--max-bad", "0"});
  EXPECT_EQ(bad.exit_code, 4);
  const auto report = nlohmann::json::parse(bad.output);
  EXPECT_EQ(report["ok"], false);
  EXPECT_THAT(report["problems"][0], HasSubstr("broken.jpg"));
  EXPECT_THAT(bad.errors, HasSubstr("broken.jpg"));

  const auto missing =
      run_protogcd({"datasets", "verify", "--dataset", "cub", "--root", at("lab")});
  EXPECT_EQ(missing.exit_code, 4);
  EXPECT_THAT(missing.output, HasSubstr("lab/CUB_200_2011/images.txt: no such file"));

  make_cub(folder_.path(), 1);
  const auto tiny = run_protogcd({"datasets", "verify", "--dataset", "cub", "--root", at(".")});
  EXPECT_EQ(tiny.exit_code, 4);
  EXPECT_THAT(tiny.output, HasSubstr("the published CUB-200-2011 has 1498"));
}

TEST_F(DatasetsVerbs, VerifyListsUnreadableImagesAndHonoursTheLimit) {
  for (int i = 0; i < 8; ++i) put_image(folder_ / fmt::format("rest/more/{}.png", i));
  put_file(folder_ / "rest/cut.png", "\x89PNG\r\n\x1A\n");
  put_file(folder_ / "rest/page.jpg", "<html>404</html>");
  const auto verify = [&](std::vector<std::string> more) {
    std::vector<std::string> command = {"datasets", "verify",    "--images",       at("rest"),
                                        "--json",   "--skipped", at("skipped.csv")};
    command.insert(command.end(), more.begin(), more.end());
    return run_protogcd(command);
  };
  const auto strict = verify({"--max-bad", "0"});
  EXPECT_EQ(strict.exit_code, 4);
  EXPECT_THAT(strict.errors, AllOf(HasSubstr("2 of 12 images cannot be read"),
                                   HasSubstr("--max-bad allows 0"), HasSubstr("rest/cut.png")));
  const CsvTable table = CsvTable::read(folder_ / "skipped.csv");
  EXPECT_THAT(table.header(), ElementsAre("path", "reason"));
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_THAT(table.rows()[0].fields, ElementsAre("rest/cut.png", HasSubstr("truncated")));
  EXPECT_THAT(table.rows()[1].fields, ElementsAre("rest/page.jpg", HasSubstr("HTML")));
  EXPECT_EQ(nlohmann::json::parse(strict.output)["unreadable"].size(), 2u);

  const auto again = verify({"--max-bad", "50%"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.errors, AllOf(HasSubstr("--skipped"), HasSubstr("skipped.csv")));
  const auto patient = verify({"--max-bad", "50%", "--overwrite"});
  EXPECT_EQ(patient.exit_code, 0) << patient.errors;
  EXPECT_EQ(nlohmann::json::parse(patient.output)["ok"], true);
  EXPECT_EQ(verify({"--max-bad", "2", "--overwrite"}).exit_code, 0);
  EXPECT_EQ(verify({"--max-bad", "1", "--overwrite"}).exit_code, 4);
  const auto fail = verify({"--bad-images", "fail", "--max-bad", "50%", "--overwrite"});
  EXPECT_EQ(fail.exit_code, 4);
  EXPECT_THAT(fail.errors, HasSubstr("--bad-images fail"));
}

TEST_F(DatasetsVerbs, VerifyWritesNothingWhereItCannot) {
  const auto folder = run_protogcd(
      {"datasets", "verify", "--images", at("rest"), "--skipped", at("lab"), "--overwrite"});
  EXPECT_EQ(folder.exit_code, 7);
  EXPECT_THAT(folder.errors, AllOf(HasSubstr("--skipped"), HasSubstr("is a folder")));
  const auto absent = run_protogcd(
      {"datasets", "verify", "--images", at("rest"), "--skipped", at("absent/skipped.csv")});
  EXPECT_EQ(absent.exit_code, 7);
  EXPECT_THAT(absent.errors, HasSubstr("absent/skipped.csv"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "absent"));
}

TEST_F(DatasetsVerbs, FlagsThatDoNotFitTogetherAreUsageErrors) {
  const std::vector<std::vector<std::string>> commands = {
      {},
      {"--dataset", "cub"},
      {"--root", at("lab"), "--images", at("rest")},
      {"--images", at("rest"), "--labelled", at("lab")},
      {"--dataset", "nothing", "--root", at("lab")},
      {"--dataset", "cub", "--root", at("lab"), "--truth", at("truth.csv")}};
  for (const auto& flags : commands) {
    std::vector<std::string> command = {"datasets", "info"};
    command.insert(command.end(), flags.begin(), flags.end());
    EXPECT_EQ(run_protogcd(command).exit_code, 2) << ::testing::PrintToString(flags);
  }
}

TEST_F(DatasetsVerbs, BadInputIsNamedAndNothingIsWritten) {
  put_image(folder_ / "stray/s.png");
  put_file(folder_ / "bad.csv", "path,label,split\nlab/cat/1.png,cat,val\n");
  put_file(folder_ / "cifar-10-batches-bin/data_batch_1.bin", "x");
  const std::vector<std::tuple<std::vector<std::string>, int, std::string>> cases = {
      {{"--labelled", at("stray")}, 4, "s.png"},
      {{"--labelled", at("none")}, 4, "none"},
      {{"--manifest", at("bad.csv")}, 4, "bad.csv:2"},
      {{"--manifest", at("none.csv")}, 7, "none.csv"},
      {{"--images", at("rest"), "--truth", at("bad.csv")}, 4, "bad.csv"},
      {{"--dataset", "cifar10", "--root", at(".")}, 4, "data_batch_2.bin"},
      {{"--dataset", "cub", "--root", at("rest")}, 4, "images.txt"}};
  for (const auto& [flags, exit_code, text] : cases) {
    std::vector<std::string> command = {"datasets", "split", "--csv", at("out.csv")};
    command.insert(command.end(), flags.begin(), flags.end());
    const auto result = run_protogcd(command);
    EXPECT_EQ(result.exit_code, exit_code) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.csv")) << text;
  }
}

}  // namespace
}  // namespace protogcd
