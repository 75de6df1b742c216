// TensorBoard event files: named numbers over the steps of a run, for `tensorboard --logdir RUN`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace protogcd {

/// What TensorBoard knows such files by.
inline constexpr const char* kEventFilePrefix = "events.out.tfevents.";

struct Scalar {
  std::string tag;   ///< "loss/total": what stands before the slash groups plots
  double value = 0;  ///< kept in single precision
};

/// Writes one event file. A run that goes on after a kill writes another beside it, which tells
/// TensorBoard to forget the points from its first step on: none is shown twice, and what was
/// written is never changed. Files are numbered, so that their order does not depend on clocks.
///
/// All tags of a run must count the same steps. Each `write` is in the file when it returns; a kill
/// within it leaves a torn record, at which readers stop and go on with the next file.
class EventFile {
 public:
  /// Creates `events.out.tfevents.NNNNNN.protogcd` in `folder`, which must exist, numbered after
  /// those that are there.
  EventFile(const std::filesystem::path& folder, std::int64_t first_step);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  /// FileError if the disk is full or the folder gone.
  void write(std::int64_t step, const std::vector<Scalar>& scalars);
  const std::filesystem::path& path() const { return path_; }

 private:
  void write_event(std::string_view event);

  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// CRC-32C (Castagnoli), the checksum of the records.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace protogcd
