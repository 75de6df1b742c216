#include "protogcd/core/event_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "protogcd/core/error.h"
#include "protogcd/core/folder_entries.h"
#include "protogcd/core/protobuf.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = kEventFilePrefix, kSuffix = ".protogcd";

// Fields of the messages Event, SummaryValue and SessionLog (tensorboard/compat/proto).
using Message = ProtobufMessage;
constexpr unsigned kEventWallTime = 1, kEventStep = 2, kEventFileVersion = 3, kEventSummary = 5,
                   kEventSessionLog = 7;
constexpr unsigned kSummaryValue = 1, kValueTag = 1, kValueSimpleValue = 2;
constexpr unsigned kSessionLogStatus = 1, kSessionStart = 1;

Message event_at(std::int64_t step) {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  Message event;
  event.fixed(kEventWallTime, now.count());
  event.varint(kEventStep, static_cast<std::uint64_t>(step));
  return event;
}

constexpr std::array<std::uint32_t, 256> crc32c_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = (value & 1) != 0 ? value >> 1 ^ 0x82f63b78 : value >> 1;
    table[i] = value;
  }
  return table;
}

/// Checksums are stored rotated and shifted, because records may hold checksums themselves.
std::uint32_t masked(std::uint32_t crc) {
  return std::rotr(crc, 15) + 0xa282ead8;
}

/// The number in the name of an event file of ours.
std::uint64_t number_of(const std::string& name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return 0;
  const auto digits = std::string_view(name).substr(kPrefix.size());
  return parse_unsigned(digits.substr(0, digits.size() - kSuffix.size())).value_or(0);
}

std::uint64_t next_number(const fs::path& folder) {
  std::uint64_t last = 0;
  for (const auto& entry : folder_entries(folder))
    last = std::max(last, number_of(entry.path().filename().string()));
  return last + 1;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = crc32c_table();
  std::uint32_t crc = ~0u;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ crc >> 8;
  return ~crc;
}

EventFile::EventFile(const fs::path& folder, std::int64_t first_step)
    : path_(folder / fmt::format("{}{:06}{}", kPrefix, next_number(folder), kSuffix)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    throw FileError(fmt::format("{}: cannot create: {}", path_.string(), std::strerror(errno)));
  }
  try {
    write_event(event_at(0).bytes(kEventFileVersion, "brain.Event:2").text());
    // Readers drop what they have at this step and later.
    write_event(
        event_at(first_step)
            .bytes(kEventSessionLog, Message().varint(kSessionLogStatus, kSessionStart).text())
            .text());
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

EventFile::~EventFile() {
  ::close(descriptor_);
}

void EventFile::write(std::int64_t step, const std::vector<Scalar>& scalars) {
  Message summary;
  for (const auto& [tag, value] : scalars) {
    summary.bytes(
        kSummaryValue,
        Message().bytes(kValueTag, tag).fixed(kValueSimpleValue, static_cast<float>(value)).text());
  }
  write_event(event_at(step).bytes(kEventSummary, summary.text()).text());
}

/// A record: length, its checksum, the event, its checksum.
void EventFile::write_event(std::string_view event) {
  Message length;
  length.put_little_endian(event.size(), 8);
  Message record = length;
  record.put_little_endian(masked(crc32c(length.text())), 4);
  Message end;
  end.put_little_endian(masked(crc32c(event)), 4);
  const std::string bytes = record.text() + std::string(event) + end.text();
  for (std::string_view rest = bytes; !rest.empty();) {
    const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw FileError(fmt::format("{}: cannot write: {}", path_.string(), std::strerror(errno)));
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace protogcd
