#include "protogcd/report/feature_map.h"

#include <fmt/core.h>

#include "protogcd/analysis/tsne.h"

namespace protogcd {

FeatureMap feature_map(const RunContents& run, const Context& context) {
  FeatureMap map;
  if (!run.embeddings || run.embeddings->rows.empty()) return map;
  const Embeddings& embeddings = *run.embeddings;
  const TsneOptions options{.seed = context.seed,
                            .threads = context.threads,
                            .keep_going = [&](int) { return !context.interrupted(); }};
  context.log.info(fmt::format("map of {} images", embeddings.rows.size()));
  // Images and prototypes are laid out together, so that stars stand among their images.
  std::vector<float> joined = embeddings.after;
  joined.insert(joined.end(), embeddings.prototypes.begin(), embeddings.prototypes.end());
  map.after = tsne(joined, embeddings.width, options);
  map.before = tsne(embeddings.before, embeddings.width, options);
  const auto images = static_cast<std::ptrdiff_t>(map.before.size());
  map.prototypes.assign(map.after.begin() + images, map.after.end());
  map.after.resize(map.before.size());
  return map;
}

}  // namespace protogcd
