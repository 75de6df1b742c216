// The token bank: what it holds, where it lies, and how it survives kills, damage and change.
#include "protogcd/engine/token_bank.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <thread>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/engine/bank_views.h"
#include "protogcd/image/encode.h"
#include "protogcd/nn/random_state.h"
#include "tests/image/image_helpers.h"
#include "tests/support/recorded_host.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

extern char** environ;

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::random_image;
using testing::RecordedHost;
using testing::run_protogcd;
using testing::TemporaryFolder;

constexpr int kSide = 32;
constexpr std::int64_t kImages = 21;  // a whole block and a part of one
const VitConfig kTiny{.patch = 8, .width = 64, .depth = 3, .heads = 2, .hidden = 96, .grid = 4};

/// Images, a trunk and what a bank of them needs.
struct Work {
  explicit Work(at::ScalarType type = at::kFloat) : type_(type) {
    create_folders(folder / "images");
    for (std::int64_t i = 0; i < kImages; ++i) {
      const fs::path path = folder / "images" / (std::to_string(100 + i) + ".png");
      write_png(path, random_image(40, 50, static_cast<std::uint64_t>(i)));
      images.push_back(sources.add_path(path));
    }
    loader = loader_options({.size = kSide}, {}, 16, 2, at::kCPU);
  }

  BankPlan plan(BankOptions options) const {
    options.folder = folder / "bank";
    return plan_bank(options, layout(), at::kCPU);
  }
  BankLayout layout() const {
    return {.images = kImages, .tokens = 17, .width = 64, .type = type_};
  }
  TokenBank bank(const BankPlan& bank_plan,
                 std::map<std::string, std::string> identity = {{"backbone", "tiny"}}) const {
    return TokenBank(bank_plan, sources, images, trunk, loader, nullptr, std::move(identity),
                     context);
  }
  TokenBank bank(const BankOptions& options) const { return bank(plan(options)); }

  TrunkTokens direct(const TokenBank& of, std::int64_t first, std::int64_t rows, std::int64_t view,
                     std::uint32_t generation) const {
    LoaderOptions options = loader;
    options.batch = static_cast<std::size_t>(rows);
    SkippedFiles none(BadImagePolicy::parse("fail", "0"), images.size());
    ImageLoader one(sources,
                    {static_cast<std::size_t>(rows),
                     [&](std::size_t i) {
                       const std::size_t image = static_cast<std::size_t>(first) + i;
                       return ImageRequest{images[image], of.view_key(image, view, generation)};
                     }},
                    options, none);
    return trunk.run(one.next()->pixels);
  }

  at::ScalarType type_;
  TemporaryFolder folder;
  SourceTable sources;
  std::vector<std::uint32_t> images;
  LoaderOptions loader;
  Trunk trunk{Vit(kTiny, random_vit_state(kTiny)), type_, at::kCPU};
  std::shared_ptr<RecordedHost> host = std::make_shared<RecordedHost>();
  Context context{.threads = 2, .seed = 5, .log = Logger(host), .progress_sink = host};
};

bool equal(const BankStore& a, const BankStore& b) {
  for (std::int64_t view = 0; view < a.layout().views; ++view) {
    if (!at::equal(a.tokens(view), b.tokens(view)) ||
        !at::equal(a.class_tokens(view), b.class_tokens(view))) {
      return false;
    }
  }
  return true;
}

void flip_a_byte(const fs::path& path, std::streamoff at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(at);
  file.put(byte);
}

TEST(TokenBank, HoldsTheTrunksTokensOfTheViewsKeys) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const Work work(type);
    TokenBank bank = work.bank({.views = 3, .home = BankHome::kHost});
    bank.prepare(0);
    for (std::int64_t view = 0; view < 3; ++view) {
      for (const auto& [first, rows] : {std::pair<std::int64_t, std::int64_t>{0, 16}, {16, 5}}) {
        const TrunkTokens expected = work.direct(bank, first, rows, view, 0);
        EXPECT_TRUE(
            at::equal(bank.store().tokens(view).narrow(0, first, rows), expected.normalised));
        EXPECT_TRUE(at::equal(bank.store().class_tokens(view).narrow(0, first, rows),
                              expected.class_token));
      }
    }
    EXPECT_FALSE(at::equal(bank.store().tokens(0), bank.store().tokens(1)));
    EXPECT_EQ(bank.store().class_tokens(0).scalar_type(), at::kFloat);
  }
}

TEST(TokenBank, TwoViewsOfADrawAreDistinctAndAllPairsComeUp) {
  for (const std::int64_t views : {2, 3, 8}) {
    std::set<std::pair<std::int64_t, std::int64_t>> seen;
    for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
      for (std::uint64_t position = 0; position < 500; ++position) {
        const auto [one, other] = draw_two_views(3, epoch, position, views);
        ASSERT_NE(one, other);
        ASSERT_TRUE(one >= 0 && other >= 0 && one < views && other < views);
        seen.insert({one, other});
      }
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(views * (views - 1)));
  }
}

TEST(TokenBank, HomesGiveEqualTokensAndSteps) {
  const Work work;
  TokenBank host = work.bank({.views = 4, .home = BankHome::kHost}),
            file = work.bank({.views = 4, .home = BankHome::kFile});
  const Sampler sampler(8, kImages - 8, 5, 6);
  BankViews from_host(host, sampler, 5, at::kCPU), from_file(file, sampler, 5, at::kCPU);
  for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
    from_host.start_epoch(epoch, 0);
    from_file.start_epoch(epoch, 0);
    for (std::size_t step = 0; step < sampler.batches_per_epoch(); ++step) {
      const TrunkTokens one = from_host.next(), other = from_file.next();
      EXPECT_TRUE(at::equal(one.normalised, other.normalised));
      EXPECT_TRUE(at::equal(one.class_token, other.class_token));
      for (std::size_t i = 0; i < 6; ++i) {
        const auto [first, second] = draw_two_views(5, epoch, step * 6 + i, 4);
        const auto image = static_cast<std::int64_t>(sampler.draw(epoch, step * 6 + i));
        const auto row = static_cast<std::int64_t>(i);
        EXPECT_TRUE(at::equal(one.normalised[row], host.store().tokens(first)[image]));
        EXPECT_TRUE(at::equal(one.normalised[6 + row], host.store().tokens(second)[image]));
        EXPECT_TRUE(at::equal(one.class_token[6 + row], host.store().class_tokens(second)[image]));
      }
    }
  }
  EXPECT_TRUE(equal(host.store(), file.store()));
}

TEST(TokenBank, OneViewOfADrawIsTheFirstOfTwo) {
  const Work work;
  TokenBank bank = work.bank({.views = 4, .home = BankHome::kHost});
  const Sampler sampler(8, kImages - 8, 5, 6);
  BankViews two(bank, sampler, 5, at::kCPU), one(bank, sampler, 5, at::kCPU, /*views=*/1);
  two.start_epoch(1, 0);
  one.start_epoch(1, 0);
  for (std::size_t step = 0; step < sampler.batches_per_epoch(); ++step) {
    const TrunkTokens pairs = two.next(), singles = one.next();
    EXPECT_TRUE(at::equal(singles.normalised, pairs.normalised.narrow(0, 0, 6)));
    EXPECT_TRUE(at::equal(singles.class_token, pairs.class_token.narrow(0, 0, 6)));
  }
}

TEST(TokenBank, StrongViewsHaveNumbersAndAnIdentityOfTheirOwn) {
  Work work;
  const BankOptions options{.views = 2, .home = BankHome::kFile};
  work.bank(options).prepare(0);
  const std::string weak = read_text_file(work.folder / "bank/view-00.tokens");
  work.loader.strong = StrongViewOptions{};
  {
    TokenBank strong = work.bank(options);
    work.host->take();
    strong.prepare(0);
    EXPECT_THAT(work.host->take(), AllOf(HasSubstr("made with other strong views"),
                                         HasSubstr("token bank of strong views: 2 views of 21")));
    EXPECT_EQ(strong.view_key(3, 1, 2).purpose, RandomPurpose::kStrongBankView);
    for (const std::int64_t view : {0, 1}) {
      EXPECT_TRUE(at::equal(strong.store().tokens(view).narrow(0, 0, 16),
                            work.direct(strong, 0, 16, view, 0).normalised));
    }
  }
  EXPECT_NE(read_text_file(work.folder / "bank/view-00.tokens"), weak);
}

TEST(TokenBank, MemoryOfABankBesideItIsTaken) {
  const Work work;
  BankLayout layout = work.layout();
  const BankPlan small = plan_bank({}, layout, at::kCPU);
  ASSERT_EQ(small.home, BankHome::kHost);
  BankPlan huge = small;
  huge.layout.images = 100'000'000'000;
  EXPECT_EQ(plan_bank({}, layout, at::kCPU, &huge).home, BankHome::kFile);
  huge.home = BankHome::kFile;
  EXPECT_EQ(plan_bank({}, layout, at::kCPU, &huge).home, BankHome::kHost);
}

TEST(TokenBank, AnEpochCanBeEnteredInTheMiddle) {
  const Work work;
  TokenBank bank = work.bank({.views = 3, .home = BankHome::kHost});
  const Sampler sampler(8, kImages - 8, 5, 6);
  BankViews whole(bank, sampler, 5, at::kCPU), rest(bank, sampler, 5, at::kCPU);
  whole.start_epoch(1, 0);
  whole.next();
  rest.start_epoch(1, 1);
  EXPECT_TRUE(at::equal(whole.next().normalised, rest.next().normalised));
}

TEST(TokenBank, AFileIsUsedAgainAndNotTouched) {
  const Work work;
  work.bank({.views = 3, .home = BankHome::kFile}).prepare(0);
  const auto before = fs::last_write_time(work.folder / "bank/view-01.journal");
  const std::string content = read_text_file(work.folder / "bank/view-01.tokens");
  work.host->take();
  TokenBank again = work.bank({.views = 3, .home = BankHome::kFile});
  again.prepare(0);
  EXPECT_EQ(work.host->take(), "");  // nothing is missing
  EXPECT_EQ(fs::last_write_time(work.folder / "bank/view-01.journal"), before);
  EXPECT_EQ(read_text_file(work.folder / "bank/view-01.tokens"), content);
}

TEST(TokenBank, OnlyOneProcessAtATime) {
  const Work work;
  TokenBank one = work.bank({.views = 2, .home = BankHome::kFile});
  one.prepare(0);
  TokenBank other = work.bank({.views = 2, .home = BankHome::kFile});
  EXPECT_THROW(other.prepare(0), FileError);
}

TEST(TokenBank, WhatIsStaleIsMadeAnewAndSaidSo) {
  const Work work;
  work.bank({.views = 2, .home = BankHome::kFile}).prepare(0);
  const std::string before = read_text_file(work.folder / "bank/view-00.tokens");
  const BankPlan plan = work.plan({.views = 2, .home = BankHome::kFile});
  {  // another backbone, which this test's trunk is not: the tokens come out the same
    work.host->take();
    work.bank(plan, {{"backbone", "another"}}).prepare(0);
    EXPECT_THAT(work.host->take(),
                AllOf(HasSubstr("made with other backbone"), HasSubstr("2 views of 21 images")));
    EXPECT_EQ(read_text_file(work.folder / "bank/view-00.tokens"), before);
  }
  {  // another seed: other views
    Work other;
    other.context.seed = 6;
    BankPlan there = plan;
    TokenBank(there, work.sources, work.images, work.trunk, work.loader, nullptr,
              {{"backbone", "another"}}, other.context)
        .prepare(0);
    EXPECT_THAT(other.host->take(), HasSubstr("made with other seed"));
    EXPECT_NE(read_text_file(work.folder / "bank/view-00.tokens"), before);
  }
  {  // an image that has changed
    write_png(work.folder / "images/100.png", random_image(60, 50, 99));
    work.host->take();
    work.bank(plan, {{"backbone", "another"}}).prepare(0);
    EXPECT_THAT(work.host->take(), HasSubstr("made with other images, seed"));
  }
}

TEST(TokenBank, DamageIsNamedAndOnlyItIsComputedAgain) {
  const Work work;
  work.bank({.views = 3, .home = BankHome::kFile}).prepare(0);
  TokenBank good = work.bank({.views = 3, .home = BankHome::kHost});
  good.prepare(0);
  const std::int64_t row = 17 * 64 * 4;
  flip_a_byte(work.folder / "bank/view-01.tokens", 18 * row + 5);  // in the second block
  fs::resize_file(work.folder / "bank/view-02.tokens", 10);        // nothing is left
  work.host->take();
  TokenBank bank = work.bank({.views = 3, .home = BankHome::kFile});
  bank.prepare(0);
  const std::string said = work.host->take();
  EXPECT_THAT(said, AllOf(HasSubstr("view-01.tokens: 1 of 2 blocks are damaged"),
                          HasSubstr("view-02.tokens: 2 of 2 blocks are damaged"),
                          Not(HasSubstr("view-00")), HasSubstr("37 of 63 views are there")));
  EXPECT_TRUE(equal(bank.store(), good.store()));
}

TEST(TokenBank, ATornJournalPromisesOnlyItsWholeLines) {
  const Work work;
  work.bank({.views = 2, .home = BankHome::kFile}).prepare(0);
  const fs::path journal = work.folder / "bank/view-00.journal";
  fs::resize_file(journal, fs::file_size(journal) - 4);
  work.host->take();
  TokenBank bank = work.bank({.views = 2, .home = BankHome::kFile});
  bank.prepare(0);
  EXPECT_THAT(work.host->take(),
              AllOf(HasSubstr("37 of 42 views are there"), Not(HasSubstr("damaged"))));
  TokenBank good = work.bank({.views = 2, .home = BankHome::kHost});
  good.prepare(0);
  EXPECT_TRUE(equal(bank.store(), good.store()));
}

TEST(TokenBank, ViewsAreLeftOutToFit) {
  const Work work;
  const auto one = static_cast<double>(work.layout().view_bytes());
  const auto views_of = [&](double views) {
    return work.plan({.views = 8, .max_gb = views * one / 1e9}).layout.views;
  };
  EXPECT_EQ(views_of(8.01), 8);
  EXPECT_EQ(views_of(7.99), 7);
  EXPECT_EQ(views_of(2.5), 2);
  EXPECT_EQ(views_of(0.1), 2);
  EXPECT_FALSE(work.plan({.max_gb = 2.5 * one / 1e9}).exceeds_limit);
  EXPECT_TRUE(work.plan({.max_gb = 1.9 * one / 1e9}).exceeds_limit);
  EXPECT_EQ(work.plan({.views = 8}).layout.views, 8);
  EXPECT_EQ(work.plan({}).home, BankHome::kHost);
  EXPECT_EQ(work.plan({.home = BankHome::kDevice}).home, BankHome::kHost);  // there is no GPU
  // One of two processes has half of the images: what fits is what fits of the whole.
  EXPECT_EQ(
      work.plan({.max_gb = 4.01 * one / 1e9, .all_images = 2 * work.layout().images}).layout.views,
      2);
  BankLayout huge = work.layout();
  huge.images = 100'000'000'000;
  EXPECT_EQ(plan_bank({}, huge, at::kCPU).home, BankHome::kFile);
}

TEST(TokenBank, RefreshRedrawsOneViewAtATime) {
  BankPlan plan;
  plan.layout.views = 3;
  plan.refresh = 2;
  const auto generations = [&](std::uint32_t epoch) {
    return std::vector<std::uint32_t>{plan.generation(0, epoch), plan.generation(1, epoch),
                                      plan.generation(2, epoch)};
  };
  using Numbers = std::vector<std::uint32_t>;
  EXPECT_EQ(generations(0), (Numbers{0, 0, 0}));
  EXPECT_EQ(generations(1), (Numbers{0, 0, 0}));
  EXPECT_EQ(generations(2), (Numbers{1, 0, 0}));
  EXPECT_EQ(generations(5), (Numbers{1, 2, 0}));
  EXPECT_EQ(generations(6), (Numbers{1, 2, 3}));
  EXPECT_EQ(generations(8), (Numbers{4, 2, 3}));
  EXPECT_EQ(generations(15), (Numbers{7, 5, 6}));
  plan.refresh = 0;
  EXPECT_EQ(generations(1000), (Numbers{0, 0, 0}));
}

TEST(TokenBank, WhatASlotHoldsDependsOnTheEpochAlone) {
  const Work work;
  for (const BankHome home : {BankHome::kHost, BankHome::kFile}) {
    const BankOptions options{.views = 3, .home = home, .refresh = 1};
    at::Tensor at_three;
    {
      TokenBank bank = work.bank(options);
      for (const std::uint32_t epoch : {0U, 1U, 2U, 3U, 4U}) {
        bank.prepare(epoch);
        if (epoch == 3) at_three = bank.store().tokens(1).clone();
        if (epoch == 4) {
          EXPECT_TRUE(at::equal(bank.store().tokens(0).narrow(0, 0, 16),
                                work.direct(bank, 0, 16, 0, 4).normalised));
        }
      }
      EXPECT_TRUE(at::equal(bank.store().tokens(1), at_three));  // epoch 4 redraws slot 0
      bank.prepare(5);
      EXPECT_FALSE(at::equal(bank.store().tokens(1), at_three));
    }
    TokenBank resumed = work.bank(options);  // at an epoch before the one it was stopped in
    resumed.prepare(3);
    EXPECT_TRUE(at::equal(resumed.store().tokens(1), at_three));
  }
}

/// The real program: images of two classes, a tiny backbone.
struct ProgramWork {
  ProgramWork() {
    const StateDict state = random_vit_state(kTiny, at::kFloat);
    std::vector<TensorEntry> entries;
    for (const auto& [name, tensor] : state.tensors) entries.push_back(entry_of(name, tensor));
    write_safetensors(folder / "tiny.safetensors", entries);
    for (const char* part : {"labelled/a", "labelled/b", "unlabelled"}) {
      create_folders(folder / part);
      for (int i = 0; i < 60; ++i) {
        write_png(folder / part / (std::to_string(100 + i) + ".png"),
                  random_image(140, 150, static_cast<std::uint64_t>(i)));
      }
    }
  }

  std::vector<std::string> command(const std::string& out, std::vector<std::string> more) const {
    std::vector<std::string> words = {"train",
                                      "--labelled",
                                      folder / "labelled",
                                      "--unlabelled",
                                      folder / "unlabelled",
                                      "--backbone",
                                      folder / "tiny.safetensors",
                                      "--image-size",
                                      "128",
                                      "--k",
                                      "3",
                                      "--epochs",
                                      "2",
                                      "--batch-size",
                                      "16",
                                      "--head-hidden",
                                      "32",
                                      "--views",
                                      "bank",
                                      "--threads",
                                      "1",
                                      "--dtype",
                                      "float32",
                                      "--out",
                                      folder / out};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  TemporaryFolder folder;
};

/// Ends the program with a signal once the journal of the bank promises something. The wait status.
int kill_while_it_builds(std::vector<std::string> words, const fs::path& journal) {
  words.insert(words.begin(), testing::protogcd_path());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t process = 0;
  const int failed = posix_spawn(&process, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    std::error_code error;
    if (fs::exists(journal, error) &&
        read_text_file(journal).find("\nblock ") != std::string::npos) {
      ::kill(process, SIGKILL);
      waitpid(process, &status, 0);
      return status;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return status;
}

TEST(TokenBank, AKilledBuildGoesOnToTheSameBytes) {
  const ProgramWork work;
  const std::vector<std::string> more = {"--bank-home", "file", "--bank-views", "4"};
  const auto whole = run_protogcd(work.command("whole", more));
  ASSERT_EQ(whole.exit_code, 0) << whole.errors;
  const int status = kill_while_it_builds(work.command("killed", more),
                                          work.folder / "killed/bank/view-00.journal");
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto resumed = run_protogcd({"train", "--out", work.folder / "killed", "--resume"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, AllOf(HasSubstr("views are there"), Not(HasSubstr("damaged")),
                                    Not(HasSubstr(" 0 of 720 views are there"))));
  for (const char* name : {"bank/view-00.tokens", "bank/view-03.tokens", "model/model.safetensors",
                           "predictions.csv"}) {
    EXPECT_EQ(read_text_file(work.folder / "killed" / name),
              read_text_file(work.folder / "whole" / name))
        << name;
  }
}

TEST(TokenBank, EveryHomeTrainsTheSameModel) {
  const ProgramWork work;
  for (const char* home : {"host", "file", "auto"}) {
    const auto result = run_protogcd(
        work.command(home, {"--bank-home", home, "--bank-views", "3", "--bank-refresh", "1"}));
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(read_text_file(work.folder / home / "model/model.safetensors"),
              read_text_file(work.folder / "host/model/model.safetensors"))
        << home;
  }
  const auto few = run_protogcd(work.command("few", {"--bank-max", "0.0000001"}));
  EXPECT_THAT(few.errors, HasSubstr("--bank-max: 2 views instead of 8"));
}

}  // namespace
}  // namespace protogcd
