// Features of many images, written to a file: what `protogcd embed` does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "protogcd/core/context.h"
#include "protogcd/data/shard.h"
#include "protogcd/data/skipped.h"
#include "protogcd/data/source_table.h"
#include "protogcd/engine/image_loader.h"
#include "protogcd/nn/backbone.h"

namespace protogcd {

struct EmbedOptions {
  std::filesystem::path out;          ///< NAME.npy; NAME.csv (paths) and skipped.csv go beside it
  bool tokens = false;                ///< also NAME-tokens.npy
  std::optional<std::int64_t> batch;  ///< images at once; nothing: 16 on a CPU, 256 on a GPU
  ReadingOptions reading;
  /// This part of the list alone, into the shard's own file (Shard::file); nothing: all of it.
  std::optional<Shard> shard = {};
  bool overwrite = false, resume = false;
};

struct EmbedSummary {
  std::filesystem::path out;
  bool was_finished = false;  ///< a shard that was there already: nothing was done
  std::uint64_t images = 0;   ///< rows of the file
  std::uint64_t skipped = 0;
  std::uint64_t resumed = 0;  ///< images that an earlier, killed run had finished
  std::int64_t width = 0;
  double seconds = 0;  ///< of computing, without opening files
};

/// Writes features [N, D] of every readable image, in the order of the sources: CLS after the final
/// norm, float32 (float64 if the backbone computes in float64). With `tokens`, all tokens after the
/// final norm [N, T, D] too; both then come from the plain model, and features are the first token.
///
/// Between batches it looks whether the context asks it to stop: InterruptedError then says how far
/// it came, and `resume` goes on from there.
///
/// Memory does not grow with the number of images. Files appear when complete; until then the work
/// lies in a hidden folder beside `out`, from which `resume` goes on after a kill. The result is
/// the same, bit for bit, as that of a run that was never interrupted. With `resume`, a shard that
/// is finished stays as it is.
EmbedSummary embed_images(const SourceTable& sources, Backbone backbone,
                          const EmbedOptions& options, const BadImagePolicy& policy,
                          const Context& context);

}  // namespace protogcd
