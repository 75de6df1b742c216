#include "tests/training/toy_method.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <numeric>

#include "protogcd/cluster/semi_supervised_kmeans.h"
#include "protogcd/methods/losses.h"
#include "protogcd/nn/head.h"

namespace protogcd::testing {
namespace {

/// Pulls the two views of an image together, more so from epoch to epoch, and all images towards
/// the running mean of a second stream, which draws from the unlabelled images alone.
class Toy : public Method {
 public:
  Toy(const ToyOptions& options, const MethodInput& input)
      : options_(options),
        input_(input),
        scale_(at::ones({input.width}, at::device(input.device).dtype(input.type))),
        mean_(at::zeros({input.width}, at::device(input.device).dtype(input.type))),
        seen_(at::zeros_like(mean_)),
        first_(at::zeros({}, at::kDouble)),
        strength_(input.type, input.device) {}

  std::map<std::string, at::Tensor> parameters() const override { return {{"scale", scale_}}; }
  std::map<std::string, at::Tensor> state() const override {
    return {{"mean", mean_}, {"first", first_}};
  }
  std::vector<BatchStream> streams() const override {
    BatchStream second{.images = 4};
    for (std::int64_t i = input_.labelled; i < input_.labelled + input_.unlabelled; ++i)
      second.among.push_back(static_cast<std::uint32_t>(i));
    return {BatchStream{}, second};
  }
  std::vector<ReportedValue> reported() const override {
    return {{"apart"},
            {"distance", ReportedKind::kShare},
            {"strength", ReportedKind::kSchedule},
            {"first_feature", ReportedKind::kSchedule}};
  }

  std::vector<double> begin_epoch(const EpochInput& epoch) override {
    const auto strength = static_cast<double>(epoch.epoch + 1);
    strength_.set(strength);
    if (!epoch.is_resumed) {  // what is seen as an epoch begins is gone when it goes on
      first_.zero_();
      epoch.sets.for_each(SampleSet::kLabelled, [&](const at::Tensor& features) {
        if (first_.item<double>() == 0) first_.copy_(features[0][0]);
      });
    }
    return {strength, first_.item<double>()};
  }

  StepLoss loss(const std::vector<StepBatch>& batches, Communicator& communicator) override {
    const at::Tensor z = unit_rows(batches[0].features * scale_);
    const std::int64_t images = z.size(0) / 2;
    const auto all = static_cast<double>(images * communicator.size());
    const at::Tensor apart =
        (z.narrow(0, 0, images) - z.narrow(0, images, images)).square().sum() / all;
    const at::Tensor distance = (z - mean_).square().sum() / (2 * all);
    at::Tensor second =
        batches[1].features.detach().mean(0) / static_cast<double>(communicator.size());
    communicator.all_reduce(second);
    seen_.copy_(second);
    return {apart * *strength_ + distance * options_.pull, {apart, distance}};
  }

  void after_update() override {
    const at::NoGradGuard no_grad;
    mean_.lerp_(seen_, 0.1);
  }

  Outcome outcome(SetFeatures& sets) const override {
    std::vector<at::Tensor> parts;
    for (const SampleSet set : {SampleSet::kLabelled, SampleSet::kUnlabelled}) {
      sets.for_each(set, [&](const at::Tensor& features) {
        parts.push_back(unit_rows(features).to(at::kCPU, at::kFloat));
      });
    }
    const at::Tensor labels = sets.labels();
    const at::Tensor known =
        at::cat({labels, at::full({sets.count(SampleSet::kUnlabelled)}, -1, at::kLong)});
    const Clustering found =
        semi_supervised_kmeans(Points(at::cat(parts), "features"), known,
                               {.k = input_.k(), .starts = 2, .seed = input_.seed});
    const at::Tensor own = found.labels.narrow(0, labels.size(0), known.size(0) - labels.size(0))
                               .to(at::kInt)
                               .contiguous();
    return {.prototypes = {.centres = found.centroids,
                           .temperature = 0.1,
                           .bias = -found.centroids.square().sum(1) / 2},
            .labels = {own.const_data_ptr<std::int32_t>(),
                       own.const_data_ptr<std::int32_t>() + own.numel()}};
  }

 private:
  const ToyOptions options_;
  const MethodInput input_;
  at::Tensor scale_, mean_, seen_;
  at::Tensor first_;  ///< the first feature as the epoch began
  EpochScalar strength_;
};

}  // namespace

void ToyOptions::declare(OptionTable& table) {
  table.add("pull", &pull, "towards the mean").at_least(0);
}

std::unique_ptr<Method> ToyOptions::make(const MethodInput& input) const {
  return std::make_unique<Toy>(*this, input);
}

}  // namespace protogcd::testing
