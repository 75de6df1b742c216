// Where the last block looks: the attention of the CLS token to every patch, per head, before and
// after training (paper, section VI-E).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>

#include "protogcd/data/skipped.h"
#include "protogcd/data/source_table.h"
#include "protogcd/image/image.h"
#include "protogcd/model/model.h"
#include "protogcd/nn/vit.h"

namespace protogcd {

/// The whole network of a model, plain: its backbone with the trained blocks in place.
Vit trained_vit(const Backbone& backbone, const TrainedModel& model);

/// Shares of attention over the patches of images [B, 3, S, S]: [B, heads, S/P, S/P]; what CLS
/// gives to itself and to registers is left out.
at::Tensor attention_maps(const Vit& vit, const at::Tensor& images);

/// Where the network looked on one image, and where it looks now.
struct AttentionExample {
  std::uint32_t source = 0;
  Image view;                ///< what the network sees, S x S
  at::Tensor before, after;  ///< [heads, S/P, S/P]
};

/// Of the images in the list that can be read, in its order; on the CPU, as they are few. The
/// others are noted in `skipped`.
void for_each_attention(const Backbone& backbone, const TrainedModel& model,
                        const SourceTable& sources, std::span<const std::uint32_t> list,
                        std::size_t threads, SkippedFiles& skipped,
                        const std::function<void(const AttentionExample&)>& use);

/// The view with attention in red, deeper where there is more, scaled to the map's largest value.
/// `map` [rows, columns].
Image attention_overlay(const Image& view, const at::Tensor& map);

}  // namespace protogcd
