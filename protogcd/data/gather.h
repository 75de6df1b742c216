// The shards of an output, joined to what one process would have written, to the byte.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "protogcd/core/bad_image_policy.h"

namespace protogcd {

struct GatherSummary {
  std::uint64_t shards = 0, images = 0, skipped = 0;
};

/// Joins the shards in these files (data/shard.h), in any order. Nothing is written unless every
/// shard is there once and all are of one output: DataError names those that are missing, there
/// twice, or made of something else, UsageError a file there that is the output's or one beside it,
/// unless they may be replaced. A policy that bears fewer bad images than the shards had
/// speaks up when the files are written.
GatherSummary gather(std::span<const std::filesystem::path> shards,
                     const std::filesystem::path& out, bool overwrite,
                     const BadImagePolicy& policy);

}  // namespace protogcd
