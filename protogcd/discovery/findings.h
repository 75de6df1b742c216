// What else is in a collection, found before training from what the run has in its hands anyway:
// the images as they were read, and the untrained features of the labelled ones.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>

#include "protogcd/core/context.h"
#include "protogcd/discovery/foreign.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/run/findings_file.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

/// Writes findings.csv, says in a line or two what is in it, and changes nothing else. `labelled`
/// are the untrained features of the labelled images, not defined where there are none;
/// `foreign` what was found before any image was set aside. The material must have looked at its
/// images.
FindingCounts write_findings_of(TrainingMaterial& material, const Backbone& backbone,
                                const at::Tensor& labelled, const ForeignImages& foreign,
                                const std::filesystem::path& file, const Context& context);

}  // namespace protogcd
