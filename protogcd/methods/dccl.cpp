// DCCL (Pu et al., CVPR 2023): GCD's contrast, and concepts that images are drawn to: communities
// of the graph of nearest images, found anew before each epoch, with a memory of their directions.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "protogcd/core/random.h"
#include "protogcd/methods/concept_memory.h"
#include "protogcd/methods/concepts.h"
#include "protogcd/methods/contrast.h"
#include "protogcd/methods/feature_clusters.h"

namespace protogcd {
namespace {

struct DcclOptions : ContrastMethodOptions {
  ConceptOptions concepts;
  ConceptMemoryOptions memory;
  double first_weight = 0.04, last_weight = 0.4;  ///< of the concepts, at the start and after
  std::int64_t rising_epochs = 100;               ///< so many epochs
  std::int64_t instances = 16;                    ///< images of one concept in a batch

  std::string name() const override { return "dccl"; }
  std::unique_ptr<MethodOptions> copy() const override {
    return std::make_unique<DcclOptions>(*this);
  }
  void declare(OptionTable& table) override;
  std::vector<PublishedSetting> published(const std::string&) const override {
    return with_gcds({{"label_by_rank", "true"}, {"rule", "infomap"}});
  }
  void change_epochs(std::int64_t before, std::int64_t now) override {
    if (before > 0) rising_epochs = std::max<std::int64_t>(1, rising_epochs * now / before);
  }
  std::int64_t views_per_step(std::int64_t batch) const override { return 4 * batch; }
  std::string tuned_option() const override { return "concept_weight"; }
  std::unique_ptr<Method> make(const MethodInput& input) const override;
};

class Dccl : public Method {
 public:
  Dccl(const DcclOptions& options, const MethodInput& input)
      : options_(options),
        seed_(input.seed),
        end_(options.clusters, input),
        projection_(options.contrast.make(input)),
        // A concept has a least number of images, and so there are at most so many.
        memory_((input.labelled + input.unlabelled) / options.concepts.least_images + 1,
                input.width, options.memory, input.type, input.device),
        concept_(at::full({std::max<std::int64_t>(input.labelled + input.unlabelled, 1)}, -1,
                          at::device(input.device).dtype(at::kLong))),
        weight_(input.type, input.device) {}

  std::map<std::string, at::Tensor> parameters() const override {
    return projection_.named_parameters();
  }
  std::map<std::string, at::Tensor> state() const override {
    std::map<std::string, at::Tensor> all = memory_.state();
    all["concept"] = concept_;
    all["weight"] = *weight_;
    return all;
  }
  std::vector<ReportedValue> reported() const override {
    return {{"unsup_con"},
            {"sup_con"},
            {"concepts"},
            {"concept_weight", ReportedKind::kSchedule},
            {"concept_count", ReportedKind::kSchedule}};
  }
  /// The usual batch, and one of concepts.
  std::vector<BatchStream> streams() const override { return {BatchStream{}, BatchStream{}}; }

  std::vector<double> begin_epoch(const EpochInput& input) override {
    if (!input.is_resumed) find(input);
    return {(*weight_).item<double>(), static_cast<double>(memory_.count())};
  }
  std::vector<std::uint32_t> draws(std::size_t stream, std::int64_t epoch, std::size_t batches,
                                   std::size_t batch) const override;

  StepLoss loss(const std::vector<StepBatch>& batches, Communicator& communicator) override {
    const ContrastLoss contrast =
        contrast_loss(projection_, options_.contrast, batches[0], communicator);
    const at::Tensor own = concept_.index_select(0, batches[1].places).clamp_min(0);
    const at::Tensor concepts = memory_.loss(batches[1].features, own, communicator);
    return {contrast.total + concepts * *weight_, {contrast.unsup, contrast.sup, concepts}};
  }

  void after_update() override { memory_.update(*weight_ > 0); }

  Outcome outcome(SetFeatures& sets) const override { return end_.outcome(sets); }

 private:
  void find(const EpochInput& input);
  double weight_of(std::int64_t epoch) const {
    const std::int64_t last = options_.rising_epochs - 1;
    if (epoch >= last) return options_.last_weight;
    return options_.first_weight + static_cast<double>(epoch) *
                                       (options_.last_weight - options_.first_weight) /
                                       static_cast<double>(last);
  }

  const DcclOptions options_;
  const std::uint64_t seed_;
  const ClusterEnd end_;
  Projection projection_;
  ConceptMemory memory_;
  at::Tensor concept_;  ///< [N_l + N_u] int64, of each image by its place; -1: none
  EpochScalar weight_;  ///< 0 where there are no concepts
};

void Dccl::find(const EpochInput& input) {
  const at::NoGradGuard no_grad;
  weight_.set(0);
  std::vector<at::Tensor> parts;
  for (const SampleSet set : {SampleSet::kLabelled, SampleSet::kUnlabelled})
    input.sets.for_each(set, [&](const at::Tensor& features) {
      parts.push_back(features.to(at::kCPU, at::kFloat));
    });
  if (parts.empty()) return;
  const at::Tensor rows = at::cat(parts);
  if (!rows.isfinite().all().item<bool>()) return;  // the loop says that training diverged
  ConceptOptions how = options_.concepts;
  how.map.seed = seed_ + static_cast<std::uint64_t>(input.epoch);
  const Concepts found =
      find_concepts(unit_rows(rows), known_labels(input.sets), how, input.sets.stop());
  const at::Tensor of_image = at::tensor(found.of_image).to(at::kLong);
  concept_.copy_(of_image);
  memory_.begin(rows, of_image, found.count);
  if (found.count > 0) weight_.set(weight_of(input.epoch));
}

/// Batches of concepts: so many images of one, then of the next, all in random order; no concept
/// twice before all were drawn, as far as whole batches can be had.
std::vector<std::uint32_t> Dccl::draws(std::size_t stream, std::int64_t epoch, std::size_t batches,
                                       std::size_t batch) const {
  if (stream == 0) return {};
  const at::Tensor own = concept_.cpu();
  const auto* number = own.const_data_ptr<std::int64_t>();
  std::vector<std::vector<std::uint32_t>> members(static_cast<std::size_t>(memory_.count()));
  for (std::int64_t i = 0; i < own.size(0); ++i)
    if (number[i] >= 0)
      members[static_cast<std::size_t>(number[i])].push_back(static_cast<std::uint32_t>(i));
  if (members.empty()) return {};
  RandomStream random({.seed = seed_,
                       .purpose = RandomPurpose::kShuffle,
                       .epoch = static_cast<std::uint32_t>(epoch)});
  const auto shuffle = [&](auto& values) {
    for (std::size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[random.below(i)]);
  };
  const auto each = static_cast<std::size_t>(options_.instances);
  const std::size_t in_batch = (batch + each - 1) / each;
  std::vector<std::uint32_t> result;
  std::vector<std::size_t> order;
  for (std::size_t b = 0; b < batches; ++b) {
    std::size_t left = batch;
    if (order.size() < std::min(in_batch, members.size())) {
      order.resize(members.size());
      for (std::size_t c = 0; c < order.size(); ++c) order[c] = c;
      shuffle(order);
    }
    while (left > 0) {
      if (order.empty()) {  // fewer concepts than a batch has room for
        for (std::size_t c = 0; c < members.size(); ++c) order.push_back(c);
        shuffle(order);
      }
      std::vector<std::uint32_t>& of_concept = members[order.back()];
      order.pop_back();
      shuffle(of_concept);
      const std::size_t count = std::min(left, each);
      for (std::size_t i = 0; i < count; ++i) {
        result.push_back(of_concept.size() > i && of_concept.size() > each
                             ? of_concept[i]
                             : of_concept[i == 0 ? 0 : random.below(of_concept.size())]);
      }
      left -= count;
    }
  }
  return result;
}

void DcclOptions::declare(OptionTable& table) {
  table
      .add("concept_neighbours", &concepts.neighbours,
           "nearest images that an image is linked with, itself counted")
      .at_least(2);
  table.add("concept_cosine", &concepts.least_cosine, "images less alike are not linked")
      .above(0)
      .at_most(1);
  table.add("concept_images", &concepts.least_images, "communities of fewer images are no concepts")
      .at_least(1);
  table
      .add("concept_orders", &concepts.map.trials,
           "orders in which communities are looked for; the best is kept")
      .at_least(1);
  table.add("label_by_rank", &concepts.label_by_rank,
            "as released: labels are compared with those of the first images of the data");
  table.add("concept_temperature", &memory.temperature, "of the pull to concepts").above(0);
  table.add("memory_momentum", &memory.momentum, "how much a concept keeps of its direction")
      .at_least(0)
      .at_most(1);
  table.add("concept_weight", &last_weight, "weight of the concepts, after it has risen")
      .at_least(0);
  table.add("first_concept_weight", &first_weight, "weight of the concepts in the first epoch")
      .at_least(0);
  table.add("concept_epochs", &rising_epochs, "epochs in which that weight rises").at_least(1);
  table.add("concept_instances", &instances, "images of one concept in a batch").at_least(1);
  ContrastMethodOptions::declare(table);
}

std::unique_ptr<Method> DcclOptions::make(const MethodInput& input) const {
  return std::make_unique<Dccl>(*this, input);
}

}  // namespace

std::unique_ptr<MethodOptions> dccl_options();  // for registry.cpp
std::unique_ptr<MethodOptions> dccl_options() {
  return std::make_unique<DcclOptions>();
}

}  // namespace protogcd
