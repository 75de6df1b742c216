// A run's images for other tools: TensorBoard's projector, and tables for Spotlight or FiftyOne.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "protogcd/core/context.h"
#include "protogcd/report/feature_map.h"
#include "protogcd/report/run_contents.h"

namespace protogcd {

/// Text as a field of a tab-separated file that knows no quoting: tabs, line ends and other control
/// characters become spaces, bytes that are not UTF-8 a replacement character.
std::string tsv_field(std::string_view text);

/// Writes into the folder
///   images.csv            every unlabelled image: where it is, what was found, its place on maps
///   before.tsv after.tsv  features, a row an image
///   metadata.tsv          what is known of those rows
///   sprites.jpg           their thumbnails
///   projector_config.pbtxt
/// UsageError where the run has no embeddings; InterruptedError when asked to stop, with the files
/// that were finished by then left in the folder.
void export_run(const RunContents& run, const FeatureMap& map, const std::filesystem::path& folder,
                const Context& context);

}  // namespace protogcd
