#include "protogcd/nn/state_file.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using Notes = std::map<std::string, std::string>;

}  // namespace

void write_state_file(const fs::path& file, const StateFileKind& kind,
                      const std::map<std::string, at::Tensor>& tensors, Notes notes) {
  std::vector<at::Tensor> here;  // lives as long as the entries, which look into it
  std::vector<TensorEntry> entries;
  for (const auto& [name, tensor] : tensors) {
    here.push_back(tensor.detach().to(at::kCPU).contiguous());
    entries.push_back(entry_of(name, here.back()));
  }
  notes["format"] = kind.format;
  notes["identity"] = nlohmann::json(kind.identity).dump();
  notes["crc32"] = state_checksum(entries, notes);
  write_safetensors(file, entries, notes);
}

StateDict read_state_file(const fs::path& file, const StateFileKind& kind) {
  const SafetensorsFile content(file);
  check_state_notes(content.entries(), content.metadata(), kind, file);
  return load_state_dict(file);
}

std::int64_t noted_number(const StateDict& state, const std::string& name) {
  const auto found = state.metadata.find(name);
  const auto value = found == state.metadata.end() ? std::nullopt : parse_integer(found->second);
  if (!value) throw ModelFileError(fmt::format("{}: no '{}' in it", state.origin, name));
  return *value;
}

}  // namespace protogcd
