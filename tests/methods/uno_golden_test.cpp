// UNO+ against the numbers of UNO's public release (Sinkhorn, heads with BatchNorm, targets and
// losses of several heads and crops), and against a re-implementation of the adaptation, which has
// no release.
#include "protogcd/methods/uno_head.h"
#include "protogcd/nn/head.h"
#include "tests/methods/golden_tensors.h"

namespace protogcd {
namespace {

using testing::expect_number;
using testing::relative_deviation;

class UnoGolden : public ::testing::Test {
 protected:
  at::Tensor labelled_of(const std::string& name) const {
    return (golden_.at(name + ".labels") < old_).to(at::kDouble);
  }

  const testing::GoldenTensors golden_{"uno"};
  const std::int64_t old_ = golden_.json.at("K_old"), heads_ = golden_.json.at("num_heads");
  const double temperature_ = golden_.json.at("temperature");
  SingleProcess alone_;
};

TEST_F(UnoGolden, SinkhornIsTheReleases) {
  for (const std::string name : {"sk0", "sk1", "sk2"}) {
    const at::Tensor& scores = golden_.at(name + ".logits");
    const at::Tensor found = sinkhorn(scores, at::ones({scores.size(0)}, at::kDouble), {}, alone_);
    EXPECT_LT(relative_deviation(found, golden_.at(name + ".assign")), 1e-9) << name;
    // Rows beside those that take part change nothing.
    const at::Tensor more = at::cat({scores, scores.slice(0, 0, 3) * 2}),
                     part = at::cat(
                         {at::ones({scores.size(0)}, at::kDouble), at::zeros({3}, at::kDouble)});
    const at::Tensor among = sinkhorn(more, part, {}, alone_);
    EXPECT_LT(relative_deviation(among.slice(0, 0, scores.size(0)), found), 1e-12);
    EXPECT_EQ(among.slice(0, scores.size(0)).abs().max().item<double>(), 0);
  }
}

/// The release's step, put together of our heads and Sinkhorn: two or four crops, three heads, and
/// as many that divide the new classes more finely.
TEST_F(UnoGolden, HeadsTargetsAndLossesOfTheRelease) {
  for (const std::string number : {"0", "1"}) {
    SCOPED_TRACE(number);
    const std::string name = "case" + number;
    const auto& expected = golden_.json.at("cases").at(number);
    const int crops =
        expected.at("num_large_crops").get<int>() + expected.at("num_small_crops").get<int>();
    const at::Tensor labelled = labelled_of(name), free = 1 - labelled;
    std::vector<at::Tensor> views;
    for (int v = 0; v < crops; ++v)
      views.push_back(golden_.leaf(name + ".view" + std::to_string(v)));
    const at::Tensor known = unit_rows(golden_.at(name + ".model.head_lab.prototypes.weight"));
    at::Tensor total = at::zeros({}, at::kDouble);
    for (const bool over : {false, true}) {
      const at::Tensor& all_logits = golden_.at(name + (over ? ".logits_over" : ".logits"));
      const at::Tensor& all_targets = golden_.at(name + (over ? ".targets_over" : ".targets"));
      const std::int64_t fresh = all_logits.size(3) - old_;
      for (std::int64_t h = 0; h < heads_; ++h) {
        const std::string model =
            name + ".model." + (over ? "head_unlab_over" : "head_unlab") + ".";
        UnoHead head(
            golden_.json.at("D"), fresh,
            {.hidden = golden_.json.at("hidden_dim"), .projection = golden_.json.at("proj_dim")}, 0,
            16, at::kDouble, at::kCPU);
        for (const auto& [parameter, tensor] : head.named_parameters()) {
          const std::string place = std::to_string(h) + "." + parameter;
          tensor.copy_(golden_.at(model + (parameter.starts_with("mlp") ? "projectors." + place
                                                                        : "prototypes." + place)));
        }
        head.normalise();
        std::vector<at::Tensor> logits;
        for (const at::Tensor& view : views) {
          logits.push_back(at::cat(
              {at::matmul(unit_rows(view), known.t()), head.forward_view(view, alone_)}, 1));
          EXPECT_LT(relative_deviation(logits.back(),
                                       all_logits[static_cast<std::int64_t>(logits.size()) - 1][h]),
                    1e-9);
        }
        at::Tensor of_head = at::zeros({}, at::kDouble);
        for (int v = 0; v < 2; ++v) {
          const auto at_v = static_cast<std::size_t>(v);
          const at::Tensor own =
              at::one_hot(golden_.at(name + ".labels").clamp_max(old_ - 1), old_).to(at::kDouble) *
              labelled.unsqueeze(1);
          const at::Tensor targets =
              at::cat({own, sinkhorn(logits[at_v].detach().slice(1, old_), free, {}, alone_)}, 1);
          EXPECT_LT(relative_deviation(targets, all_targets[v][h]), 1e-9);
          for (std::size_t w = 0; w < logits.size(); ++w) {
            if (w == at_v) continue;
            of_head =
                of_head - (targets * at::log_softmax(logits[w] / temperature_, 1)).sum(1).mean() /
                              (2.0 * (crops - 1));
          }
        }
        expect_number(of_head,
                      expected.at(over ? "loss_overcluster_per_head" : "loss_cluster_per_head")
                          .at(static_cast<std::size_t>(h)),
                      "head " + std::to_string(h));
        total = total + of_head / (2.0 * static_cast<double>(heads_));
      }
    }
    expect_number(total, expected.at("loss"), "loss");
    total.backward();
    for (int v = 0; v < crops; ++v) {
      EXPECT_LT(relative_deviation(views[static_cast<std::size_t>(v)].grad(),
                                   golden_.at(name + ".grad.view" + std::to_string(v))),
                1e-9);
    }
  }
}

TEST_F(UnoGolden, StepOfTheAdaptationWithOneHead) {
  const at::Tensor logits = golden_.leaf("plus.logits");
  const StepBatch batch{.labels = golden_.at("plus.labels"),
                        .labelled = golden_.at("plus.mask_labelled").to(at::kDouble)};
  const at::Tensor loss = uno_loss(logits.flatten(0, 1), batch, temperature_, {}, alone_);
  expect_number(loss, golden_.json.at("plus").at("loss"), "loss");
  loss.backward();
  EXPECT_LT(relative_deviation(logits.grad(), golden_.at("plus.grad.logits")), 1e-9);
}

}  // namespace
}  // namespace protogcd
