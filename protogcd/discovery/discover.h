// The main job: from options to a finished run, one or several. The public form is api/discover.h.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/core/machine_options.h"
#include "protogcd/data/data_options.h"
#include "protogcd/discovery/train.h"
#include "protogcd/image/image_options.h"
#include "protogcd/nn/backbone_options.h"

namespace protogcd {

/// The defaults are for images of one's own: a bank of views, and a number of classes that nobody
/// knows.
struct DiscoverOptions {
  DiscoverOptions();
  /// Those of a training on a known dataset, as the reference does it: new crops for every draw.
  static DiscoverOptions for_train();

  DataOptions data;
  BackboneOptions backbone;
  ImageOptions images;
  /// What a person corrected in an earlier run, that run, whose labels are kept, and where its
  /// images are now.
  std::filesystem::path corrections, previous, images_root;
  TrainOptions train;
  std::int64_t runs = 1;  ///< with this seed and the next ones, each in a folder below `out`
  /// What becomes of images that cannot be read.
  std::string bad_images = "skip", max_bad = BadImagePolicy::kUsualLimit;
};

void declare_discover_options(OptionTable& table, DiscoverOptions& options);

/// Finds a backbone where none is named, makes paths absolute, and gives values to what nobody has
/// set; the log says which.
void resolve(DiscoverOptions& options, const Logger& log);

/// The configuration as TOML, as config.toml of the run has it. The options must be resolved.
std::string configuration_of(const DiscoverOptions& options, const Context& context);

struct Discovery {
  RunResult result;
  bool was_finished = false;  ///< before, and nothing was done
};

/// One run (`runs` is not looked at); the options must be resolved. With `resume`, a run that is
/// finished is given back as it is.
Discovery discover(const DiscoverOptions& options, const Context& context);

/// How many classes there are; nothing is written. The options must be resolved.
ClassNumber estimate_class_number(const DiscoverOptions& options, const Context& context);

/// Where the run of that seed lies.
std::filesystem::path folder_of_run(const DiscoverOptions& options, std::uint64_t seed);

/// `runs` runs, one after the other, and what they say together in result.json of the folder above
/// theirs. `after_each` is told of every run as it ends.
std::vector<RunResult> discover_several(
    const DiscoverOptions& options, const Context& context,
    const std::function<void(const Discovery&)>& after_each = {});

}  // namespace protogcd
