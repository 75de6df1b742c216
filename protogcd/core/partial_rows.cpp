#include "protogcd/core/partial_rows.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/npy.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kJournalInterval{500};
// The header of a two- or three-dimensional array always takes two steps of 64 bytes, however many
// digits its sizes have: it can be written when the number of rows is known.
constexpr std::uint64_t kPreambleBytes = 128;
constexpr const char* kIdentityFile = "identity.json";
constexpr const char* kJournalFile = "journal";

[[noreturn]] void fail(const char* action, const fs::path& path) {
  throw FileError(fmt::format("{}: cannot {}: {}", path.string(), action, std::strerror(errno)));
}

void write_at(int descriptor, std::string_view bytes, std::uint64_t offset, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

int open_file(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) fail("open", path);
  return descriptor;
}

void flush(int descriptor, const fs::path& path) {
  if (::fdatasync(descriptor) != 0) fail("flush", path);
}

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

fs::path data_file_in(const fs::path& folder, std::size_t index) {
  return folder / fmt::format("{}.npy", index);
}

}  // namespace

std::uint64_t PartialArray::row_bytes() const {
  const auto bytes = checked_byte_count(row_shape, type);
  if (!bytes || *bytes == 0) throw InternalError("PartialArray: empty or too large rows");
  return *bytes;
}

fs::path PartialRows::folder_of(const fs::path& target) {
  return parent_of(target) / fmt::format(".{}.partial", target.filename().string());
}

PartialRows::PartialRows(std::vector<PartialArray> arrays,
                         const std::map<std::string, std::string>& identity, bool resume)
    : arrays_(std::move(arrays)), folder_(folder_of(arrays_.at(0).target)) {
  create_folders(folder_);
  lock_.emplace(folder_ / kJournalFile,
                fmt::format("{}: another process is writing there", folder_.string()));
  journal_ = open_file(folder_ / kJournalFile);
  try {
    // The identity is written last: a folder without one was killed before it had begun.
    if (resume && fs::exists(folder_ / kIdentityFile)) {
      continue_from_journal(identity);
    } else {
      start(identity);
    }
    open_files();
  } catch (...) {
    for (const int descriptor : descriptors_) ::close(descriptor);
    ::close(journal_);
    throw;
  }
}

PartialRows::~PartialRows() {
  for (const int descriptor : descriptors_) {
    if (descriptor >= 0) ::close(descriptor);
  }
  if (journal_ >= 0) ::close(journal_);
}

fs::path PartialRows::data_file(std::size_t index) const {
  return data_file_in(folder_, index);
}

bool PartialRows::is_committed(const fs::path& target) {
  return fs::exists(target) && !fs::exists(data_file_in(folder_of(target), 0));
}

void PartialRows::start(const std::map<std::string, std::string>& identity) {
  fs::remove(folder_ / kIdentityFile);
  if (::ftruncate(journal_, 0) != 0) fail("empty", folder_ / kJournalFile);
  for (std::size_t i = 0; i < arrays_.size(); ++i) fs::remove(data_file(i));
  write_file_atomically(folder_ / kIdentityFile, nlohmann::json(identity).dump(2) + "\n");
}

/// Lines of the journal: "bad ITEM REASON", and "done ITEMS ROWS", which makes all before it count.
/// What follows the last whole "done" is dropped.
void PartialRows::continue_from_journal(const std::map<std::string, std::string>& identity) {
  std::map<std::string, std::string> stored;
  try {
    stored = parse_json(read_text_file(folder_ / kIdentityFile))
                 .get<std::map<std::string, std::string>>();
  } catch (const nlohmann::json::exception&) {
  }
  std::vector<std::string> different;
  for (const auto& [key, value] : identity) {
    if (!stored.contains(key) || stored[key] != value) different.push_back(key);
  }
  if (!different.empty() || stored.size() != identity.size()) {
    throw UsageError(
        fmt::format("{}: the unfinished work in '{}' was begun with other {}",
                    option_name("resume"), folder_.string(), join(different, ", ")),
        fmt::format("repeat it as it was begun, or start anew with {}", option_name("overwrite")));
  }
  const fs::path path = folder_ / kJournalFile;
  const std::string journal = read_text_file(path);
  std::vector<RejectedItem> pending;
  std::size_t kept = 0;
  for (std::size_t at = 0, end; (end = journal.find('\n', at)) != std::string::npos; at = end + 1) {
    const auto words = split(std::string_view(journal).substr(at, end - at), ' ');
    const auto number = words.size() >= 3 ? parse_unsigned(words[1]) : std::nullopt;
    if (!number) break;
    if (words[0] == "bad") {
      const std::string line = journal.substr(at, end - at);
      pending.emplace_back(*number, line.substr(words[0].size() + words[1].size() + 2));
    } else if (const auto rows = parse_unsigned(words[2]);
               words[0] == "done" && rows && *rows <= *number &&
               std::ranges::all_of(pending, [&](const auto& bad) { return bad.first < *number; })) {
      items_ = *number;
      rows_ = *rows;
      rejected_.insert(rejected_.end(), pending.begin(), pending.end());
      pending.clear();
      kept = end + 1;
    } else {
      break;
    }
  }
  rejected_in_journal_ = rejected_.size();
  if (::ftruncate(journal_, static_cast<off_t>(kept)) != 0) fail("shorten", path);
}

void PartialRows::open_files() {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    // commit() was interrupted after it had named this array: nothing of it is missing.
    const bool named = i > 0 && rows_ > 0 && !fs::exists(data_file(i));
    descriptors_.push_back(named ? -1 : open_file(data_file(i)));
    if (named) continue;
    const std::uint64_t there = fs::file_size(data_file(i));
    // A product of what the journal says may be more than 64 bits hold; a quotient is not.
    if (rows_ > 0 &&
        (there < kPreambleBytes || (there - kPreambleBytes) / arrays_[i].row_bytes() < rows_)) {
      throw FileError(
          fmt::format("{}: {} rows were finished, but not all are there", folder_.string(), rows_),
          fmt::format("start anew with {}", option_name("overwrite")));
    }
    const std::uint64_t wanted = kPreambleBytes + rows_ * arrays_[i].row_bytes();
    if (::ftruncate(descriptors_[i], static_cast<off_t>(wanted)) != 0) fail("resize", data_file(i));
    if (::lseek(descriptors_[i], 0, SEEK_END) < 0) fail("seek in", data_file(i));
  }
}

void PartialRows::append(std::size_t index, std::span<const std::byte> bytes) {
  const off_t end = ::lseek(descriptors_.at(index), 0, SEEK_END);
  if (end < 0) fail("seek in", data_file(index));
  write_at(descriptors_[index], {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
           static_cast<std::uint64_t>(end), data_file(index));
}

void PartialRows::reject(std::uint64_t item, std::string reason) {
  std::ranges::replace(reason, '\n', ' ');
  rejected_.emplace_back(item, std::move(reason));
}

void PartialRows::finish_items(std::uint64_t items, std::uint64_t rows) {
  items_ = items;
  rows_ += rows;
  if (Clock::now() - journal_written_ >= kJournalInterval) write_journal();
}

void PartialRows::write_journal() {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    if (descriptors_[i] >= 0) flush(descriptors_[i], data_file(i));
  }
  std::string lines;
  for (; rejected_in_journal_ < rejected_.size(); ++rejected_in_journal_) {
    const auto& [item, reason] = rejected_[rejected_in_journal_];
    lines += fmt::format("bad {} {}\n", item, reason);
  }
  lines += fmt::format("done {} {}\n", items_, rows_);
  const fs::path path = folder_ / kJournalFile;
  const off_t end = ::lseek(journal_, 0, SEEK_END);
  if (end < 0) fail("seek in", path);
  write_at(journal_, lines, static_cast<std::uint64_t>(end), path);
  flush(journal_, path);
  journal_written_ = Clock::now();
}

void PartialRows::commit() {
  write_journal();
  for (std::size_t i = arrays_.size(); i-- > 0;) {
    if (descriptors_[i] < 0) continue;
    const PartialArray& array = arrays_[i];
    std::vector<std::int64_t> shape = {static_cast<std::int64_t>(rows_)};
    shape.insert(shape.end(), array.row_shape.begin(), array.row_shape.end());
    const std::string preamble = npy_preamble(array.type, shape);
    if (preamble.size() != kPreambleBytes ||
        fs::file_size(data_file(i)) != kPreambleBytes + rows_ * array.row_bytes()) {
      throw InternalError(fmt::format("{}: not the announced rows", data_file(i).string()));
    }
    write_at(descriptors_[i], preamble, 0, data_file(i));
    flush(descriptors_[i], data_file(i));
    if (::rename(data_file(i).c_str(), array.target.c_str()) != 0) fail("name", array.target);
    flush_folder(parent_of(array.target));
  }
  std::error_code ignored;  // the work is done; a folder left behind is no reason to fail
  remove_folder(folder_, ignored);
}

}  // namespace protogcd
