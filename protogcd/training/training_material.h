// What training needs whatever the number of classes: the readable images, the frozen trunk, tokens
// of the views that evaluation sees, and where training's views come from. One run uses it once; a
// search for the number of classes trains many models on it.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "protogcd/data/sampler.h"
#include "protogcd/engine/evaluation_tokens.h"
#include "protogcd/engine/placement.h"
#include "protogcd/engine/shared_bank_views.h"
#include "protogcd/engine/token_bank.h"
#include "protogcd/engine/view_source.h"
#include "protogcd/methods/method.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/training/training_plan.h"
#include "protogcd/training/training_set.h"

namespace protogcd {

struct MaterialOptions {
  std::int64_t batch = 128;                          ///< images a step; each gives two views
  std::optional<std::int64_t> grad_from_block = {};  ///< the first block trained; nothing: the last
  bool use_bank = false;  ///< views from a token bank; else new crops for every draw
  BankOptions bank = {};  ///< its folder, if empty: `bank` below the folder of the run
  /// Strength of borrowed differences (engine/borrowed_views.h); 0 or nothing: none.
  std::optional<double> borrow = {};
  std::optional<double> cache_gb = {};  ///< for decoded images and tokens; nothing: half of it
  ReadingOptions reading = {};
  /// Strong views are wanted too (BatchStream::strength), by this recipe; with a bank, of a second
  /// one beside it.
  bool sees_strong = false;
  StrongViewOptions strong = {};
  bool sees_labelled = false;    ///< tokens of labelled images are wanted too, and kept in memory
  bool looks_at_images = false;  ///< TrainingSet::looks is wanted
};

/// What the steps of a run draw from, by number alone.
struct DrawnSet {
  std::size_t labelled = 0, images = 0;  ///< labelled images come first
  std::size_t batch = 0;                 ///< images of a step, where the stream does not say
  std::size_t batches = 0;               ///< of an epoch; 0: as many as there are images for
};

Sampler stream_sampler(const BatchStream& stream, const DrawnSet& set, std::uint64_t seed);

class TrainingMaterial {
 public:
  /// Reads every image once. `folder` is the run's: a bank in files lies below it. All references
  /// must outlive it.
  TrainingMaterial(Dataset dataset, const Backbone& backbone, const MaterialOptions& options,
                   const std::filesystem::path& folder, const BadImagePolicy& policy,
                   const Context& context);

  const Placement& placement() const { return placement_; }
  const TrainingSet& set() const { return set_; }
  const std::shared_ptr<const Trunk>& trunk() const { return trunk_; }
  std::int64_t first_trained_block() const { return first_trained_block_; }
  const std::optional<BankPlan>& bank_plan() const { return bank_plan_; }
  /// Of the bank of strong views.
  const std::optional<BankPlan>& strong_bank_plan() const { return strong_bank_plan_; }

  /// Takes the unlabelled images at these places out of training (SampleSet::kAside).
  void set_aside(std::span<const std::uint32_t> places);
  /// Whether several threads can train on it at once: on a CPU, from a bank that does not change.
  bool is_shareable() const;
  /// Computes what the banks miss as this epoch begins.
  void prepare_bank(std::int64_t epoch);
  /// Of one of a method's streams; `batches` an epoch, or 0: as many as there are images for.
  Sampler make_sampler(const BatchStream& stream, std::uint64_t seed, std::size_t batches = 0,
                       const TrainingPlan& plan = {}) const;
  /// Steps of an epoch of the run's batches, at least one.
  std::int64_t steps_per_epoch() const {
    return std::max<std::int64_t>(
        1, static_cast<std::int64_t>(make_sampler({}, 0).batches_per_epoch()));
  }
  /// Views of what the sampler draws, as many and as strong as the stream asks for: they depend on
  /// seed, epoch and step alone. This object and the sampler must outlive them.
  std::unique_ptr<ViewSource> make_views(const Sampler& sampler, std::uint64_t seed,
                                         const TrainingPlan& plan = {},
                                         const BatchStream& stream = {}) const;
  /// Room for fresh views that several trainings share; null on a GPU, which makes them faster than
  /// it would fetch them.
  std::shared_ptr<KeptTokens> make_kept_tokens() const;
  /// Labels and places of the images that an epoch's steps draw: [steps, B] each, on the device.
  StepBatch labels_of(const Sampler& sampler, std::int64_t epoch,
                      const TrainingPlan& plan = {}) const;

  /// What a method of K classes is made for on these images: the old classes, those that a plan
  /// hides, then new-01, ...
  MethodInput method_input(std::int64_t k, std::int64_t epochs, std::uint64_t seed,
                           const TrainingPlan& plan = {}) const;

  EvaluationTokens& tokens(SampleSet set);
  /// The same for trainings side by side: one pass at a time.
  void for_each_rows(SampleSet set, const Context& context,
                     const std::function<at::Tensor(const TrunkTokens&)>& compute,
                     const std::function<void(const at::Tensor& rows)>& use, std::size_t first = 0);
  /// Where untrained features stay (kept_features.h); empty, as it begins: nowhere.
  void keep_features_in(std::filesystem::path folder) { features_folder_ = std::move(folder); }
  const std::filesystem::path& features_folder() const { return features_folder_; }
  /// The processes that train on it together.
  const std::shared_ptr<Communicator>& team() const { return context_.team; }
  /// How pixels become numbers, in words: results depend on it.
  std::string preprocessing() const;

 private:
  std::uint64_t cache_bytes() const;
  /// Of the bank of strong views where there is one of weak ones already.
  BankPlan plan_of_bank(const BankPlan* weak) const;
  std::unique_ptr<PixelSource> make_pixels(const Sampler& sampler, std::uint64_t seed,
                                           const BatchStream& stream) const;
  /// Of the training images, those whose views this process's banks hold.
  BankPart bank_part() const;
  /// Bytes that banks in this home take.
  std::uint64_t bank_bytes(BankHome home) const;
  /// Divides memory among what the images of each set need.
  void lay_out();
  void make_windows();
  void say_left_out_views() const;
  std::unique_ptr<TokenBank> make_bank(const BankPlan& plan, const LoaderOptions& loader);

  const Backbone& backbone_;
  const MaterialOptions options_;
  const std::filesystem::path folder_;
  std::filesystem::path features_folder_;
  const Context& context_;
  Placement placement_;
  std::int64_t first_trained_block_;
  LoaderOptions loader_, strong_loader_;
  std::uint64_t cache_bytes_;
  TrainingSet set_;
  std::shared_ptr<const Trunk> trunk_;
  std::optional<BankPlan> bank_plan_, strong_bank_plan_;
  std::map<SampleSet, EvaluationTokens> tokens_;
  std::unique_ptr<ImageWindows>
      windows_;  ///< of the training images, where a GPU cuts views itself
  std::unique_ptr<TokenBank> bank_, strong_bank_;
  mutable std::mutex bank_mutex_;  ///< trainings side by side prepare their epochs, and
  std::mutex tokens_mutex_;        ///< look at whole sets, whose tokens are stored as they do
};

}  // namespace protogcd
