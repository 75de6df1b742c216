// `protogcd weights list|get`, against a server of its own.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/sha256.h"
#include "protogcd/sweep/child_process.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProgramResult;
using testing::run_protogcd;
using testing::TemporaryFolder;

constexpr const char* kFile = "dino_deitsmall16_pretrain.pth";
constexpr const char* kPath = "/dino/dino_deitsmall16_pretrain/dino_deitsmall16_pretrain.pth";
constexpr std::size_t kTensorBytes = 21'665'664 * 4;  // the parameters of a ViT-S/16 without head
constexpr std::size_t kBytes = kTensorBytes + 5000;

/// What the server sends; other `first` values, other content.
std::string content(std::size_t bytes, int first = 0) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>((i >> 16) + first);
  return text;
}

// behaviour.json is read at every request: status, bytes, first, and after how many bytes it hangs.
constexpr const char* kServer = R"(
import http.server, json, re, sys, time
folder = sys.argv[1]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        how = json.load(open(folder + "/behaviour.json"))
        asked = self.headers.get("Range", "whole")
        with open(folder + "/requests", "a") as log:
            log.write(self.path + " " + asked + "\n")
        if how["status"] != 200:
            return self.send_error(how["status"])
        size = how["bytes"]
        blocks = range((size >> 16) + 1)
        body = b"".join(bytes([(k + how["first"]) & 255]) * 65536 for k in blocks)[:size]
        start = int(re.match(r"bytes=(\d+)-", asked)[1]) if asked != "whole" else 0
        if start >= size:
            self.send_response(416)
            self.send_header("Content-Range", "bytes */%d" % size)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (start, size - 1, size))
        self.send_header("Content-Length", str(size - start))
        self.end_headers()
        if how["hang_after"]:
            self.wfile.write(body[start:how["hang_after"]])
            self.wfile.flush()
            time.sleep(1000)
        self.wfile.write(body[start:])
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
)";

class WeightsGet : public ::testing::Test {
 protected:
  WeightsGet() {
    behave();
    write_file_atomically(folder_ / "server.py", kServer);
    server_.emplace(
        std::vector<std::string>{"/usr/bin/env", "python3", folder_ / "server.py", folder_.path()},
        folder_ / "port", folder_ / "server.log");
    for (int i = 0; i < 3000 && !port().ends_with('\n'); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    url_ = "http://127.0.0.1:" + port().substr(0, port().find('\n'));
  }

  void SetUp() override {
    for (const char* program : {"curl", "python3"}) {
      if (testing::run_command({"which", program}).exit_code != 0)
        GTEST_SKIP() << program << " is not there";
    }
  }

  void behave(const nlohmann::json& changes = nlohmann::json::object()) {
    nlohmann::json how = {{"status", 200}, {"bytes", kBytes}, {"first", 0}, {"hang_after", 0}};
    how.update(changes);
    write_file_atomically(folder_ / "behaviour.json", how.dump());
  }
  std::string port() const { return read_text_file(folder_ / "port"); }
  /// Path and range of each.
  std::string requests() const {
    return fs::exists(folder_ / "requests") ? read_text_file(folder_ / "requests") : "";
  }
  std::vector<std::string> get_command() const {
    return {"weights", "get", "dino-vits16", "--weights-dir", weights(), "--url", url_};
  }
  ProgramResult get() const { return run_protogcd(get_command()); }
  ProgramResult get_until(int signal, std::size_t bytes) const {
    return testing::signal_protogcd(get_command(), signal, [&] {
      return fs::exists(partial()) && fs::file_size(partial()) >= bytes;
    });
  }

  fs::path weights() const { return folder_ / "weights"; }
  fs::path target() const { return weights() / kFile; }
  fs::path partial() const { return weights() / (std::string(kFile) + ".part"); }
  fs::path record() const { return weights() / "weights.json"; }

  TemporaryFolder folder_;
  std::optional<ChildProcess> server_;
  std::string url_;
};

TEST_F(WeightsGet, FetchesTheFileAndRecordsWhatItIs) {
  const auto result = get();
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const std::string sha256 = sha256_hex(content(kBytes));
  EXPECT_EQ(sha256_file(target()), sha256);
  EXPECT_FALSE(fs::exists(partial()));
  EXPECT_THAT(result.output, AllOf(HasSubstr(sha256), HasSubstr("publishes none"),
                                   HasSubstr("--backbone dino-vits16 --weights-dir ")));
  const auto row = nlohmann::json::parse(read_text_file(record())).at("weights").at(0);
  EXPECT_EQ(row.at("name"), "dino-vits16");
  EXPECT_EQ(row.at("url"), url_ + kPath);
  EXPECT_EQ(row.at("size"), kBytes);
  EXPECT_EQ(row.at("sha256"), sha256);
  EXPECT_THAT(row.at("date").get<std::string>(), ::testing::MatchesRegex("20..-..-.."));
  EXPECT_EQ(requests(), std::string(kPath) + " whole\n");
}

TEST_F(WeightsGet, AFileThatIsThereIsHeldToTheRecordAndNotFetchedAgain) {
  ASSERT_EQ(get().exit_code, 0);
  const std::string before = requests();
  const auto again = get();
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  EXPECT_THAT(again.output, HasSubstr("is there already, and is the file of 20"));
  EXPECT_EQ(requests(), before);
  std::string damaged = content(kBytes);
  damaged[kBytes / 2] ^= 1;
  write_file_atomically(target(), damaged);
  const auto refused = get();
  EXPECT_EQ(refused.exit_code, 5);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr(target().string()), HasSubstr("weights.json"),
                                    HasSubstr(sha256_hex(damaged)), HasSubstr("remove ")));
}

TEST_F(WeightsGet, AFilePutThereByHandIsTakenIfItsSizeFits) {
  create_folders(weights());
  write_file_atomically(target(), content(kBytes));
  const auto result = get();
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("no record to compare it with"));
  write_file_atomically(target(), content(kTensorBytes - 1));
  EXPECT_EQ(get().exit_code, 5);
  EXPECT_EQ(requests(), "");
}

TEST_F(WeightsGet, GoesOnWhereAPartialFileEnds) {
  create_folders(weights());
  write_file_atomically(partial(), content(80'000'123));
  const auto result = get();
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(requests(), std::string(kPath) + " bytes=80000123-\n");
  EXPECT_EQ(sha256_file(target()), sha256_hex(content(kBytes)));
  EXPECT_FALSE(fs::exists(partial()));
}

TEST_F(WeightsGet, APartialFileThatIsWholeIsPutInPlace) {
  create_folders(weights());
  write_file_atomically(partial(), content(kBytes));
  const auto result = get();
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(requests(), std::string(kPath) + " bytes=" + std::to_string(kBytes) + "-\n");
  EXPECT_EQ(sha256_file(target()), sha256_hex(content(kBytes)));
}

TEST_F(WeightsGet, AFileOfAWrongSizeIsNotPutInPlace) {
  for (const std::size_t bytes : {std::size_t{1000}, kTensorBytes - 1, kBytes + (2 << 20)}) {
    behave({{"bytes", bytes}});
    const auto result = get();
    EXPECT_EQ(result.exit_code, 5) << bytes;
    EXPECT_THAT(result.errors, AllOf(HasSubstr(std::to_string(bytes) + " bytes cannot be"),
                                     HasSubstr(std::to_string(kTensorBytes)), HasSubstr(url_)));
    EXPECT_TRUE(fs::is_empty(weights())) << "resuming would not mend it";
  }
}

TEST_F(WeightsGet, AnotherContentThanRecordedIsNotPutInPlace) {
  ASSERT_EQ(get().exit_code, 0);
  const std::string recorded = read_text_file(record());
  fs::remove(target());
  behave({{"first", 1}});
  const auto result = get();
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.errors, AllOf(HasSubstr(sha256_hex(content(kBytes))),
                                   HasSubstr(sha256_hex(content(kBytes, 1)))));
  EXPECT_FALSE(fs::exists(target()));
  EXPECT_FALSE(fs::exists(partial()));
  EXPECT_EQ(read_text_file(record()), recorded);
  behave();
  const auto right = get();
  EXPECT_EQ(right.exit_code, 0) << right.errors;
  EXPECT_THAT(right.output, HasSubstr("the same file as on 20"));
}

TEST_F(WeightsGet, AServerWithoutTheFileSaysWhereToPutItByHand) {
  behave({{"status", 404}});
  const auto result = get();
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_THAT(result.errors, AllOf(HasSubstr("404"), HasSubstr(url_ + kPath), HasSubstr("87 MB"),
                                   HasSubstr(target().string())));
  EXPECT_TRUE(fs::is_empty(weights()));
}

TEST_F(WeightsGet, WithoutANetworkItSaysWhereToPutItByHand) {
  server_.reset();
  const auto result = get();
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_THAT(result.errors, AllOf(HasSubstr("curl: (7)"), HasSubstr(url_ + kPath),
                                   HasSubstr("87 MB"), HasSubstr(target().string())));
}

TEST_F(WeightsGet, WithoutCurlItSaysWhereToPutItByHand) {
  std::vector<std::string> command = {"/usr/bin/env", "PATH=/nonexistent",
                                      testing::protogcd_path()};
  for (const auto& word : get_command()) command.push_back(word);
  const auto result = testing::run_command(command);
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_THAT(result.errors,
              AllOf(HasSubstr("curl, which downloads, is not in PATH"), HasSubstr(url_ + kPath),
                    HasSubstr("87 MB"), HasSubstr(target().string())));
  EXPECT_FALSE(fs::exists(weights()));
}

TEST_F(WeightsGet, KilledInTheMiddleItKeepsThePartAndTheSameCommandGoesOn) {
  behave({{"hang_after", 50'000'000}});
  EXPECT_EQ(get_until(SIGKILL, 40'000'000).exit_code, -SIGKILL);
  EXPECT_FALSE(fs::exists(target()));
  EXPECT_FALSE(fs::exists(record()));
  ASSERT_GE(fs::file_size(partial()), 40'000'000u);
  behave();
  const auto result = get();
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_THAT(requests(), HasSubstr(std::string(kPath) + " bytes="));
  EXPECT_EQ(sha256_file(target()), sha256_hex(content(kBytes)));
}

TEST_F(WeightsGet, CtrlCKeepsThePartAndSaysSo) {
  behave({{"hang_after", 50'000'000}});
  const auto result = get_until(SIGINT, 40'000'000);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.errors,
              AllOf(HasSubstr(partial().string()), HasSubstr("the same command goes on")));
  EXPECT_GE(fs::file_size(partial()), 40'000'000u);
  EXPECT_FALSE(fs::exists(target()));
}

TEST_F(WeightsGet, TwoAtOnceDoNotWriteTheSameFile) {
  behave({{"hang_after", 2'000'000}});
  ProgramResult second;
  testing::signal_protogcd(get_command(), SIGINT, [&] {
    if (!fs::exists(partial()) || fs::file_size(partial()) < 1'000'000) return false;
    second = get();
    return true;
  });
  EXPECT_EQ(second.exit_code, 7);
  EXPECT_THAT(second.errors, HasSubstr("another process is fetching it"));
}

TEST_F(WeightsGet, AnUnknownNameGetsTheNearest) {
  const auto result = run_protogcd({"weights", "get", "dino-vits61", "--url", url_});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("NAME: 'dino-vits61' is not allowed"));
  EXPECT_THAT(result.errors, HasSubstr("did you mean 'dino-vits16'"));
}

nlohmann::json listed(const std::vector<std::string>& options) {
  std::vector<std::string> command = {"weights", "list", "--json", "--device", "cpu"};
  command.insert(command.end(), options.begin(), options.end());
  const auto result = run_protogcd(command);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  return nlohmann::json::parse(result.output);
}

TEST(WeightsList, NamesTheReleasesFilesAndTheirSizes) {
  std::vector<std::string> rows;
  const auto json = listed({"--timing=false"});
  for (const auto& row : json.at("weights")) {
    const std::string url = row.at("url");
    rows.push_back(row.at("name").get<std::string>() + " " + url.substr(url.find(".com/") + 5) +
                   " " + std::to_string(row.at("tensor_bytes").get<std::size_t>() / 1'000'000));
    EXPECT_THAT(url, ::testing::StartsWith("https://dl.fbaipublicfiles.com/"));
    EXPECT_NE(row.at("purpose"), "");
    EXPECT_TRUE(row.at("images_per_second").is_null());
  }
  EXPECT_THAT(
      rows,
      ElementsAre("dino-vits16 dino/dino_deitsmall16_pretrain/dino_deitsmall16_pretrain.pth 86",
                  "dino-vitb16 dino/dino_vitbase16_pretrain/dino_vitbase16_pretrain.pth 343",
                  "dino-vitb8 dino/dino_vitbase8_pretrain/dino_vitbase8_pretrain.pth 343",
                  "dinov2-vits14 dinov2/dinov2_vits14/dinov2_vits14_pretrain.pth 88",
                  "dinov2-vitb14 dinov2/dinov2_vitb14/dinov2_vitb14_pretrain.pth 346",
                  "dinov2-vits14-reg4 dinov2/dinov2_vits14/dinov2_vits14_reg4_pretrain.pth 88",
                  "dinov2-vitb14-reg4 dinov2/dinov2_vitb14/dinov2_vitb14_reg4_pretrain.pth 346"));
  EXPECT_EQ(json.at("recommended"), "dino-vits16") << "there is no GPU on a CPU";
}

TEST(WeightsList, SaysWhichAreThereAlready) {
  const TemporaryFolder folder;
  write_file_atomically(folder / kFile, "");
  write_file_atomically(folder / "dinov2_vitb14_pretrain.safetensors", "");
  const auto json = listed({"--timing=false", "--weights-dir", folder.path()});
  for (const auto& row : json.at("weights")) {
    const bool there = row.at("name") == "dino-vits16" || row.at("name") == "dinov2-vitb14";
    EXPECT_EQ(!row.at("file").is_null(), there) << row;
  }
  const auto table =
      run_protogcd({"weights", "list", "--timing=false", "--weights-dir", folder.path()});
  EXPECT_THAT(table.output,
              AllOf(::testing::ContainsRegex("dino-vits16 +87 MB +yes"),
                    ::testing::ContainsRegex("dino-vitb16 +343 MB +no"),
                    HasSubstr("protogcd weights get dino-vit"), Not(HasSubstr("images/s"))));
}

TEST(WeightsList, MoreComputationMeansFewerImagesPerSecond) {
  std::map<std::string, double> rates;
  const auto json = listed({});
  for (const auto& row : json.at("weights")) rates[row.at("name")] = row.at("images_per_second");
  EXPECT_EQ(rates.size(), 7u);
  // 17 and 14 times the operations: no load of the machine hides that.
  EXPECT_GT(rates["dino-vits16"], 2 * rates["dino-vitb8"]);
  EXPECT_GT(rates["dinov2-vits14"], rates["dino-vitb8"]);
  EXPECT_GT(rates["dino-vitb8"], 0);
}

}  // namespace
}  // namespace protogcd
