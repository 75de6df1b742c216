// SimGCD against the numbers of its public release: a whole step, over its schedule.
#include "tests/methods/method_golden.h"

namespace protogcd {
namespace {

const testing::MethodGolden kGolden{
    .method = "simgcd",
    .terms = {{"cls", "cls"},
              {"distill", "distill"},
              {"memax", "memax"},
              {"unsup_con", "contrastive_unsup"},
              {"sup_con", "contrastive_sup"}},
    .parameters = {{"prototype_layer.weight_v", "last_layer.weight_v"}}};

TEST(SimGcdGolden, LossesAndGradientsInDouble) {
  testing::expect_golden_steps(kGolden, at::kDouble, at::kCPU, 1e-9);
}

TEST(SimGcdGolden, LossesAndGradientsInFloat) {
  testing::expect_golden_steps(kGolden, at::kFloat, at::kCPU, 1e-5);
}

TEST(SimGcdGolden, LossesAndGradientsOnCuda) {
  PROTOGCD_NEEDS_CUDA();
  testing::expect_golden_steps(kGolden, at::kDouble, {at::kCUDA, 0}, 1e-9);
  testing::expect_golden_steps(kGolden, at::kFloat, {at::kCUDA, 0}, 1e-5);
}

}  // namespace
}  // namespace protogcd
