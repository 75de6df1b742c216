// Bytes as a file that training goes on from, as they are and with the checksum that they should
// have: refused with an error of ours, or of the run that asks.
#include <cstdint>
#include <span>

#include "fuzz/structured.h"
#include "protogcd/core/error.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/core/state_notes.h"

PROTOGCD_MUTATED_BY(mutate_safetensors)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  const StateFileKind kind{.format = "protogcd-checkpoint-3",
                           .identity = {{"epochs", "5"}, {"images list", "7"}},
                           .names_options = true};
  try {
    const SafetensorsFile file(std::as_bytes(std::span(data, size)), "fuzz.safetensors");
    auto notes = file.metadata();
    const auto is_accepted = [&] {
      try {
        check_state_notes(file.entries(), notes, kind, "fuzz.safetensors");
        return true;
      } catch (const UsageError&) {
      } catch (const ModelFileError&) {
      }
      return false;
    };
    is_accepted();
    notes["crc32"] = state_checksum(file.entries(), notes);
    if (is_accepted() && notes["format"] != kind.format) __builtin_trap();
  } catch (const ModelFileError&) {
  }
  return 0;
}
