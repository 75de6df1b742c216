#include "protogcd/engine/bank_store.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "protogcd/core/block_journal.h"
#include "protogcd/core/error.h"
#include "protogcd/core/file_lock.h"
#include "protogcd/core/files.h"
#include "protogcd/core/folder_entries.h"
#include "protogcd/core/json.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"
#include "protogcd/engine/pinned_memory.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kJournalInterval{1000};
constexpr std::uint64_t kAlignment = 4096;  // class tokens begin on a page of their own

const at::Tensor& tokens_of(const TrunkTokens& tokens) {
  return tokens.normalised.defined() ? tokens.normalised : tokens.raw;
}

class MemoryBank : public BankStore {
 public:
  MemoryBank(const BankLayout& l, at::Device device, bool pinned)
      : BankStore(l),
        keys_(static_cast<std::size_t>(l.views)),
        has_(static_cast<std::size_t>(l.views)) {
    try {
      const auto make = [&](at::IntArrayRef sizes, at::ScalarType type) {
        return pinned ? make_pinned(sizes, type) : at::empty(sizes, at::device(device).dtype(type));
      };
      tokens_ = make({l.views, l.images, l.tokens, l.width}, l.type);
      if (l.with_class_token) class_tokens_ = make({l.views, l.images, l.width}, l.class_type());
    } catch (const std::exception&) {
      throw DeviceError(
          fmt::format("the token bank needs {}, which is not to be had", human_bytes(l.bytes())),
          fmt::format("choose fewer views with {} or {}, or {} file", option_name("bank_views"),
                      option_name("bank_max"), option_name("bank_home")));
    }
  }

  void use(std::int64_t slot, const std::string& key) override {
    const auto i = static_cast<std::size_t>(slot);
    if (keys_[i] == key) return;
    keys_[i] = key;
    has_[i].assign(static_cast<std::size_t>(layout().blocks()), false);
  }
  bool has(std::int64_t slot, std::int64_t block) const override {
    return has_[static_cast<std::size_t>(slot)][static_cast<std::size_t>(block)];
  }
  void put(std::int64_t slot, std::int64_t block, const TrunkTokens& tokens) override {
    const std::int64_t first = block * layout().block, rows = layout().rows_of(block);
    tokens_[slot].narrow(0, first, rows).copy_(tokens_of(tokens));
    if (layout().with_class_token)
      class_tokens_[slot].narrow(0, first, rows).copy_(tokens.class_token);
    has_[static_cast<std::size_t>(slot)][static_cast<std::size_t>(block)] = true;
  }

  at::Tensor tokens(std::int64_t slot) const override { return tokens_[slot]; }
  at::Tensor class_tokens(std::int64_t slot) const override {
    return class_tokens_.defined() ? class_tokens_[slot] : at::Tensor();
  }
  at::Tensor all_tokens() const override {
    return tokens_.view({layout().views * layout().images, -1});
  }
  at::Tensor all_class_tokens() const override {
    return class_tokens_.defined() ? class_tokens_.view({layout().views * layout().images, -1})
                                   : at::Tensor();
  }

 private:
  std::vector<std::string> keys_;
  std::vector<std::vector<bool>> has_;
  at::Tensor tokens_, class_tokens_;
};

constexpr int kBankFormat = 1;  // of bank.json and of journals
constexpr const char *kBankFile = "bank.json", *kJournalEnding = ".journal";
constexpr std::string_view kJournalName = "protogcd-bank ";

std::string journal_opening() {
  return fmt::format("{}{} ", kJournalName, kBankFormat);
}

/// "protogcd-bank 1"
std::string_view opening_words(std::string_view journal) {
  return journal.substr(0, journal.find_first_of(" \n", kJournalName.size()));
}

/// What a later version has drawn is not drawn over: to be called before anything is changed.
void refuse_other_formats(const fs::path& folder) {
  const std::string hint =
      fmt::format("remove the bank, or give another {}", option_name("bank_dir"));
  if (const fs::path file = folder / kBankFile; fs::exists(file))
    check_format(parse_json_or_discard(read_text_file(file)), kBankFormat, file.string(), hint);
  for (const auto& entry : folder_entries(folder)) {
    if (entry.path().extension() != kJournalEnding) continue;
    const std::string journal = read_text_file(entry.path()), ours = journal_opening();
    if (!journal.starts_with(kJournalName) || journal.starts_with(ours)) continue;
    throw UsageError(
        fmt::format("{}: written by another version of the program ({}, this one "
                    "writes {})",
                    entry.path().string(), opening_words(journal), opening_words(ours)),
        hint);
  }
}

[[noreturn]] void fail(const char* action, const fs::path& path) {
  throw FileError(fmt::format("{}: cannot {}: {}", path.string(), action, std::strerror(errno)));
}

int open_file(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) fail("open", path);
  return descriptor;
}

void write_at(int descriptor, const void* data, std::uint64_t size, std::uint64_t offset,
              const fs::path& path) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = ::pwrite(descriptor, at, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("write", path);
    at += count;
    size -= static_cast<std::uint64_t>(count);
    offset += static_cast<std::uint64_t>(count);
  }
}

/// One slot: a file of tokens and then class tokens, and a journal. The journal's first line names
/// the key, each further one a block and its checksum; of two lines for a block the later counts.
class SlotFile {
 public:
  SlotFile(const BankLayout& layout, fs::path path)
      : layout_(layout),
        path_(std::move(path)),
        journal_path_(fs::path(path_).replace_extension(kJournalEnding)),
        class_offset_((layout.token_row_bytes() * static_cast<std::uint64_t>(layout.images) +
                       kAlignment - 1) /
                      kAlignment * kAlignment),
        size_(class_offset_ + layout.class_row_bytes() * static_cast<std::uint64_t>(layout.images)),
        has_(static_cast<std::size_t>(layout.blocks())) {
    try {
      data_ = open_file(path_);
      journal_ = open_file(journal_path_);
      // A file that was cut short is filled with zeros, which the checksums find.
      if (::ftruncate(data_, static_cast<off_t>(size_)) != 0) fail("resize", path_);
      void* address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, data_, 0);
      if (address == MAP_FAILED) fail("map", path_);
      bytes_ = static_cast<std::byte*>(address);
    } catch (...) {
      close();
      throw;
    }
  }
  ~SlotFile() { close(); }
  SlotFile(const SlotFile&) = delete;
  SlotFile& operator=(const SlotFile&) = delete;

  void use(const std::string& key, const Logger& log) {
    if (key_ == key) return;
    const bool first = key_.empty();
    key_ = key;
    pending_.clear();
    has_.assign(has_.size(), false);
    if (first && read_journal(log)) return;
    if (::ftruncate(journal_, 0) != 0) fail("empty", journal_path_);
    end_ = 0;
    append(header());
  }

  bool has(std::int64_t block) const { return has_[static_cast<std::size_t>(block)]; }

  void put(std::int64_t block, const TrunkTokens& tokens) {
    const at::Tensor rows = tokens_of(tokens).to(at::kCPU).contiguous();
    const auto first = static_cast<std::uint64_t>(block * layout_.block);
    write_at(data_, rows.const_data_ptr(), rows.nbytes(), first * layout_.token_row_bytes(), path_);
    if (layout_.with_class_token) {
      const at::Tensor classes = tokens.class_token.to(at::kCPU).contiguous();
      write_at(data_, classes.const_data_ptr(), classes.nbytes(),
               class_offset_ + first * layout_.class_row_bytes(), path_);
    }
    has_[static_cast<std::size_t>(block)] = true;
    pending_ += block_line(block, checksum(block));
  }

  void flush() {
    if (pending_.empty()) return;
    if (::fdatasync(data_) != 0) fail("flush", path_);
    append(std::exchange(pending_, {}));
  }

  const std::byte* tokens() const { return bytes_; }
  const std::byte* class_tokens() const { return bytes_ + class_offset_; }

 private:
  std::string header() const { return fmt::format("{}{}\n", journal_opening(), sha256_hex(key_)); }

  void close() {
    if (bytes_ != nullptr) ::munmap(bytes_, size_);
    if (data_ >= 0) ::close(data_);
    if (journal_ >= 0) ::close(journal_);
  }

  void append(const std::string& lines) {
    write_at(journal_, lines.data(), lines.size(), end_, journal_path_);
    end_ += lines.size();
    if (::fdatasync(journal_) != 0) fail("flush", journal_path_);
  }

  std::uint32_t checksum(std::int64_t block) const {
    const auto first = static_cast<std::uint64_t>(block * layout_.block),
               rows = static_cast<std::uint64_t>(layout_.rows_of(block));
    const auto add = [&](uLong sum, const std::byte* start, std::uint64_t row) {
      return crc32_z(sum, reinterpret_cast<const Bytef*>(start + first * row), rows * row);
    };
    const uLong sum = add(crc32(0, nullptr, 0), tokens(), layout_.token_row_bytes());
    return static_cast<std::uint32_t>(add(sum, class_tokens(), layout_.class_row_bytes()));
  }

  /// False where the journal is of another key. Blocks whose content is not what it says are
  /// named and left out.
  bool read_journal(const Logger& log) {
    const std::string journal = read_text_file(journal_path_);
    if (!journal.starts_with(header())) return false;
    const auto [sums, end] = read_block_lines(journal, header().size(), layout_.blocks());
    end_ = end;
    if (end_ < journal.size() && ::ftruncate(journal_, static_cast<off_t>(end_)) != 0)
      fail("shorten", journal_path_);
    const std::vector<std::pair<std::int64_t, std::uint32_t>> list(sums.begin(), sums.end());
    std::vector<std::uint8_t> good(list.size());
    at::parallel_for(
        0, static_cast<std::int64_t>(list.size()), 1, [&](std::int64_t begin, std::int64_t stop) {
          for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(stop); ++i) {
            good[i] = checksum(list[i].first) == list[i].second ? 1 : 0;
          }
        });
    std::size_t damaged = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      has_[static_cast<std::size_t>(list[i].first)] = good[i] != 0;
      if (good[i] == 0) ++damaged;
    }
    if (damaged > 0) {
      log.warning(fmt::format("{}: {} of {} blocks are damaged and will be computed again",
                              path_.string(), damaged, list.size()));
    }
    return true;
  }

  BankLayout layout_;
  fs::path path_, journal_path_;
  std::uint64_t class_offset_, size_;
  int data_ = -1, journal_ = -1;
  std::byte* bytes_ = nullptr;
  std::uint64_t end_ = 0;  ///< of the journal
  std::string key_, pending_;
  std::vector<bool> has_;
};

class FileBank : public BankStore {
 public:
  FileBank(const BankLayout& layout, const fs::path& folder,
           const std::map<std::string, std::string>& identity, const Logger& log)
      : BankStore(layout), log_(log) {
    create_folders(folder);
    lock_.emplace(folder / "lock",
                  fmt::format("{}: another process is using this token bank", folder.string()),
                  fmt::format("wait for it, or give another {}", option_name("bank_dir")));
    refuse_other_formats(folder);
    compare(folder, identity);
    for (std::int64_t i = 0; i < layout.views; ++i) {
      slots_.push_back(std::make_unique<SlotFile>(layout, slot_path(folder, i)));
    }
    remove_further_slots(folder);
  }

  void use(std::int64_t slot, const std::string& key) override {
    slots_[static_cast<std::size_t>(slot)]->use(identity_ + key, log_);
  }
  bool has(std::int64_t slot, std::int64_t block) const override {
    return slots_[static_cast<std::size_t>(slot)]->has(block);
  }
  void put(std::int64_t slot, std::int64_t block, const TrunkTokens& tokens) override {
    slots_[static_cast<std::size_t>(slot)]->put(block, tokens);
    if (Clock::now() - flushed_ >= kJournalInterval) flush();
  }
  void flush() override {
    for (auto& slot : slots_) slot->flush();
    flushed_ = Clock::now();
  }
  bool survives() const override { return true; }
  void expect(std::int64_t slot, std::int64_t image) const override {
    static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t row = layout().token_row_bytes();
    const auto start = reinterpret_cast<std::uintptr_t>(
        slots_[static_cast<std::size_t>(slot)]->tokens() + static_cast<std::uint64_t>(image) * row);
    const std::uintptr_t first = start / page * page;
    ::madvise(reinterpret_cast<void*>(first), start + row - first, MADV_WILLNEED);
  }

  at::Tensor tokens(std::int64_t slot) const override {
    return view_of(slots_[static_cast<std::size_t>(slot)]->tokens(),
                   {layout().images, layout().tokens, layout().width}, layout().type);
  }
  at::Tensor class_tokens(std::int64_t slot) const override {
    if (!layout().with_class_token) return {};
    return view_of(slots_[static_cast<std::size_t>(slot)]->class_tokens(),
                   {layout().images, layout().width}, layout().class_type());
  }

 private:
  static fs::path slot_path(const fs::path& folder, std::int64_t slot) {
    return folder / fmt::format("view-{:02}.tokens", slot);
  }

  /// Of a bank that had more views.
  void remove_further_slots(const fs::path& folder) const {
    std::error_code ignored;
    for (std::int64_t i = layout().views; fs::exists(slot_path(folder, i)); ++i) {
      fs::remove(slot_path(folder, i), ignored);
      fs::remove(slot_path(folder, i).replace_extension(kJournalEnding), ignored);
    }
  }

  /// The slots' journals decide what is stale; this says so to people.
  void compare(const fs::path& folder, const std::map<std::string, std::string>& identity) {
    const fs::path file = folder / kBankFile;
    nlohmann::json wanted = identity;
    wanted[kFormatKey] = kBankFormat;
    for (const auto& [key, value] : identity) identity_ += key + "\n" + value + "\n";
    if (fs::exists(file)) {
      const auto stored = parse_json_or_discard(read_text_file(file));
      std::vector<std::string> different;
      for (const auto& [key, value] : identity) {
        if (!stored.is_object() || !stored.contains(key) || stored[key] != value)
          different.push_back(key);
      }
      if (!different.empty()) {
        log_.warning(fmt::format("{}: the token bank there was made with other {}: it is made anew",
                                 folder.string(), join(different, ", ")));
      }
      if (different.empty()) return;
    }
    write_file_atomically(file, wanted.dump(2) + "\n");
  }

  static at::Tensor view_of(const std::byte* bytes, at::IntArrayRef shape, at::ScalarType type) {
    return at::from_blob(const_cast<std::byte*>(bytes), shape, at::TensorOptions(type));
  }

  const Logger& log_;
  std::optional<FileLock> lock_;
  std::string identity_;
  std::vector<std::unique_ptr<SlotFile>> slots_;
  Clock::time_point flushed_{};  ///< long ago: the first block is promised at once
};

}  // namespace

std::uint64_t BankLayout::token_row_bytes() const {
  return static_cast<std::uint64_t>(tokens * width) * c10::elementSize(type);
}

std::uint64_t BankLayout::class_row_bytes() const {
  return with_class_token ? static_cast<std::uint64_t>(width) * c10::elementSize(class_type()) : 0;
}

std::uint64_t BankLayout::view_bytes() const {
  return static_cast<std::uint64_t>(images) * (token_row_bytes() + class_row_bytes());
}

std::unique_ptr<BankStore> make_memory_bank(const BankLayout& layout, at::Device device,
                                            bool pinned) {
  return std::make_unique<MemoryBank>(layout, device, pinned);
}

std::unique_ptr<BankStore> open_file_bank(const BankLayout& layout, const fs::path& folder,
                                          const std::map<std::string, std::string>& identity,
                                          const Logger& log) {
  return std::make_unique<FileBank>(layout, folder, identity, log);
}

}  // namespace protogcd
