#include "protogcd/gcd/attention_maps.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace protogcd {

Vit trained_vit(const Backbone& backbone, const Model& model) {
  const at::NoGradGuard no_grad;
  // `converted` may share tensors with the backbone: only the trained blocks are copied.
  Vit vit = backbone.vit.converted(at::kFloat, at::kCPU);
  for (std::int64_t i = model.info().first_trained_block; i < vit.config().depth; ++i) {
    BlockWeights& block = vit.weights().blocks[static_cast<std::size_t>(i)];
    block = copied(block, at::kFloat, at::kCPU);
  }
  const auto tensors = named_tensors(vit);
  for (const auto& [name, trained] : model.blocks().named_parameters())
    tensors.at(name).copy_(trained);
  return vit;
}

at::Tensor attention_maps(const Vit& vit, const at::Tensor& images) {
  const at::NoGradGuard no_grad;
  const VitConfig& config = vit.config();
  at::Tensor x = vit.embed(images);  // [B, T, D]
  for (std::int64_t i = 0; i + 1 < config.depth; ++i) x = vit.block(i, x);
  const at::Tensor all = vit.attention(config.depth - 1, x);  // [B, heads, T, T]
  const std::int64_t rows = images.size(2) / config.patch, columns = images.size(3) / config.patch;
  return all.select(2, 0)
      .narrow(2, config.prefix_tokens(), rows * columns)
      .reshape({images.size(0), config.heads, rows, columns});
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
