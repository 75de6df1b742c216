// XCon (Fei et al., BMVC 2022): GCD's contrast, and the same within groups of like images, each
// behind a projection of its own, so that images are told apart from those they resemble.
#include <ATen/ATen.h>

#include "protogcd/methods/contrast.h"

namespace protogcd {
namespace {

struct XconOptions : ContrastMethodOptions {
  std::int64_t experts = 8;    ///< groups
  double expert_weight = 0.1;  ///< of the mean of their losses

  std::string name() const override { return "xcon"; }
  std::unique_ptr<MethodOptions> copy() const override {
    return std::make_unique<XconOptions>(*this);
  }
  void declare(OptionTable& table) override;
  std::vector<PublishedSetting> published(const std::string&) const override {
    return with_gcds({{"eval_every", "10"}, {"rule", "max-acc"}});
  }
  std::int64_t groups() const override { return experts; }
  std::string tuned_option() const override { return "expert_weight"; }
  std::int64_t views_per_step(std::int64_t batch) const override {
    return 2 * (batch + experts * images_of_expert(batch));
  }
  /// In a batch of its own.
  std::int64_t images_of_expert(std::int64_t batch) const {
    return (batch + experts - 1) / experts;
  }
  std::unique_ptr<Method> make(const MethodInput& input) const override;
};

/// Places of the images of each group; groups without images are left out.
std::vector<std::vector<std::uint32_t>> members_of(const std::vector<std::int32_t>& groups) {
  std::map<std::int32_t, std::vector<std::uint32_t>> members;
  for (std::size_t place = 0; place < groups.size(); ++place)
    members[groups[place]].push_back(static_cast<std::uint32_t>(place));
  std::vector<std::vector<std::uint32_t>> result;
  for (auto& [group, places] : members) result.push_back(std::move(places));
  return result;
}

class Xcon : public Method {
 public:
  Xcon(const XconOptions& options, const MethodInput& input)
      : options_(options),
        end_(options.clusters, input),
        members_(members_of(input.groups)),
        images_(options.images_of_expert(input.batch)),
        of_all_(options.contrast.make(input)) {
    if (members_.empty()) members_.emplace_back();  // of nobody: all images are one group
    experts_.emplace(options.contrast.make(input, static_cast<std::int64_t>(members_.size())));
  }

  std::map<std::string, at::Tensor> parameters() const override {
    std::map<std::string, at::Tensor> all;
    for (const auto& [name, tensor] : of_all_.named_parameters()) all["all." + name] = tensor;
    for (const auto& [name, tensor] : experts_->named_parameters()) all["experts." + name] = tensor;
    return all;
  }
  std::vector<ReportedValue> reported() const override {
    return {{"unsup_con"}, {"sup_con"}, {"experts"}};
  }
  /// All images, then each group by itself.
  std::vector<BatchStream> streams() const override {
    std::vector<BatchStream> result = {{}};
    for (const auto& places : members_) result.push_back({.images = images_, .among = places});
    return result;
  }
  std::vector<double> begin_epoch(const EpochInput&) override { return {}; }

  StepLoss loss(const std::vector<StepBatch>& batches, Communicator& communicator) override {
    const ContrastLoss of_all = contrast_loss(of_all_, options_.contrast, batches[0], communicator);
    std::vector<at::Tensor> labels, labelled, features;
    for (std::size_t i = 1; i < batches.size(); ++i) {
      labels.push_back(batches[i].labels);
      labelled.push_back(batches[i].labelled);
      features.push_back(batches[i].features);
    }
    const StepBatch of_groups{.labels = at::stack(labels),       // [E, b]
                              .labelled = at::stack(labelled),   // [E, b]
                              .features = at::stack(features)};  // [E, 2b, D]
    const at::Tensor experts =
        contrast_loss(*experts_, options_.contrast, of_groups, communicator).total;
    return {of_all.total + experts * options_.expert_weight, {of_all.unsup, of_all.sup, experts}};
  }

  Outcome outcome(SetFeatures& sets) const override { return end_.outcome(sets); }

 private:
  const XconOptions options_;
  const ClusterEnd end_;
  std::vector<std::vector<std::uint32_t>> members_;
  const std::int64_t images_;  ///< of a group's batch
  const Projection of_all_;
  std::optional<Projection> experts_;  ///< a stack, one for each group
};

void XconOptions::declare(OptionTable& table) {
  table.add("experts", &experts, "groups of like images that are contrasted by themselves")
      .at_least(1)
      .at_most(1000);
  table.add("expert_weight", &expert_weight, "weight of the groups' mean contrast").at_least(0);
  ContrastMethodOptions::declare(table);
}

std::unique_ptr<Method> XconOptions::make(const MethodInput& input) const {
  return std::make_unique<Xcon>(*this, input);
}

}  // namespace

std::unique_ptr<MethodOptions> xcon_options();  // for registry.cpp
std::unique_ptr<MethodOptions> xcon_options() {
  return std::make_unique<XconOptions>();
}

}  // namespace protogcd
