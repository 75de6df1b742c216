#include "protogcd/discovery/report_files.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "protogcd/core/json.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/image/resize.h"
#include "protogcd/nn/state_dict.h"
#include "protogcd/studies/attention_maps.h"

namespace protogcd {
namespace {

/// Classes that have images, the largest first.
std::vector<std::size_t> by_size(const std::vector<std::size_t>& sizes, std::size_t first,
                                 std::size_t end) {
  std::vector<std::size_t> classes;
  for (std::size_t k = first; k < end; ++k)
    if (sizes[k] > 0) classes.push_back(k);
  std::ranges::stable_sort(classes, std::greater(), [&](std::size_t k) { return sizes[k]; });
  return classes;
}

/// Small enough for a page, as bytes [S, S, 3].
at::Tensor view_tensor(const Image& view) {
  constexpr int kMostPixels = 128;
  const auto resized =
      view.width > kMostPixels ? resize_short_side(view, kMostPixels) : ImageOrBad(view);
  const Image& small = std::get<Image>(resized);
  at::Tensor tensor = at::empty({small.height, small.width, 3}, at::kByte);
  std::memcpy(tensor.mutable_data_ptr<std::uint8_t>(), small.pixels.data(), small.pixels.size());
  return tensor;
}

at::Tensor as_bytes(const at::Tensor& maps) {
  return (maps * (255 / maps.amax({1, 2}, /*keepdim=*/true).clamp_min(1e-12)))
      .round()
      .to(at::kByte);
}

}  // namespace

std::vector<std::int64_t> evenly_chosen_rows(std::int64_t all, std::int64_t most) {
  const std::int64_t kept = std::min(all, most);
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < kept; ++i) rows.push_back(i * all / kept);
  return rows;
}

void write_embeddings(const std::filesystem::path& file, const RunFeatures& features) {
  constexpr std::int64_t kMostRows = 50000;
  const auto rows = evenly_chosen_rows(features.after.size(0), kMostRows);
  const at::Tensor places = at::tensor(at::ArrayRef<std::int64_t>(rows), at::kLong);
  const auto chosen = [&](const at::Tensor& all) {
    return all.to(at::kCPU, at::kHalf).index_select(0, places).contiguous();
  };
  const at::Tensor before = chosen(features.before), after = chosen(features.after),
                   prototypes = features.prototypes.to(at::kCPU, at::kFloat).contiguous(),
                   truths = at::tensor(at::ArrayRef<std::int32_t>(features.truths), at::kInt);
  const TensorEntry entries[] = {entry_of("rows", places), entry_of("before", before),
                                 entry_of("after", after), entry_of("prototypes", prototypes),
                                 entry_of("truths", truths)};
  write_safetensors(file, entries, {{"classes", nlohmann::json(features.classes).dump()}});
}

std::vector<std::size_t> attention_examples(const Predictions& predictions, const ModelInfo& info,
                                            std::size_t most) {
  const auto classes = static_cast<std::size_t>(info.k()),
             old_classes = static_cast<std::size_t>(info.old_classes);
  std::vector<std::size_t> sizes(classes), typical(classes);
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const auto k = static_cast<std::size_t>(predictions.labels[i]);
    if (sizes[k]++ == 0 || predictions.typicality[i] > predictions.typicality[typical[k]])
      typical[k] = i;
  }
  const auto old = by_size(sizes, 0, old_classes), fresh = by_size(sizes, old_classes, classes);
  std::vector<std::size_t> examples;
  const std::size_t outliers = most / 6;
  for (std::size_t i = 0; i < std::max(old.size(), fresh.size()); ++i) {
    for (const auto* list : {&fresh, &old}) {
      if (i < list->size() && examples.size() + outliers < most)
        examples.push_back(typical[(*list)[i]]);
    }
  }
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < predictions.size(); ++i)
    if (std::ranges::find(examples, i) == examples.end()) others.push_back(i);
  std::ranges::stable_sort(others, std::greater(),
                           [&](std::size_t i) { return predictions.outlier_score[i]; });
  others.resize(std::min(others.size(), outliers));
  examples.insert(examples.end(), others.begin(), others.end());
  return examples;
}

void write_attention(const std::filesystem::path& file, const Backbone& backbone,
                     const TrainedModel& model, const TrainingSet& set,
                     const std::vector<std::size_t>& examples, const Context& context) {
  const std::vector<Sample> samples = set.to_predict();
  std::map<std::uint32_t, std::int64_t> row_of;
  std::vector<std::uint32_t> sources;
  for (const std::size_t row : examples) {
    sources.push_back(samples[row].source);
    row_of[samples[row].source] = static_cast<std::int64_t>(row);
  }
  SkippedFiles gone(BadImagePolicy::parse("skip", "100%"), sources.size());
  std::vector<std::int64_t> rows;
  std::vector<at::Tensor> views, before, after;
  for_each_attention(backbone, model, set.sources(), sources, context.threads, gone,
                     [&](const AttentionExample& example) {
                       rows.push_back(row_of.at(example.source));
                       views.push_back(view_tensor(example.view));
                       before.push_back(as_bytes(example.before));
                       after.push_back(as_bytes(example.after));
                     });
  if (const auto unread = gone.files(); !unread.empty()) {
    context.log.warning(fmt::format(
        "{} of {} attention maps are missing, as their images cannot be read, the first: {}: {}",
        unread.size(), sources.size(), set.sources().path(unread[0].source), unread[0].reason));
  }
  if (rows.empty()) return;
  const at::Tensor all_rows = at::tensor(at::ArrayRef<std::int64_t>(rows), at::kLong),
                   all_views = at::stack(views), all_before = at::stack(before),
                   all_after = at::stack(after);
  const TensorEntry entries[] = {entry_of("rows", all_rows), entry_of("views", all_views),
                                 entry_of("before", all_before), entry_of("after", all_after)};
  write_safetensors(file, entries);
}

}  // namespace protogcd
