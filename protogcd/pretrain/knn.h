// How well features separate classes, without training anything: nearest neighbours.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace protogcd {

/// Share of the images whose class the k most similar others vote for. Similarity is the cosine;
/// each neighbour votes with exp(cosine / 0.07), as DINO's evaluation does; the image itself has no
/// vote. features [N, D], labels [N] int64 from 0, on one device.
double knn_accuracy(const at::Tensor& features, const at::Tensor& labels, std::int64_t k);

}  // namespace protogcd
