// A file that training goes on from: named tensors with notes, a checksum, and what the numbers
// depend on, so that no run goes on from damage or from another run's state.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "protogcd/core/state_notes.h"
#include "protogcd/nn/state_dict.h"

namespace protogcd {

/// The file appears only when complete. Tensors may be anywhere.
void write_state_file(const std::filesystem::path& file, const StateFileKind& kind,
                      const std::map<std::string, at::Tensor>& tensors,
                      std::map<std::string, std::string> notes);

/// ModelFileError where the file is of another kind or damaged, UsageError (naming what differs)
/// where it belongs to another run or was written by another version. The notes are the result's
/// metadata.
StateDict read_state_file(const std::filesystem::path& file, const StateFileKind& kind);

/// A number among the notes; ModelFileError if there is none of that name.
std::int64_t noted_number(const StateDict& state, const std::string& name);

}  // namespace protogcd
