#include "protogcd/cli/recorded_split.h"

#include "protogcd/core/text.h"
#include "protogcd/run/run_files.h"

namespace protogcd::cli {

void adopt_recorded_split(DataOptions& options, const std::filesystem::path& run) {
  const std::filesystem::path config = run / run_files::kConfig;
  if (options.old_classes || options.labelled_share ||
      options.class_order != ClassOrder::kPublished || !std::filesystem::is_regular_file(config))
    return;
  auto recorded = toml_scalars(config);
  const auto same = [&](const char* key, const std::filesystem::path& path) {
    return recorded[key] ==
           (path.empty() ? "" : std::filesystem::absolute(path).lexically_normal().string());
  };
  if (recorded["dataset"] == options.dataset && same("labelled", options.labelled) &&
      same("unlabelled", options.unlabelled) && same("manifest", options.manifest) &&
      options.images.empty()) {
    options.old_classes = parse_integer(recorded["old_classes"]);
    options.labelled_share = parse_real(recorded["labelled_share"]);
    if (recorded["class_order"] == "natural") options.class_order = ClassOrder::kNatural;
  }
}

}  // namespace protogcd::cli
