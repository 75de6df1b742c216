// Loss and update of pre-training against plain float64 numbers.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "protogcd/pretrain/classification.h"
#include "protogcd/pretrain/pretrain_step.h"
#include "tests/pretrain/plain_vit.h"

namespace protogcd {
namespace {

using testing::Numbers;
using testing::PlainClassifier;

Numbers numbers_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kDouble).contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

/// Adam with decoupled weight decay as its paper writes it, one number after the other; gradients
/// longer than `clip` together are shortened to it.
struct PlainAdamW {
  AdamWOptions options;
  int count = 0;
  std::map<std::string, Numbers> first, second;

  void step(std::map<std::string, Numbers>& values, std::map<std::string, Numbers> gradients,
            const std::map<std::string, bool>& decayed, double rate) {
    ++count;
    double squares = 0;
    for (const auto& [name, gradient] : gradients) {
      for (const double g : gradient) squares += g * g;
    }
    const double factor =
        options.clip_norm > 0 ? std::min(1.0, options.clip_norm / std::sqrt(squares)) : 1;
    for (auto& [name, value] : values) {
      first[name].resize(value.size());
      second[name].resize(value.size());
      for (std::size_t i = 0; i < value.size(); ++i) {
        const double g = gradients.at(name)[i] * factor;
        double &m = first[name][i], &s = second[name][i];
        m = options.beta1 * m + (1 - options.beta1) * g;
        s = options.beta2 * s + (1 - options.beta2) * g * g;
        if (decayed.at(name)) value[i] -= rate * options.weight_decay * value[i];
        const double m_hat = m / (1 - std::pow(options.beta1, count));
        const double s_hat = s / (1 - std::pow(options.beta2, count));
        value[i] -= rate * m_hat / (std::sqrt(s_hat) + options.epsilon);
      }
    }
  }
};

TEST(AdamW, StepsAreThoseOfThePlainFormula) {
  for (const double clip : {0.0, 0.5, 100.0}) {
    at::manual_seed(3);
    const std::map<std::string, at::Tensor> tensors = {{"matrix", at::randn({3, 4}, at::kDouble)},
                                                       {"bias", at::randn({5}, at::kDouble)}};
    const AdamWOptions options{
        .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.3, .clip_norm = clip};
    std::map<std::string, Numbers> expected;
    for (const auto& [name, tensor] : tensors) expected[name] = numbers_of(tensor);
    FlatParameters parameters(tensors);
    AdamW adamw(parameters, options);
    PlainAdamW plain{.options = options, .first = {}, .second = {}};
    for (int step = 0; step < 4; ++step) {
      std::map<std::string, Numbers> gradients;
      for (const auto& [name, tensor] : tensors) {
        at::Tensor gradient = at::randn(tensor.sizes(), at::kDouble);
        tensor.mutable_grad() = gradient;
        gradients[name] = numbers_of(gradient);
      }
      const double rate = 0.1 / (step + 1);
      adamw.step(at::scalar_tensor(rate, at::kDouble));
      plain.step(expected, gradients, {{"matrix", true}, {"bias", false}}, rate);
      for (const auto& [name, tensor] : tensors) {
        const Numbers actual = numbers_of(tensor);
        for (std::size_t i = 0; i < actual.size(); ++i)
          EXPECT_NEAR(actual[i], expected[name][i], 1e-12) << name << i << " in step " << step;
      }
    }
  }
}

/// A ViT of two blocks on images of 4 x 4 pixels, in float64.
class TinyPretraining : public ::testing::Test {
 protected:
  TinyPretraining() {
    // Far from the initial values, where half of the gradients are nearly nothing.
    at::manual_seed(11);
    for (const auto& [name, tensor] : step_.parameters().named())
      tensor.detach().add_(at::randn(tensor.sizes(), at::kDouble) * 0.3);
    for (const auto& [name, tensor] : step_.parameters().named()) {
      plain_.values[name] = numbers_of(tensor);
      decayed_[name] = !name.ends_with("bias") && name.find("norm") == std::string::npos;
    }
    batch_.images = at::randn({3, 3, 4, 4}, at::kDouble);
    batch_.labels = at::tensor({2, 0, 4}, at::kLong);
    batch_.numbers = at::rand({3, 4}, at::kFloat);
    for (std::int64_t i = 0; i < 3; ++i) {
      images_.push_back(numbers_of(batch_.images[i]));
      Numbers factors;
      for (std::int64_t k = 0; k < 4; ++k) {
        const double rate = k < 2 ? 0 : 0.5;  // of the first block, of the last
        factors.push_back(batch_.numbers[i][k].item<double>() < rate ? 0 : 1 / (1 - rate));
      }
      factors_.push_back(factors);
    }
  }

  const VitConfig config_{.patch = 2, .width = 8, .depth = 2, .heads = 2, .hidden = 16, .grid = 2};
  const Placement placement_{.device = at::kCPU, .frozen = at::kDouble, .trained = at::kDouble};
  const AdamWOptions adamw_{.epsilon = 1e-3, .weight_decay = 0.3, .clip_norm = 0.5};
  PretrainNetwork network_{config_, placement_, /*drop_path=*/0.5, /*seed=*/1};
  Classification method_{8, 5, {.scale = 16, .label_smoothing = 0.05}, placement_, 1};
  PretrainStep step_{network_, method_, adamw_};
  PlainClassifier plain_{.config = config_, .values = {}};
  std::map<std::string, bool> decayed_;
  PretrainBatch batch_;
  std::vector<Numbers> images_, factors_;
  const std::vector<std::int64_t> labels_ = {2, 0, 4};
};

TEST_F(TinyPretraining, LossIsThatOfThePlainReference) {
  const PretrainLoss result = method_.loss(network_, batch_);
  EXPECT_NEAR(result.loss.item<double>(), plain_.loss(images_, labels_, factors_), 1e-9);
}

TEST_F(TinyPretraining, OneStepChangesEveryWeightAsThePlainReference) {
  PlainAdamW plain{.options = adamw_, .first = {}, .second = {}};
  plain.step(plain_.values, plain_.gradient(images_, labels_, factors_), decayed_, 0.01);
  step_.run(batch_, at::scalar_tensor(0.01, at::kDouble));
  std::size_t compared = 0;
  for (const auto& [name, tensor] : step_.parameters().named()) {
    const Numbers actual = numbers_of(tensor);
    for (std::size_t i = 0; i < actual.size(); ++i, ++compared)
      ASSERT_NEAR(actual[i], plain_.values.at(name)[i], 1e-8) << name << " " << i;
  }
  EXPECT_GT(compared, 1000u);
}

}  // namespace
}  // namespace protogcd
