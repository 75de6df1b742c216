// train, discover, evaluate and predict through the command line: what a user gets, and what a user
// gets wrong.
#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/core/sha256.h"
#include "tests/discovery/run_helpers.h"
#include "tests/support/tensorboard.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::json_of;
using ::testing::Not;
using testing::run_protogcd;
using testing::TinyRun;

std::vector<std::string> column(const CsvTable& table, const std::string& name) {
  std::vector<std::string> values;
  for (const auto& row : table.rows()) values.push_back(row.fields[table.column(name)]);
  return values;
}

TEST(Run, DiscoverWritesAModelPredictionsAndMetrics) {
  const TinyRun work;
  const auto json = json_of(run_protogcd(work.command("discover", "run")));
  EXPECT_EQ(json.at("k"), 16);
  EXPECT_EQ(json.at("k_new"), 6);
  EXPECT_EQ(json.at("images").at("labelled"), 30);
  EXPECT_EQ(json.at("images").at("unlabelled"), 66);
  EXPECT_EQ(json.at("test"), "none");
  for (const char* key : {"all", "old", "new"}) {
    EXPECT_GE(json.at(key).get<double>(), 0);
    EXPECT_LE(json.at(key).get<double>(), 100);
  }

  const CsvTable predictions = CsvTable::read(work.folder / "run/predictions.csv");
  EXPECT_THAT(predictions.header(),
              ElementsAre("path", "class", "is_new", "confidence", "typicality", "outlier_score",
                          "is_outlier", "class_1", "p_1", "class_2", "p_2", "class_3", "p_3"));
  EXPECT_EQ(column(predictions, "class_1"), column(predictions, "class"));
  EXPECT_EQ(column(predictions, "p_1"), column(predictions, "confidence"));
  ASSERT_EQ(predictions.rows().size(), 66u);
  for (const auto& path : column(predictions, "path")) {
    EXPECT_TRUE(std::filesystem::exists(work.folder / "run" / path)) << path;
  }
  for (const auto& row : predictions.rows()) {
    EXPECT_EQ(row.fields[2], row.fields[1].starts_with("new-0") ? "1" : "0");
  }
  EXPECT_THAT(column(predictions, "is_outlier"), Each(AnyOf("0", "1")));

  const CsvTable next = CsvTable::read(work.folder / "run/label-next.csv");
  EXPECT_THAT(next.header(), ElementsAre("rank", "path", "class", "confidence", "why"));
  EXPECT_EQ(next.rows().size(), 20u);
  const auto asked = column(next, "path");
  EXPECT_EQ(std::set(asked.begin(), asked.end()).size(), 20u);
  EXPECT_THAT(column(predictions, "path"), ::testing::IsSupersetOf(asked));
  for (const std::string& path : asked) EXPECT_TRUE(std::filesystem::exists(path)) << path;

  const auto lines = work.metrics("run");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_FALSE(lines[0].contains("unlabelled"));
  EXPECT_EQ(lines[1].at("test"), "none");
  EXPECT_EQ(lines[2].at("unlabelled").at("all"), json.at("all"));
  for (const auto& line : lines) {
    EXPECT_EQ(line.at("steps"), 6);
    EXPECT_TRUE(line.at("train").at("total").is_number());
  }
  EXPECT_DOUBLE_EQ(lines[0].at("learning_rate"), 0.1);
  EXPECT_NEAR(lines[2].at("unlabelled").at("p_old").get<double>() +
                  lines[2].at("unlabelled").at("p_new").get<double>(),
              1, 1e-9);

  EXPECT_EQ(nlohmann::json::parse(work.read("run/run.json")).at("threads"), "1");
  const auto model = nlohmann::json::parse(work.read("run/model/model.json"));
  EXPECT_EQ(model.at("classes").size(), 16u);
  EXPECT_EQ(model.at("classes")[15], "new-06");
  EXPECT_THAT(
      work.read("run/config.toml"),
      AllOf(HasSubstr("lambda_sup = 0.35"), HasSubstr("k = 16"), HasSubstr("ramp_epochs = 1")));
}

TEST(Run, ABankBorrowsDifferencesAndFreshViewsDoNot) {
  const TinyRun work;
  json_of(run_protogcd(work.command("discover", "bank", {"--epochs", "1"})));
  json_of(run_protogcd(work.train("fresh", {"--epochs", "1"})));
  json_of(run_protogcd(work.command("discover", "none", {"--epochs", "1", "--borrow", "0"})));
  EXPECT_THAT(work.read("bank/config.toml"), HasSubstr("borrow = 1"));
  EXPECT_THAT(work.read("fresh/config.toml"), HasSubstr("borrow = 0"));
  EXPECT_NE(work.metrics("bank"), work.metrics("none")) << "the option has an effect";
}

TEST(Run, EvaluateAgreesWithTraining) {
  const TinyRun work;
  const auto trained = json_of(run_protogcd(work.train("run")));
  const auto evaluated = json_of(run_protogcd(
      {"evaluate", "--model", work.folder / "run", "--labelled", work.folder / "demo/labelled",
       "--unlabelled", work.folder / "demo/unlabelled", "--truth", work.folder / "demo/truth.csv",
       "--json", "--threads", "1", "--dtype", "float32", "--device", "cpu"}));
  for (const char* key : {"all", "old", "new", "nmi", "ari", "samples"}) {
    EXPECT_EQ(evaluated.at(key), trained.at(key)) << key;
  }
  EXPECT_EQ(evaluated.at("test"), "none");
  EXPECT_EQ(evaluated.at("intervals"), trained.at("intervals"));
  EXPECT_EQ(evaluated.at("unlabelled").at("intervals"), trained.at("intervals"));

  const auto blind = run_protogcd({"evaluate", "--model", work.folder / "run", "--unlabelled",
                                   work.folder / "demo/unlabelled"});
  EXPECT_EQ(blind.exit_code, 4);
  EXPECT_THAT(blind.errors, HasSubstr("--truth"));
}

TEST(Run, TheResultTellsLastAndBestEpochsAndTheirIntervals) {
  const TinyRun work;
  const auto json = json_of(run_protogcd(work.train("run", {"--epochs", "5"})));
  EXPECT_EQ(json.at("evaluated_epochs"), 3) << "every second, and the last";
  EXPECT_EQ(json.at("last").at("epoch"), 4);
  const auto& best = json.at("best_on_unlabelled");
  EXPECT_GE(best.at("unlabelled").at("all"), json.at("all"));
  EXPECT_FALSE(json.contains("best_on_test"));
  const auto line = work.metrics("run").at(best.at("epoch").get<std::size_t>());
  for (const char* key : {"all", "old", "new", "intervals"}) {
    EXPECT_EQ(json.at("last").at("unlabelled").at(key), json.at(key)) << key;
    EXPECT_EQ(best.at("unlabelled").at(key), line.at("unlabelled").at(key)) << key;
  }
  const auto& interval = json.at("intervals").at("all");
  EXPECT_LT(interval.at(0), json.at("all"));
  EXPECT_GT(interval.at(1), json.at("all"));
}

TEST(Run, WithoutATruthThereAreNeitherBestEpochsNorIntervals) {
  const TinyRun work;
  auto command = work.train("run");
  const auto truth = std::ranges::find(command, "--truth");
  command.erase(truth, truth + 2);
  const auto json = json_of(run_protogcd(command));
  for (const char* key :
       {"evaluated_epochs", "last", "best_on_unlabelled", "best_on_test", "intervals"}) {
    EXPECT_FALSE(json.contains(key)) << key;
  }
}

TEST(Run, PredictNeedsTheRunFolderAndTheBackboneAlone) {
  const TinyRun work;
  json_of(run_protogcd(work.train("run")));
  std::filesystem::rename(work.folder / "run/predictions.csv", work.folder / "trained.csv");
  const auto predict = [&](const std::string& images, const std::string& out,
                           const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"predict",
                                      "--model",
                                      work.folder / "run",
                                      "--images",
                                      work.folder / images,
                                      "--out",
                                      work.folder / out,
                                      "--threads",
                                      "1",
                                      "--dtype",
                                      "float32",
                                      "--device",
                                      "cpu",
                                      "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return run_protogcd(words);
  };
  EXPECT_EQ(json_of(predict("demo/unlabelled", "all.csv")).at("images"), 66);
  const CsvTable again = CsvTable::read(work.folder / "all.csv"),
                 trained = CsvTable::read(work.folder / "trained.csv");
  for (const char* name :
       {"class", "is_new", "confidence", "typicality", "outlier_score", "is_outlier"}) {
    EXPECT_EQ(column(again, name), column(trained, name)) << name;
  }

  EXPECT_EQ(json_of(predict("demo/unlabelled/00001.png", "one.json")).at("images"), 1);
  const auto one = nlohmann::json::parse(work.read("one.json"));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].at("path"), (work.folder / "demo/unlabelled/00001.png").string());
  EXPECT_EQ(one[0].at("class"), column(trained, "class")[0]);
  EXPECT_TRUE(one[0].at("is_outlier").is_boolean());

  EXPECT_EQ(predict("demo/unlabelled", "all.csv").exit_code, 2) << "overwrote a file";
  EXPECT_EQ(predict("demo/unlabelled", "all.csv", {"--overwrite"}).exit_code, 0);

  // The backbone is another file, or elsewhere.
  std::filesystem::rename(work.folder / "tiny.safetensors", work.folder / "moved.safetensors");
  const auto gone = predict("demo/unlabelled", "gone.csv");
  EXPECT_EQ(gone.exit_code, 5);
  EXPECT_THAT(gone.errors, AllOf(HasSubstr("tiny.safetensors"), HasSubstr("--backbone")));
  EXPECT_EQ(
      predict("demo/unlabelled", "moved.csv", {"--backbone", work.folder / "moved.safetensors"})
          .exit_code,
      0);
  write_file_atomically(work.folder / "tiny.safetensors", "something else");
  EXPECT_THAT(predict("demo/unlabelled", "other.csv").errors,
              HasSubstr("not the backbone that the model was trained on"));
  const auto none = run_protogcd({"predict", "--model", work.folder / "demo", "--images",
                                  work.folder / "demo", "--out", work.folder / "x.csv"});
  EXPECT_EQ(none.exit_code, 5);
  EXPECT_THAT(none.errors, HasSubstr("no model.json"));
}

TEST(Run, NothingIsOverwrittenUnasked) {
  const TinyRun work;
  create_folders(work.folder / "run");
  write_file_atomically(work.folder / "run/notes.txt", "mine");
  const auto refused = run_protogcd(work.train("run"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("not empty"), HasSubstr("--overwrite")));
  const auto foreign = run_protogcd(work.train("run", {"--overwrite"}));
  EXPECT_EQ(foreign.exit_code, 2);
  EXPECT_THAT(foreign.errors, HasSubstr("notes.txt"));
  EXPECT_EQ(work.read("run/notes.txt"), "mine");
  std::filesystem::remove(work.folder / "run/notes.txt");
  json_of(run_protogcd(work.train("run")));
  const std::string model = sha256_file(work.folder / "run/model/model.safetensors");
  json_of(run_protogcd(work.train("run", {"--overwrite", "--seed", "1"})));
  EXPECT_NE(sha256_file(work.folder / "run/model/model.safetensors"), model);
}

TEST(Run, WrongNumbersOfClassesAreNamed) {
  const TinyRun work;
  const auto result = run_protogcd(work.train("run", {"--k", "9"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, AllOf(HasSubstr("--k: 9"), HasSubstr("10 classes")));
  const auto unknown = run_protogcd({"train", "--labelled", work.folder / "demo/labelled",
                                     "--unlabelled", work.folder / "demo/unlabelled", "--backbone",
                                     work.folder / "tiny.safetensors", "--out", work.folder / "x"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("--k: how many classes"));
}

TEST(Run, ImagesThatCannotBeReadAreLeftOutFirst) {
  const TinyRun work;
  write_file_atomically(work.folder / "demo/unlabelled/00003.png", "broken");
  const auto json = json_of(run_protogcd(work.train("run", {"--max-bad", "2"})));
  EXPECT_EQ(json.at("images").at("skipped"), 1);
  EXPECT_EQ(json.at("images").at("unlabelled"), 65);
  EXPECT_THAT(work.read("run/skipped.csv"), HasSubstr("00003.png"));
  EXPECT_THAT(work.read("run/predictions.csv"), Not(HasSubstr("00003.png")));
  const auto strict = run_protogcd(work.train("strict", {"--bad-images", "fail"}));
  EXPECT_EQ(strict.exit_code, 4);
  EXPECT_THAT(strict.errors, HasSubstr("00003.png"));
}

TEST(Run, AFewBadFilesStopNoSmallFolderAndTooManyAreAllNamed) {
  const TinyRun work(4);
  for (const char* name : {"00003.png", "00005.png"})
    write_file_atomically(work.folder / (std::string("demo/unlabelled/") + name), "broken");
  const auto json = json_of(run_protogcd(work.train("run")));
  EXPECT_EQ(json.at("images").at("skipped"), 2);
  const auto refused = run_protogcd(work.train("refused", {"--max-bad", "1"}));
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("2 of "), HasSubstr("00003.png: not an image"),
                                    HasSubstr("00005.png: not an image")));

  const auto predict = [&](const std::string& out, const std::string& limit) {
    return run_protogcd({"predict", "--model", work.folder / "run", "--images",
                         work.folder / "demo/unlabelled", "--out", work.folder / out, "--max-bad",
                         limit});
  };
  EXPECT_EQ(predict("all.csv", "auto").exit_code, 0);
  const auto too_many = predict("kept.csv", "1");
  EXPECT_EQ(too_many.exit_code, 4);
  EXPECT_THAT(too_many.errors, AllOf(HasSubstr("00003.png"), HasSubstr("00005.png")));
  EXPECT_EQ(work.read("kept.csv"), work.read("all.csv"));
}

TEST(Run, AClassWhoseOnlyImageIsUnreadableIsNoOldClass) {
  const TinyRun work(4);
  create_folders(work.folder / "demo/labelled/yeti");
  write_file_atomically(work.folder / "demo/labelled/yeti/1.png", "broken");
  const auto result = run_protogcd(work.train("run"));
  const auto json = json_of(result);
  EXPECT_EQ(json.at("k"), 16);
  EXPECT_EQ(json.at("k_new"), 6);
  EXPECT_THAT(result.errors, HasSubstr("class 'yeti'"));
  EXPECT_THAT(work.read("run/model/model.json"), Not(HasSubstr("yeti")));
}

TEST(Run, EqualImagesUnderTwoLabelsAreSaidOnce) {
  const TinyRun work(4);
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(work.folder / "demo/labelled"))
    folders.push_back(entry.path());
  std::ranges::sort(folders);
  const auto first = *std::filesystem::directory_iterator(folders[0]);
  std::filesystem::copy_file(first.path(), folders[1] / "copy.png");
  const auto result = run_protogcd(work.train("run"));
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  const auto at = result.errors.find("the same file under different classes");
  ASSERT_NE(at, std::string::npos) << result.errors;
  EXPECT_EQ(result.errors.find("the same file under different classes", at + 1), std::string::npos);
}

TEST(Run, KindsThatCannotBeReadAreListedByTrainAndPredictAndChangeNothingElse) {
  const TinyRun work;
  json_of(run_protogcd(work.train("without")));
  write_file_atomically(work.folder / "demo/unlabelled/00003.nef", "II*");
  const auto json = json_of(run_protogcd(work.train("run", {"--bad-images", "fail"})));
  EXPECT_EQ(json.at("images").at("skipped"), 1);
  EXPECT_EQ(work.read("run/predictions.csv"), work.read("without/predictions.csv"));
  EXPECT_THAT(work.read("run/skipped.csv"), HasSubstr("00003.nef,\"a camera's raw file"));
  json_of(run_protogcd({"predict", "--model", work.folder / "run", "--images",
                        work.folder / "demo/unlabelled", "--bad-images", "fail", "--json", "--out",
                        work.folder / "predictions.csv"}));
  EXPECT_THAT(work.read("predictions.skipped.csv"), HasSubstr("demo/unlabelled/00003.nef"));
  EXPECT_THAT(work.read("predictions.csv"), Not(HasSubstr("nef")));
}

TEST(Run, SeveralRunsGiveMeanAndDeviation) {
  const TinyRun work;
  const auto json = json_of(run_protogcd(work.train("runs", {"--runs", "2"})));
  ASSERT_EQ(json.at("runs").size(), 2u);
  const double first = json.at("runs")[0].at("all"), second = json.at("runs")[1].at("all");
  EXPECT_NEAR(json.at("all").get<double>(), (first + second) / 2, 1e-9);
  EXPECT_NEAR(json.at("std").at("all").get<double>(), std::abs(first - second) / std::sqrt(2),
              1e-9);
  EXPECT_TRUE(std::filesystem::exists(work.folder / "runs/seed-0/predictions.csv"));
  EXPECT_NE(sha256_file(work.folder / "runs/seed-0/model/model.safetensors"),
            sha256_file(work.folder / "runs/seed-1/model/model.safetensors"));
}

TEST(Run, FewImagesAndNoNewClassesTrainToo) {
  const TinyRun work(2);  // 10 labelled, 22 unlabelled: fewer than the batch below
  const auto command =
      work.train("few", {"--preset", "paper", "--wide-projection", "64", "--batch-size", "128"});
  EXPECT_EQ(json_of(run_protogcd(command)).at("images").at("unlabelled"), 22);
  // Only old classes: K is that of the labelled images.
  const auto closed = json_of(run_protogcd(
      {"train", "--labelled", work.folder / "demo/labelled", "--backbone",
       work.folder / "tiny.safetensors", "--image-size", "32", "--epochs", "1", "--batch-size",
       "128", "--head-hidden", "32", "--json", "--out", work.folder / "closed"}));
  EXPECT_EQ(closed.at("k"), 10);
  EXPECT_EQ(closed.at("k_new"), 0);
  EXPECT_EQ(closed.at("all"), nullptr);
  EXPECT_EQ(CsvTable::read(work.folder / "closed/predictions.csv").rows().size(), 0u);
}

TEST(Run, APriorIsReadAndCheckedByClass) {
  const TinyRun work;
  write_file_atomically(work.folder / "prior.csv", "class,share\nstar,0.3\nnew-01,0.2\n");
  const double uniform = work.metrics((json_of(run_protogcd(work.train("uniform"))), "uniform"))[2]
                             .at("train")
                             .at("entropy")
                             .get<double>();
  json_of(run_protogcd(work.train("tilted", {"--prior", work.folder / "prior.csv"})));
  EXPECT_NE(work.metrics("tilted")[2].at("train").at("entropy").get<double>(), uniform);
  write_file_atomically(work.folder / "bad.csv", "class,share\nstar,0.3\nunicorn,0.2\n");
  const auto bad = run_protogcd(work.train("bad", {"--prior", work.folder / "bad.csv"}));
  EXPECT_EQ(bad.exit_code, 4);
  EXPECT_THAT(bad.errors, AllOf(HasSubstr("bad.csv:3"), HasSubstr("unicorn")));
}

TEST(Run, MoreThanOneBlockCanBeTrained) {
  constexpr const char* kSecond = "0.blocks.1.norm1.weight";
  const TinyRun work;
  json_of(run_protogcd(work.train("one")));
  json_of(run_protogcd(work.train("two", {"--grad-from-block", "1"})));
  EXPECT_TRUE(SafetensorsFile(work.folder / "two/model/model.safetensors").find(kSecond));
  EXPECT_FALSE(SafetensorsFile(work.folder / "one/model/model.safetensors").find(kSecond));
  const auto absent = run_protogcd(work.train("none", {"--grad-from-block", "3"}));
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_THAT(absent.errors, HasSubstr("--grad-from-block"));
}

TEST(Run, OverwritingLosesNothingUntilTheNewRunBegins) {
  const TinyRun work;
  json_of(run_protogcd(work.train("run")));
  const std::string model = sha256_file(work.folder / "run/model/model.safetensors");
  EXPECT_EQ(run_protogcd(work.train("run", {"--overwrite", "--grad-from-block", "99"})).exit_code,
            2);
  write_file_atomically(work.folder / "demo/unlabelled/00003.png", "broken");
  EXPECT_EQ(run_protogcd(work.train("run", {"--overwrite", "--bad-images", "fail"})).exit_code, 4);
  EXPECT_EQ(sha256_file(work.folder / "run/model/model.safetensors"), model);
}

TEST(Run, DivergenceIsAnErrorAndKeepsTheLastGoodCheckpoint) {
  const TinyRun work;
  const auto result =
      run_protogcd(work.train("run", {"--lr", "1e12", "--checkpoint-seconds", "0"}));
  EXPECT_EQ(result.exit_code, 8);
  EXPECT_THAT(result.errors, AllOf(HasSubstr("diverged"), HasSubstr("--lr")));
  EXPECT_FALSE(std::filesystem::exists(work.folder / "run/predictions.csv"));
}

TEST(Run, ADamagedModelIsRefused) {
  const TinyRun work;
  json_of(run_protogcd(work.train("run")));
  const auto file = work.folder / "run/model/model.safetensors";
  std::string bytes = read_text_file(file);
  bytes[bytes.size() - 50] = static_cast<char>(bytes[bytes.size() - 50] ^ 4);
  write_file_atomically(file, bytes);
  const auto result =
      run_protogcd({"predict", "--model", work.folder / "run", "--images",
                    work.folder / "demo/unlabelled", "--out", work.folder / "x.csv"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.errors, HasSubstr("model.safetensors: damaged"));
}

TEST(Run, NamesThatFilesCannotHoldAreRefusedBeforeTraining) {
  const TinyRun work;
  std::filesystem::rename(work.folder / "demo/labelled/star",
                          work.folder / "demo/labelled/st\xe4r");
  std::filesystem::rename(work.folder / "demo/labelled/key", work.folder / "demo/labelled/new-01");
  auto command = work.train("run");
  command.erase(command.begin() + 5, command.begin() + 7);  // the truth speaks of the old names
  const auto refused = run_protogcd(command);
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.errors, HasSubstr("not UTF-8"));
  std::filesystem::rename(work.folder / "demo/labelled/st\xe4r",
                          work.folder / "demo/labelled/star");
  json_of(run_protogcd(command));
  const auto classes = nlohmann::json::parse(work.read("run/model/model.json")).at("classes");
  EXPECT_EQ(std::set<std::string>(classes.begin(), classes.end()).size(), 16u) << "a name twice";
}

TEST(Run, EvaluateTakesAPlainTestSet) {
  const TinyRun work;
  json_of(run_protogcd(work.train("run")));
  std::string manifest = "path,label,split\n";
  const CsvTable truth = CsvTable::read(work.folder / "demo/truth.csv");
  for (const auto& row : truth.rows()) {
    if (row.fields[0].starts_with("unlabelled")) {
      manifest += row.fields[0] + "," + row.fields[1] + ",test\n";
    }
  }
  write_file_atomically(work.folder / "demo/test.csv", manifest);
  const auto json = json_of(run_protogcd({"evaluate", "--model", work.folder / "run", "--manifest",
                                          work.folder / "demo/test.csv", "--json", "--threads", "1",
                                          "--dtype", "float32", "--device", "cpu"}));
  EXPECT_EQ(json.at("test").at("samples"), 66);
  EXPECT_EQ(json.at("all"), json.at("test").at("all"));
}

TEST(Run, SeveralRunsGoOnWhereTheyWere) {
  const TinyRun work;
  const auto whole = json_of(run_protogcd(work.train("whole", {"--runs", "2"})));
  for (const char* name : {"seed-0", "seed-1"}) {
    EXPECT_THAT(work.read(std::string("whole/") + name + "/config.toml"),
                AllOf(HasSubstr(std::string("seed = ") + name[5]), HasSubstr("runs = 1")));
  }
  const auto again =
      json_of(run_protogcd({"train", "--out", work.folder / "whole", "--resume", "--json"}));
  EXPECT_EQ(again.at("mean"), whole.at("mean"));
  const auto other =
      run_protogcd({"train", "--out", work.folder / "whole", "--resume", "--json", "--lr", "0.3"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.errors, HasSubstr("--lr was 0.1 when the run was begun, now it is 0.3"));
}

TEST(Run, OneRunIsNotResumedAsSeveralNorSeveralAsOne) {
  const TinyRun work(4);
  json_of(run_protogcd(work.train("one")));
  json_of(run_protogcd(work.train("two", {"--runs", "2"})));
  for (const auto& [name, runs] : {std::pair{"one", "2"}, {"two", "1"}}) {
    const std::string before = work.read(std::string(name) + "/result.json");
    const auto result =
        run_protogcd({"train", "--out", work.folder / name, "--resume", "--runs", runs, "--json"});
    EXPECT_EQ(result.exit_code, 2) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr("--runs"));
    EXPECT_EQ(work.read(std::string(name) + "/result.json"), before);
  }
}

TEST(Run, TensorBoardShowsWhatTheMetricsSay) {
  const TinyRun work;
  json_of(run_protogcd(work.train("run")));
  const auto points = testing::read_by_tensorboard(work.folder / "run");
  if (points.is_null()) GTEST_SKIP() << "no Python with the package tensorboard";
  const auto lines = work.metrics("run");
  for (const auto& [tag, section, name] : {std::tuple{"loss/total", "train", "total"},
                                           {"loss/dapl", "train", "dapl"},
                                           {"train/hard_share", "train", "hard_share"}}) {
    ASSERT_EQ(points.at(tag).size(), 3u) << tag;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(points.at(tag)[i][0], static_cast<int>(i));
      EXPECT_NEAR(points.at(tag)[i][1].get<double>(), lines[i].at(section).at(name).get<double>(),
                  1e-5);
    }
  }
  for (const char* name : {"all", "old", "new", "p_old", "p_new", "r_old", "r_new"}) {
    EXPECT_NEAR(points.at(std::string("unlabelled/") + name).back()[1].get<double>(),
                lines[2].at("unlabelled").at(name).get<double>(), 1e-4)
        << name;
  }
  EXPECT_NEAR(points.at("schedule/learning_rate")[0][1].get<double>(), 0.1, 1e-7);
}

}  // namespace
}  // namespace protogcd
