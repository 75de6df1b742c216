// What a file that training goes on from says of itself beside its tensors: a kind, what the
// numbers depend on, and a checksum (nn/state_file.h).
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "protogcd/core/tensor_entry.h"

namespace protogcd {

/// What makes a file one of its run's: `format` names the kind of file and its version, `identity`
/// says by name what the numbers depend on.
struct StateFileKind {
  std::string format;
  std::map<std::string, std::string> identity;
  bool names_options = false;  ///< names in the identity without blanks are options' keys
};

/// UsageError, naming the first that differs, where a run that was begun with `then` would go on
/// with `now`.
void check_same_run(const std::map<std::string, std::string>& now,
                    const std::map<std::string, std::string>& then, bool names_options);

/// Of the tensors' names and bytes and of the notes beside them, in order.
std::string state_checksum(std::span<const TensorEntry> entries,
                           const std::map<std::string, std::string>& notes);

/// ModelFileError where the file is of another kind or damaged, UsageError (naming what differs)
/// where it belongs to another run or was written by another version.
void check_state_notes(std::span<const TensorEntry> entries,
                       const std::map<std::string, std::string>& notes, const StateFileKind& kind,
                       const std::filesystem::path& file);

}  // namespace protogcd
