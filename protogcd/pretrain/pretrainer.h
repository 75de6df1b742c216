// Pre-training from a labelled folder to a backbone file: what `protogcd pretrain` does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "protogcd/core/bad_image_policy.h"
#include "protogcd/core/context.h"
#include "protogcd/core/tensor_entry.h"
#include "protogcd/data/sample.h"
#include "protogcd/nn/adamw.h"
#include "protogcd/pretrain/augment.h"
#include "protogcd/pretrain/classification.h"

namespace protogcd {

struct PretrainOptions {
  std::filesystem::path out;  ///< the backbone; OUT.metrics.jsonl and OUT.state lie beside it
  bool overwrite = false, resume = false;
  ElementType weights_type = ElementType::kFloat32;  ///< of the backbone's file

  std::int64_t depth = 6, width = 192, patch = 8, size = 64;  ///< size: pixels along each side
  std::optional<std::int64_t> heads;                          ///< nothing: width / 64, at least 1

  std::int64_t steps = 7000, batch = 256;
  double rate = 1e-3;
  std::optional<std::int64_t> warmup;  ///< steps; nothing: a twentieth of all
  AdamWOptions adamw;
  double drop_path = 0;  ///< of the last block; the first has none
  Augment augment = Augment::kFlip;
  ClassificationOptions classification;

  std::int64_t neighbours = 20;      ///< of the monitor's k-NN
  std::int64_t monitor_every = 500;  ///< steps between two looks at the monitor set
  std::int64_t report_every = 50;    ///< steps between two lines of metrics
  double checkpoint_seconds = 60;    ///< at least so long between states; 0: after every step
  bool apply_orientation = true;     ///< turn images upright as their EXIF data says
};

struct PretrainSummary {
  std::int64_t images = 0, classes = 0, steps = 0, parameters = 0;
  std::size_t skipped = 0;
  double seconds = 0, images_per_second = 0;  ///< of this process
  double loss = 0, accuracy = 0;              ///< of the last steps, as the last line of metrics
  std::optional<double> knn;                  ///< on the monitor set, at the end
};

/// Trains on the images of `labelled` whose class is known, watches k-NN accuracy on those of
/// `monitor` (empty: none), and writes the backbone under the names of the DINO release.
///
/// Stopped at any point and resumed, it gives the same weights as if it had not been stopped, on a
/// CPU with the same threads. Asked to stop, it writes its state and throws InterruptedError, whose
/// hint says how to go on.
PretrainSummary pretrain(const Dataset& labelled, const Dataset& monitor,
                         const PretrainOptions& options, const BadImagePolicy& policy,
                         const Context& context);

}  // namespace protogcd
