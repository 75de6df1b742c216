// Features of the untrained backbone, kept in files as they are computed, so that a run that is
// killed while it looks at its images (how many classes? which are foreign?) goes on where it was.
#pragma once

#include <filesystem>

#include "protogcd/engine/trained_blocks.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

/// Unit rows on the CPU in float32 of one set, [N, D]: what `folder` has of them from before, which
/// is there under the name of all that they depend on, and the others. Asked to stop, it keeps what
/// is done and throws InterruptedError.
at::Tensor kept_features(TrainingMaterial& material, const Backbone& backbone,
                         const TrainedBlocks& blocks, SampleSet set,
                         const std::filesystem::path& folder, const Context& context);

}  // namespace protogcd
