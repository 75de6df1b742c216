#include "protogcd/methods/concept_memory.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "protogcd/nn/head.h"

namespace protogcd {
namespace {

constexpr double kNoConcept = -1e9;  // added to the logit of a direction that is not in use

/// Rounds of an update: a concept has 16 images of two views in a batch, or more where concepts are
/// few; then the last rows decide, as a direction keeps a tenth of itself each time.
constexpr std::int64_t kMostRows = 32;

}  // namespace

ConceptMemory::ConceptMemory(std::int64_t room, std::int64_t width,
                             const ConceptMemoryOptions& options, at::ScalarType type,
                             at::Device device)
    : options_(options),
      directions_(at::zeros({room, width}, at::device(device).dtype(type))),
      offset_(at::full({room}, kNoConcept, directions_.options())) {}

void ConceptMemory::begin(const at::Tensor& features, const at::Tensor& concepts,
                          std::int64_t count) {
  const at::NoGradGuard no_grad;
  directions_.zero_();
  offset_.fill_(kNoConcept);
  if (count == 0) return;
  const at::Tensor in_one = (concepts >= 0).nonzero().squeeze(1);
  const at::Tensor own = concepts.index_select(0, in_one);
  const at::Tensor sums = at::zeros({count, features.size(1)}, features.options())
                              .index_add_(0, own, features.index_select(0, in_one));
  const at::Tensor means = sums / at::bincount(own, {}, count).clamp_min(1).unsqueeze(1);
  directions_.narrow(0, 0, count).copy_(unit_rows(means));
  offset_.narrow(0, 0, count).zero_();
}

std::int64_t ConceptMemory::count() const {
  return (offset_ == 0).sum().item<std::int64_t>();
}

std::map<std::string, at::Tensor> ConceptMemory::state() const {
  return {{"memory", directions_}, {"memory_offset", offset_}};
}

at::Tensor ConceptMemory::loss(const at::Tensor& features, const at::Tensor& concepts,
                               Communicator& communicator) {
  const std::int64_t images = concepts.size(0);
  const at::Tensor rows = unit_rows(features);  // [2B, D]
  const at::Tensor logits =
      at::matmul(rows, directions_.t()) / options_.temperature + offset_;  // [2B, C]
  {
    const at::NoGradGuard no_grad;
    const at::Tensor all = communicator.all_gather(concepts);
    rows_ = at::cat({communicator.all_gather(rows.detach().narrow(0, 0, images)),
                     communicator.all_gather(rows.detach().narrow(0, images, images))});
    concepts_ = at::cat({all, all});
  }
  const at::Tensor own = concepts.repeat({2}).unsqueeze(1);
  return -at::log_softmax(logits, 1).gather(1, own).mean() /
         static_cast<double>(communicator.size());
}

// Rows of different concepts do not touch each other: a round takes one row of every concept, that
// which so many others follow.
void ConceptMemory::update(const at::Tensor& is_on) {
  const at::NoGradGuard no_grad;
  const at::Tensor same = concepts_.unsqueeze(1) == concepts_;
  const at::Tensor rank = same.triu(1).sum(1);  // [2N], later rows of the same concept
  for (std::int64_t round = std::min(kMostRows, concepts_.size(0)) - 1; round >= 0; --round) {
    const at::Tensor before = directions_.index_select(0, concepts_);
    const at::Tensor after =
        unit_rows(before * options_.momentum + rows_ * (1 - options_.momentum));
    const at::Tensor takes_part = (rank == round).logical_and(is_on).unsqueeze(1);
    directions_.index_add_(0, concepts_, (after - before) * takes_part);
  }
  rows_ = concepts_ = at::Tensor();  // the step's memory is used again
}

}  // namespace protogcd
