// The option by which several processes share a list of images, as `embed` and `predict` take it.
#pragma once

#include <filesystem>
#include <string>

#include "protogcd/cli/verb.h"

namespace protogcd::cli {

void declare_shard(OptionTable& table, std::string& shard);
/// The answer of a verb whose shard was there already.
void tell_finished_shard(const std::filesystem::path& out, const Session& session);

}  // namespace protogcd::cli
