#include "protogcd/studies/attention_maps.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace protogcd {

Vit trained_vit(const Backbone& backbone, const TrainedModel& model) {
  return with_blocks(backbone.vit.converted(at::kFloat, at::kCPU), model.info().first_trained_block,
                     at::kFloat, model.blocks().named_parameters());
}

namespace {

/// Tokens [B, T, D] through the blocks from `first` to the one before `end`.
at::Tensor through_blocks(const Vit& vit, at::Tensor x, std::int64_t first, std::int64_t end) {
  for (std::int64_t i = first; i < end; ++i) x = vit.block(i, x);
  return x;
}

/// From the input [B, T, D] of block `first`: [B, heads, rows, columns].
at::Tensor maps_from(const Vit& vit, const at::Tensor& tokens, std::int64_t first,
                     std::int64_t rows, std::int64_t columns) {
  const VitConfig& config = vit.config();
  const at::Tensor x = through_blocks(vit, tokens, first, config.depth - 1);
  const at::Tensor all = vit.attention(config.depth - 1, x);  // [B, heads, T, T]
  return all.select(2, 0)
      .narrow(2, config.prefix_tokens(), rows * columns)
      .reshape({tokens.size(0), config.heads, rows, columns});
}

}  // namespace

at::Tensor attention_maps(const Vit& vit, const at::Tensor& images) {
  const at::NoGradGuard no_grad;
  const std::int64_t patch = vit.config().patch;
  return maps_from(vit, vit.embed(images), 0, images.size(2) / patch, images.size(3) / patch);
}

void for_each_attention(const Backbone& backbone, const TrainedModel& model,
                        const SourceTable& sources, std::span<const std::uint32_t> list,
                        std::size_t threads, SkippedFiles& skipped,
                        const std::function<void(const AttentionExample&)>& use) {
  const at::NoGradGuard no_grad;
  const Vit before = backbone.vit.converted(at::kFloat, at::kCPU),
            after = trained_vit(backbone, model);
  const std::int64_t first = model.info().first_trained_block, patch = before.config().patch;
  LoaderOptions loader = model.center_loader(threads);
  loader.device = at::kCPU;
  loader.batch = std::min<std::size_t>(loader.batch, 4);  // T x T shares of every head are large
  ResizedReader reader(sources, loader.decode);
  ImageLoader images(sources, ImageList::center_views(list), loader, skipped);
  while (const ImageBatch* batch = images.next()) {
    const std::int64_t rows = batch->pixels.size(2) / patch,
                       columns = batch->pixels.size(3) / patch;
    // What is not trained is the same before and after.
    const at::Tensor shared = through_blocks(before, before.embed(batch->pixels), 0, first);
    const at::Tensor then = maps_from(before, shared, first, rows, columns),
                     now = maps_from(after, shared, first, rows, columns);
    for (std::size_t i = 0; i < batch->sources.size(); ++i) {
      AttentionExample example{.source = batch->sources[i], .view = {}, .before = {}, .after = {}};
      if (const MaybeBad bad = reader.read_center(example.source, loader.view, example.view)) {
        skipped.add(sources, example.source, bad->reason);
        continue;
      }
      example.before = then[static_cast<std::int64_t>(i)];
      example.after = now[static_cast<std::int64_t>(i)];
      use(example);
    }
  }
}

Image attention_overlay(const Image& view, const at::Tensor& map) {
  const at::Tensor large =
      at::upsample_bilinear2d(map.to(at::kCPU, at::kFloat).unsqueeze(0).unsqueeze(0),
                              {view.height, view.width}, /*align_corners=*/false)
          .squeeze(0)
          .squeeze(0)
          .contiguous();
  const float largest = std::max(large.max().item<float>(), 1e-12f);
  const float* strength = large.const_data_ptr<float>();
  Image picture = view;
  for (std::size_t i = 0; i < static_cast<std::size_t>(view.size().pixels()); ++i) {
    std::uint8_t* pixel = picture.pixels.data() + 3 * i;
    const float grey = 0.299f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2];
    const float share = strength[i] / largest;
    const float paper = 0.5f * grey + 110;  // light, so that red stands out
    const float red[3] = {215, 25, 28};
    for (int c = 0; c < 3; ++c)
      pixel[c] =
          static_cast<std::uint8_t>(std::clamp(paper + share * (red[c] - paper), 0.0f, 255.0f));
  }
  return picture;
}

}  // namespace protogcd
