// `predict` and `embed` of parts of a list, and `gather`, through the command line: the joined
// output is what one process writes, and what does not belong together is not joined.
#include <gmock/gmock.h>

#include "protogcd/core/files.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::json_of;
using testing::ProgramResult;
using testing::run_protogcd;
using testing::TinyRun;

class Shards : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    tiny_ = new TinyRun();
    json_of(run_protogcd(tiny_->train("run", {"--epochs", "1"})));
    write_file_atomically(images() / "bad.png", "no image");
    write_file_atomically(images() / "also bad.png", "no image");
    write_file_atomically(images() / "photo.psd", "of a kind that cannot be read");
  }
  static void TearDownTestSuite() { delete tiny_; }

  static fs::path images() { return tiny_->folder / "demo/unlabelled"; }
  fs::path at(const std::string& name) const { return tiny_->folder / name; }
  ProgramResult call(const std::string& verb, const std::string& out,
                     std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {verb,    "--model", at("run"),     "--images", images(),
                                      "--out", at(out),   "--threads",   "1",        "--device",
                                      "cpu",   "--json",  "--log-level", "error"};
    words.insert(words.end(), more.begin(), more.end());
    return run_protogcd(words);
  }
  /// All shards but those that are left out; NAME-i-of-n.EXTENSION.
  std::vector<std::string> shards(const std::string& verb, const std::string& out, int count,
                                  const std::vector<int>& left_out = {}) const {
    std::vector<std::string> files;
    for (int i = count; i >= 1; --i) {  // in any order
      if (std::ranges::count(left_out, i) > 0) continue;
      const auto answer = json_of(call(verb, out, {"--shard", fmt::format("{}/{}", i, count)}));
      files.push_back(answer.at("out"));
    }
    return files;
  }
  ProgramResult gather(std::vector<std::string> files, const std::string& out,
                       const std::vector<std::string>& more = {}) const {
    files.insert(files.begin(), "gather");
    files.insert(files.end(), {"--out", at(out), "--json"});
    files.insert(files.end(), more.begin(), more.end());
    return run_protogcd(files);
  }
  void expect_refused(const std::vector<std::string>& files, const std::string& why) const {
    const ProgramResult result = gather(files, "refused.csv");
    EXPECT_EQ(result.exit_code, 4);
    EXPECT_THAT(result.errors, HasSubstr(why));
    EXPECT_FALSE(fs::exists(at("refused.csv")));
  }
  std::string read(const std::string& name) const { return tiny_->read(name); }

  static TinyRun* tiny_;
};

TinyRun* Shards::tiny_ = nullptr;

TEST_F(Shards, JoinedPredictionsAreThoseOfOneProcessToTheByte) {
  for (const std::string ending : {".csv", ".json"}) {
    json_of(call("predict", "whole" + ending));
    // More shards than batches: some hold nothing.
    for (const int count : {1, 2, 7}) {
      const auto files = shards("predict", fmt::format("of-{}{}", count, ending), count);
      const std::string out = fmt::format("joined-{}{}", count, ending);
      EXPECT_EQ(json_of(gather(files, out)).at("skipped"), 3);
      EXPECT_EQ(read(out), read("whole" + ending)) << count;
      const std::string skipped = fmt::format("joined-{}.skipped.csv", count);
      EXPECT_EQ(read(skipped), read("whole.skipped.csv"));
      fs::remove(at(skipped));  // the other ending's has the same name
    }
  }
}

TEST_F(Shards, JoinedFeaturesAreThoseOfOneProcessToTheByte) {
  for (const char* folder : {"whole", "parts", "joined"}) create_folders(at(folder));
  json_of(call("embed", "whole/features.npy", {"--tokens"}));
  std::vector<std::string> files;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    files.push_back(
        json_of(call("embed", "parts/features.npy", {"--tokens", "--shard", shard})).at("out"));
  }
  json_of(gather(files, "joined/features.npy"));
  for (const char* file : {"features.npy", "features.csv", "features-tokens.npy", "skipped.csv"})
    EXPECT_EQ(read(std::string("joined/") + file), read(std::string("whole/") + file)) << file;
}

TEST_F(Shards, WhatIsBesideTheJoinedFileIsNotLost) {
  for (const char* folder : {"beside", "beside/parts"}) create_folders(at(folder));
  std::vector<std::string> features;
  for (const char* shard : {"1/2", "2/2"}) {
    features.push_back(
        json_of(call("embed", "beside/parts/f.npy", {"--tokens", "--shard", shard})).at("out"));
  }
  const auto predictions = shards("predict", "beside/parts/p.csv", 2);
  const auto refuses = [&](const std::vector<std::string>& files, const std::string& out,
                           const std::string& theirs) {
    write_file_atomically(at(theirs), "what somebody had");
    const ProgramResult result = gather(files, out);
    EXPECT_EQ(result.exit_code, 2) << theirs;
    EXPECT_THAT(result.errors, AllOf(HasSubstr(theirs), HasSubstr("exists already")));
    EXPECT_EQ(read(theirs), "what somebody had");
    fs::remove(at(theirs));
    EXPECT_EQ(std::distance(fs::directory_iterator(at("beside")), {}), 1) << theirs;
  };
  refuses(predictions, "beside/p.csv", "beside/p.skipped.csv");
  refuses(features, "beside/f.npy", "beside/f.csv");
  refuses(features, "beside/f.npy", "beside/f-tokens.npy");
  refuses(features, "beside/f.npy", "beside/skipped.csv");
  write_file_atomically(at("beside/f.csv"), "of an earlier one");
  json_of(gather(features, "beside/f.npy", {"--overwrite"}));
  EXPECT_THAT(read("beside/f.csv"), HasSubstr("path\n"));
}

TEST_F(Shards, OneThatDiedBeforeItsNoteWasWrittenIsDoneAgain) {
  for (const auto& [verb, out] :
       std::map<std::string, std::string>{{"predict", "died.csv"}, {"embed", "died.npy"}}) {
    const std::string file = json_of(call(verb, out, {"--shard", "1/2"})).at("out");
    const std::string whole = read_text_file(file);
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--resume"}}) {
      fs::remove(file + ".shard");
      std::vector<std::string> words = {"--shard", "1/2"};
      words.insert(words.end(), more.begin(), more.end());
      EXPECT_GT(json_of(call(verb, out, words)).at("images"), 0) << verb;
      EXPECT_EQ(read_text_file(file), whole);
      EXPECT_TRUE(fs::exists(file + ".shard"));
    }
    EXPECT_EQ(call(verb, out, {"--shard", "1/2"}).exit_code, 2)
        << "finished, and not to be replaced";
  }
}

TEST_F(Shards, OneThatDiedAsItsFilesWereNamedIsDoneAgain) {
  const fs::path file =
      json_of(call("embed", "named.npy", {"--shard", "1/2"})).at("out").get<std::string>();
  const fs::path partial = file.parent_path() / ("." + file.filename().string() + ".partial");
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--resume"}}) {
    fs::remove(file.string() + ".shard");
    create_folders(partial);
    write_file_atomically(partial / "identity.json", "{}");
    write_file_atomically(partial / "journal", "done 3 3\n");
    std::vector<std::string> words = {"--shard", "1/2"};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_GT(json_of(call("embed", "named.npy", words)).at("images"), 0);
    EXPECT_FALSE(fs::exists(partial));
  }
}

TEST_F(Shards, SaysWhereThoseThatWereSkippedAreListed) {
  const auto said = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"embed",  "--model",    at("run"),      "--images",
                                      images(), "--out",      at("says.npy"), "--device",
                                      "cpu",    "--overwrite"};
    words.insert(words.end(), more.begin(), more.end());
    return run_protogcd(words).output;
  };
  EXPECT_THAT(said({"--shard", "2/2"}), HasSubstr("skipped, see says-2-of-2.skipped.csv"));
  EXPECT_THAT(said({}), HasSubstr("skipped, see skipped.csv"));
  fs::remove(at("skipped.csv"));
}

TEST_F(Shards, PartsThatAreNoneAreRefusedByName) {
  for (const char* verb : {"predict", "embed"}) {
    for (const char* shard : {"0/8", "9/8", "half"}) {
      const ProgramResult result = call(verb, "x.npy", {"--shard", shard});
      EXPECT_EQ(result.exit_code, 2);
      EXPECT_THAT(result.errors, AllOf(HasSubstr("--shard"), HasSubstr(shard), HasSubstr("1/n")));
    }
  }
}

TEST_F(Shards, MissingAndDoubledOnesAreNamed) {
  const auto files = shards("predict", "some.csv", 5, {2, 4});
  expect_refused(files, "missing: shards 2/5, 4/5");
  auto doubled = files;
  doubled.push_back(files[0]);
  expect_refused(doubled, "shard 5/5 is there twice");
  EXPECT_EQ(gather({}, "refused.csv").exit_code, 2);
}

TEST_F(Shards, OnesOfAnotherModelListOrNumberAreNamed) {
  auto files = shards("predict", "ours.csv", 3, {3});
  const auto with = [&](std::string other) {
    auto all = files;
    all.push_back(std::move(other));
    return all;
  };
  json_of(run_protogcd(tiny_->train("other", {"--epochs", "1", "--seed", "1"})));
  const auto foreign = [&](const std::string& out, std::vector<std::string> more) {
    return json_of(call("predict", out, std::move(more))).at("out").get<std::string>();
  };
  expect_refused(with(foreign("n.csv", {"--shard", "3/4"})), "another number of shards");
  expect_refused(with(foreign("p.csv", {"--shard", "3/3", "--probabilities", "2"})),
                 "another choice of probabilities");
  const auto of = [&](const std::string& model, const fs::path& images, const std::string& out) {
    return json_of(run_protogcd({"predict", "--model", at(model), "--images", images, "--shard",
                                 "3/3", "--out", at(out), "--device", "cpu", "--json"}))
        .at("out")
        .get<std::string>();
  };
  expect_refused(with(of("other", images(), "m.csv")), "another model");
  expect_refused(with(of("run", at("demo/outliers"), "l.csv")), "another list of images");
  const ProgramResult unfinished = gather(with(at("demo/truth.csv")), "refused.csv");
  EXPECT_EQ(unfinished.exit_code, 4);
  EXPECT_THAT(unfinished.errors, HasSubstr("no finished shard"));
}

TEST_F(Shards, AFinishedShardIsNotDoneAgainAndALostOneIs) {
  const auto files = shards("predict", "again.csv", 2);
  EXPECT_EQ(call("predict", "again.csv", {"--shard", "1/2"}).exit_code, 2);
  const auto kept = json_of(call("predict", "again.csv", {"--shard", "1/2", "--resume"}));
  EXPECT_EQ(kept.at("was_finished"), true);
  fs::remove(files[1]);  // shard 1, killed before its file was there
  fs::remove(files[1] + ".shard");
  const auto redone = json_of(call("predict", "again.csv", {"--shard", "1/2", "--resume"}));
  EXPECT_GT(redone.at("images"), 0);
  const auto foreign =
      call("predict", "again.csv", {"--shard", "1/2", "--resume", "--probabilities", "1"});
  EXPECT_EQ(foreign.exit_code, 4);
  EXPECT_THAT(foreign.errors, HasSubstr("another choice of probabilities"));
  const auto embedded = shards("embed", "again-features.npy", 2);
  EXPECT_EQ(json_of(call("embed", "again-features.npy", {"--shard", "2/2", "--resume"}))
                .at("was_finished"),
            true);
  EXPECT_EQ(call("predict", "again.csv", {"--resume"}).exit_code, 2);
}

TEST_F(Shards, HowManyMayBeBadIsAskedOfAllTogether) {
  const auto files = shards("predict", "limited.csv", 2);
  const ProgramResult strict = gather(files, "limited.csv", {"--max-bad", "1"});
  EXPECT_EQ(strict.exit_code, 4);
  EXPECT_THAT(strict.errors, AllOf(HasSubstr("2 of"), HasSubstr("/bad.png: not an image"),
                                   HasSubstr(")\n  raise --max-bad")));
}

}  // namespace
}  // namespace protogcd
