// How the files beside an output of `embed` or `predict` are called.
#pragma once

#include <filesystem>

#include "protogcd/data/skipped.h"

namespace protogcd {

struct OutputFiles {
  std::filesystem::path output;
  std::filesystem::path paths, tokens;  ///< of features: a path for each row, and all tokens
  std::filesystem::path skipped;        ///< images that could not be read

  static OutputFiles of_predictions(const std::filesystem::path& out) {
    return {.output = out,
            .paths = {},
            .tokens = {},
            .skipped = std::filesystem::path(out).replace_extension(".skipped.csv")};
  }
  /// Shards of one output may share a folder, so that the list of each has a name of its own.
  static OutputFiles of_features(const std::filesystem::path& out, bool is_shard) {
    std::filesystem::path path = out;
    return {.output = out,
            .paths = std::filesystem::path(out).replace_extension(".csv"),
            .tokens = path.replace_filename(out.stem().string() + "-tokens.npy"),
            .skipped = is_shard ? std::filesystem::path(out).replace_extension(".skipped.csv")
                                : std::filesystem::path(out).replace_filename(kSkippedFile)};
  }
};

}  // namespace protogcd
