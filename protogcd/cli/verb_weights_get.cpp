// `protogcd weights get`: a preset's file from its release, whole or not at all.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <memory>

#include "protogcd/cli/curl_download.h"
#include "protogcd/cli/interrupt.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/file_lock.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"
#include "protogcd/nn/backbone_options.h"
#include "protogcd/nn/published_weights.h"

namespace protogcd::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecordFile = "weights.json";

struct GetOptions {
  std::string name;
  fs::path weights_dir = BackboneOptions{}.weights_dir;
  std::string url = std::string(kWeightServer);
};

/// What a first download was. The releases publish no checksums: later files are held to it.
struct WeightRecord {
  std::string name, url;
  std::uint64_t size = 0;
  std::string sha256, date;
};

/// DIR/weights.json.
class WeightRecords {
 public:
  explicit WeightRecords(const fs::path& folder) : file_(folder / kRecordFile) {
    if (!fs::exists(file_)) return;
    try {
      const nlohmann::json json = parse_json(read_text_file(file_));
      for (const auto& row : json.at("weights"))
        records_.push_back(
            {row.at("name"), row.at("url"), row.at("size"), row.at("sha256"), row.at("date")});
    } catch (const nlohmann::json::exception& error) {
      throw ModelFileError(fmt::format("{}: damaged: {}", file_.string(), error.what()),
                           "remove it, and the next download is recorded anew");
    }
  }

  const fs::path& file() const { return file_; }
  const WeightRecord* find(std::string_view name) const {
    for (const WeightRecord& record : records_)
      if (record.name == name) return &record;
    return nullptr;
  }
  void add(WeightRecord record) {
    records_.push_back(std::move(record));
    nlohmann::json rows = nlohmann::json::array();
    for (const WeightRecord& row : records_)
      rows.push_back({{"name", row.name},
                      {"url", row.url},
                      {"size", row.size},
                      {"sha256", row.sha256},
                      {"date", row.date}});
    write_file_atomically(file_, nlohmann::json{{"weights", rows}}.dump(2) + "\n");
  }

 private:
  fs::path file_;
  std::vector<WeightRecord> records_;
};

/// The file that grows, for one process at a time. One without content does not stay.
class PartialFile {
 public:
  explicit PartialFile(fs::path path)
      : path_(std::move(path)),
        lock_(path_, fmt::format("{}: another process is fetching it", path_.string()),
              "wait for it to end") {}
  ~PartialFile() {
    std::error_code missing;
    if (fs::file_size(path_, missing) == 0) fs::remove(path_, missing);
  }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  const fs::path& path() const { return path_; }
  void put_in_place(const fs::path& target) const {
    const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    const bool flushed = file >= 0 && ::fsync(file) == 0;
    if (file >= 0) ::close(file);
    if (!flushed) throw FileError(fmt::format("{}: cannot flush it to disk", path_.string()));
    fs::rename(path_, target);
    flush_folder(target.parent_path());
  }

 private:
  fs::path path_;
  FileLock lock_;
};

std::string today() {
  const std::chrono::year_month_day day(
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

void check_weight_size(const VitPreset& preset, const fs::path& file, const std::string& hint) {
  const std::uint64_t bytes = fs::file_size(file);
  if (is_size_of(preset, bytes)) return;
  throw ModelFileError(
      fmt::format("{}: {} bytes cannot be the weights of {}, whose tensors alone have {}",
                  file.string(), bytes, preset.name, tensor_bytes(preset)),
      hint);
}

void check_against_record(const WeightRecord& record, const fs::path& file,
                          const std::string& sha256, const WeightRecords& records,
                          const std::string& hint) {
  if (fs::file_size(file) == record.size && sha256 == record.sha256) return;
  throw ModelFileError(
      fmt::format("{}: not the file that {} records of {}: SHA-256 {}, recorded {}", file.string(),
                  records.file().string(), record.date, sha256, record.sha256),
      hint);
}

/// How to do without the network here.
std::string by_hand(const std::string& url, const VitPreset& preset, const fs::path& target) {
  return fmt::format("by hand: get {} (about {}) elsewhere and put it here as {}", url,
                     megabytes(tensor_bytes(preset)), shell_word(target.string()));
}

struct Gotten {
  fs::path file;
  bool downloaded = false;
  std::string sha256;  ///< empty: there was no record to compare with
  std::string text;
};

/// Of a file that is there already.
Gotten check_present(const VitPreset& preset, const fs::path& file, const WeightRecords& records) {
  const std::string anew =
      fmt::format("remove {}, and the same command fetches it anew", shell_word(file.string()));
  const bool published = file.filename() == preset.file_name;
  if (published) check_weight_size(preset, file, anew);
  const WeightRecord* record = records.find(preset.name);
  if (!published || record == nullptr) {
    return {.file = file,
            .sha256 = {},
            .text = fmt::format("is there already; {} has no record to compare it with",
                                records.file().string())};
  }
  const std::string sha256 = sha256_file(file);
  check_against_record(*record, file, sha256, records, anew);
  return {.file = file,
          .sha256 = sha256,
          .text = fmt::format("is there already, and is the file of {}", record->date)};
}

/// Checks what came, and gives it its name. What is wrong goes: no resuming would mend it.
Gotten accept_download(const VitPreset& preset, const PartialFile& partial, const std::string& url,
                       const fs::path& target, WeightRecords& records) {
  Gotten result{.file = target, .downloaded = true, .sha256 = {}, .text = {}};
  const WeightRecord* record = records.find(preset.name);
  try {
    check_weight_size(preset, partial.path(),
                      fmt::format("it was removed; what does {} show in a browser?", url));
    result.sha256 = sha256_file(partial.path());
    if (record != nullptr)
      check_against_record(*record, partial.path(), result.sha256, records,
                           fmt::format("it was removed; if {} has rightly changed, take {} out of "
                                       "{}",
                                       url, preset.name, records.file().string()));
  } catch (const ModelFileError&) {
    fs::remove(partial.path());
    throw;
  }
  if (record != nullptr) {
    result.text = fmt::format("the same file as on {}", record->date);
  } else {
    records.add({.name = std::string(preset.name),
                 .url = url,
                 .size = fs::file_size(partial.path()),
                 .sha256 = result.sha256,
                 .date = today()});
    result.text = fmt::format(
        "SHA-256 {}; the release publishes none to compare with, so {} records it for later",
        result.sha256, records.file().string());
  }
  partial.put_in_place(target);
  return result;
}

Gotten fetch(const VitPreset& preset, const GetOptions& options, WeightRecords& records,
             const Context& context) {
  const fs::path target = options.weights_dir / preset.file_name;
  const std::string url = weight_url(preset, options.url);
  const auto curl = find_curl();
  if (!curl) {
    throw FileError("the program curl, which downloads, is not in PATH",
                    "install it; or " + by_hand(url, preset, target));
  }
  create_folders(options.weights_dir);
  const PartialFile partial(target.string() + ".part");
  try {
    download(
        {.curl = *curl, .url = url, .partial = partial.path(), .about_bytes = tensor_bytes(preset)},
        context);
  } catch (const FileError& error) {
    const std::string way_out = error.hint().empty()
                                    ? "try the same command again: it goes on where it stopped"
                                    : error.hint();
    throw FileError(error.what(), way_out + "; or " + by_hand(url, preset, target));
  }
  return accept_download(preset, partial, url, target, records);
}

void get_weights(const GetOptions& options, Session& session) {
  const VitPreset& preset = *find_vit_preset(options.name);
  WeightRecords records(options.weights_dir);
  const InterruptGuard interrupt(session.host_stop);
  Context context = session.context;
  context.stop = interrupt.token();
  const auto present = find_weights(preset, options.weights_dir);
  const Gotten gotten =
      present ? check_present(preset, *present, records) : fetch(preset, options, records, context);
  if (session.json()) {
    nlohmann::json json = {{"name", preset.name},
                           {"file", gotten.file.string()},
                           {"downloaded", gotten.downloaded},
                           {"size", fs::file_size(gotten.file)},
                           {"sha256", nullptr}};
    if (!gotten.sha256.empty()) json["sha256"] = gotten.sha256;
    return session.print_json(json);
  }
  say("{}: {}\n", gotten.file.string(), gotten.text);
  const bool usual = options.weights_dir == GetOptions{}.weights_dir;
  say("to use it: --backbone {}{}\n", preset.name,
      usual ? "" : " --weights-dir " + shell_word(options.weights_dir.string()));
}

}  // namespace

Verb weights_get_verb() {
  return {.name = "weights get",
          .summary = "download the weight file of a preset, once",
          .example = "protogcd weights get dino-vits16",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<GetOptions>();
            std::vector<std::string> names;
            for (const VitPreset& preset : vit_presets()) names.emplace_back(preset.name);
            table.add("name", &options->name, "a preset; protogcd weights list tells them apart")
                .positional()
                .one_of(names)
                .value_name("NAME")
                .required();
            table.add("weights_dir", &options->weights_dir, "the folder to put it into")
                .value_name("DIR");
            table.add("url", &options->url, "a server with the folders of the release's")
                .value_name("URL");
            return [options](Session& session) { get_weights(*options, session); };
          }};
}

}  // namespace protogcd::cli
