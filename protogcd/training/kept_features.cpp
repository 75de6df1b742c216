#include "protogcd/training/kept_features.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/core/npy.h"
#include "protogcd/core/partial_rows.h"
#include "protogcd/core/sha256.h"
#include "protogcd/engine/token_bank.h"
#include "protogcd/nn/head.h"
#include "protogcd/nn/state_dict.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

std::string file_name(const TrainingMaterial& material, const Backbone& backbone, SampleSet set) {
  const TrainingSet& images = material.set();
  const std::string all = fmt::format(
      "{}\n{}\n{}\n{}\n{}\n{}", images_digest(images.sources(), sources_of(images.of(set))),
      backbone_sha256(backbone.file), backbone.config.heads, material.preprocessing(),
      material.placement().arithmetic(), material.placement().trunk_batch());
  return fmt::format("{}-{}.npy", sample_set_name(set), sha256_hex(all).substr(0, 16));
}

void compute(TrainingMaterial& material, const TrainedBlocks& blocks, SampleSet set,
             const fs::path& file, std::int64_t width, const Context& context) {
  const std::uint64_t count = material.set().count(set);
  PartialRows rows({{.target = file, .row_shape = {width}}}, {}, /*resume=*/true);
  std::uint64_t done = rows.items();
  if (done > count || rows.rows() != done) {
    throw FileError(
        fmt::format("{}: is not of these images", PartialRows::folder_of(file).string()),
        "remove it");
  }
  if (done > 0)
    context.log.info(fmt::format("features of {} of {} images are there already", done, count));
  const at::NoGradGuard no_grad;
  material.for_each_rows(
      set, context, [&](const TrunkTokens& tokens) { return blocks.forward(tokens); },
      [&](const at::Tensor& features) {
        const at::Tensor part = unit_rows(features).to(at::kCPU, at::kFloat).contiguous();
        const auto added = static_cast<std::uint64_t>(part.size(0));
        rows.append(0, entry_of("features", part).bytes);
        done += added;
        rows.finish_items(done, added);
        if (!context.interrupted()) return;
        rows.save();
        throw InterruptedError(
            fmt::format("stopped: features of {} of {} images are kept", done, count),
            fmt::format("repeat the command with {}", option_name("resume")));
      },
      done);
  rows.commit();
}

}  // namespace

at::Tensor kept_features(TrainingMaterial& material, const Backbone& backbone,
                         const TrainedBlocks& blocks, SampleSet set, const fs::path& folder,
                         const Context& context) {
  if (material.set().count(set) == 0) return at::empty({0});
  const fs::path file = folder / file_name(material, backbone, set);
  create_folders(folder);
  if (!fs::exists(file)) compute(material, blocks, set, file, backbone.config.width, context);
  const auto kept = std::make_shared<NpyFile>(file);
  return tensor_of(kept->array(), kept);
}

}  // namespace protogcd
