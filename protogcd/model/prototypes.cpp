#include "protogcd/model/prototypes.h"

#include <ATen/ATen.h>

#include "protogcd/nn/head.h"

namespace protogcd {

at::Tensor Prototypes::cosines(const at::Tensor& features) const {
  return at::linear(unit_rows(features), unit_rows(centres));
}

// z . c = |c| cos(z, c)
at::Tensor Prototypes::scores(const at::Tensor& cosines) const {
  if (!bias.defined()) return cosines;
  return cosines * centres.norm(2, 1).to(cosines.options()) + bias.to(cosines.options());
}

}  // namespace protogcd
