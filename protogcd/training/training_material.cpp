#include "protogcd/training/training_material.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"
#include "protogcd/engine/bank_views.h"
#include "protogcd/engine/borrowed_views.h"
#include "protogcd/model/model.h"
#include "protogcd/run/run_files.h"

namespace protogcd {

namespace fs = std::filesystem;

namespace {

constexpr double kBytesPerGigabyte = 1e9;  // of the option cache_gb

// Free memory is divided beforehand, as what is made first would take it all: the images cached in
// main memory get half of it, the rest is for the computation and for other programs.
constexpr std::uint64_t kCacheParts = 2;
// Of those, half are decoded images of the training set and half tokens of evaluation.
constexpr std::uint64_t kCacheUses = 2;
// Pixels to cut windows from and evaluation tokens get a third each of what the bank leaves on a
// device; a step's own memory is the last third.
constexpr std::uint64_t kDeviceParts = 3;

constexpr const char* kStrongFolder = "strong";  // within that of the weak views' bank

/// What is left of `free` once `taken` is there too.
std::uint64_t left_of(std::uint64_t free, std::uint64_t taken) {
  return free - std::min(free, taken);
}

/// Where the images of a plan's training set stand in that of the run; empty: in the same order.
std::vector<std::uint32_t> order_of(const TrainingPlan& plan, const TrainingSet& set) {
  if (!plan.split) return {};
  std::vector<std::uint32_t> order = plan.split->kept;
  order.insert(order.end(), plan.split->hidden.begin(), plan.split->hidden.end());
  for (std::size_t i = order.size(); i < set.train().size(); ++i)
    order.push_back(static_cast<std::uint32_t>(i));
  return order;
}

}  // namespace

TrainingMaterial::TrainingMaterial(Dataset dataset, const Backbone& backbone,
                                   const MaterialOptions& options, const fs::path& folder,
                                   const BadImagePolicy& policy, const Context& context)
    : backbone_(backbone),
      options_(options),
      folder_(folder),
      context_(context),
      placement_(place(context)),
      first_trained_block_(options.grad_from_block.value_or(backbone.config.depth - 1)),
      loader_(loader_options(backbone.preprocessing, options.reading, placement_.trunk_batch(),
                             context.threads, placement_.device)),
      cache_bytes_(cache_bytes()),
      set_(std::move(dataset), loader_, cache_bytes_ / kCacheUses, policy, context,
           options.looks_at_images),
      trunk_(std::make_shared<const Trunk>(backbone.vit, placement_.frozen, placement_.device,
                                           first_trained_block_)) {
  loader_.cache = &set_.cache();
  strong_loader_ = loader_;
  strong_loader_.strong = options.strong;
  lay_out();
}

void TrainingMaterial::set_aside(std::span<const std::uint32_t> places) {
  if (places.empty()) return;
  set_.set_aside(places);
  lay_out();
}

void TrainingMaterial::lay_out() {
  if (set_.train().empty()) throw DataError("no readable images to train on");
  bank_.reset();
  strong_bank_.reset();
  windows_.reset();
  tokens_.clear();
  if (options_.use_bank) bank_plan_ = plan_of_bank(nullptr);
  if (options_.use_bank && options_.sees_strong) strong_bank_plan_ = plan_of_bank(&*bank_plan_);
  if (placement_.device.is_cuda()) make_windows();
  const std::uint64_t tokens_bytes = placement_.device.is_cuda()
                                         ? left_of(free_memory(placement_.device, context_.process),
                                                   bank_bytes(BankHome::kDevice)) /
                                               kDeviceParts
                                         : cache_bytes_ / kCacheUses;
  const auto wanted = [&](SampleSet set) {
    return set == SampleSet::kLabelled && !options_.sees_labelled ? 0 : set_.count(set);
  };
  constexpr SampleSet kSets[] = {SampleSet::kLabelled, SampleSet::kUnlabelled, SampleSet::kTest,
                                 SampleSet::kCalibration, SampleSet::kAside};
  std::size_t all = 0;
  for (const SampleSet set : kSets) all += wanted(set);
  for (const SampleSet set : kSets) {
    const double share = all == 0 ? 0 : static_cast<double>(wanted(set)) / static_cast<double>(all);
    tokens_.try_emplace(
        set,
        EvaluationTokens(set_.sources(), sources_of(set_.of(set)), *trunk_, loader_,
                         static_cast<std::uint64_t>(share * static_cast<double>(tokens_bytes))));
  }
  if (bank_plan_) {
    say_left_out_views();
    bank_ = make_bank(*bank_plan_, loader_);
  }
  if (strong_bank_plan_) strong_bank_ = make_bank(*strong_bank_plan_, strong_loader_);
}

std::uint64_t TrainingMaterial::cache_bytes() const {
  if (options_.cache_gb) return static_cast<std::uint64_t>(*options_.cache_gb * kBytesPerGigabyte);
  return free_memory(at::kCPU, context_.process) / kCacheParts;
}

BankPart TrainingMaterial::bank_part() const {
  const BankPart part =
      BankPart::of(static_cast<std::size_t>(context_.process.rank),
                   static_cast<std::size_t>(context_.process.size), set_.train().size(),
                   static_cast<std::size_t>(bank_block(placement_.device)));
  if (part.size() > 0) return part;
  throw UsageError(
      fmt::format("a bank of {} images is too small for {} processes, which hold {} images or more "
                  "each",
                  set_.train().size(), context_.process.size, bank_block(placement_.device)),
      fmt::format("start fewer, or use {} fresh", option_name("views")));
}

BankPlan TrainingMaterial::plan_of_bank(const BankPlan* weak) const {
  BankOptions bank = options_.bank;
  bank.process = context_.process;
  bank.all_images = static_cast<std::int64_t>(set_.train().size());
  if (bank.folder.empty()) bank.folder = folder_ / run_files::kBank;
  if (context_.team)
    bank.folder /= fmt::format("part-{}-of-{}", context_.process.rank + 1, context_.process.size);
  if (weak != nullptr) bank.folder /= kStrongFolder;
  if (bank.max_gb && options_.sees_strong) *bank.max_gb /= 2;  // each bank has half of it
  const BankLayout layout{.images = static_cast<std::int64_t>(bank_part().size()),
                          .tokens = backbone_.config.token_count(backbone_.preprocessing.size),
                          .width = backbone_.config.width,
                          .type = placement_.frozen,
                          .with_class_token = first_trained_block_ + 1 == backbone_.config.depth};
  BankPlan plan = plan_bank(bank, layout, placement_.device, weak);
  plan.home = static_cast<BankHome>(largest_of_processes(context_, static_cast<int>(plan.home)));
  return plan;
}

std::uint64_t TrainingMaterial::bank_bytes(BankHome home) const {
  std::uint64_t bytes = 0;
  for (const auto& plan : {bank_plan_, strong_bank_plan_})
    if (plan && plan->home == home) bytes += plan->layout.bytes();
  return bytes;
}

void TrainingMaterial::make_windows() {
  const auto room_on = [&](at::Device device, BankHome home) {
    return left_of(free_memory(device, context_.process), bank_bytes(home)) / kDeviceParts;
  };
  const WindowRoom room{.on_gpu = room_on(placement_.device, BankHome::kDevice),
                        .on_host = room_on(at::kCPU, BankHome::kHost)};
  windows_ = ImageWindows::make(set_.cache(), sources_of(set_.train()), loader_.view.crop,
                                loader_.normalization, placement_.frozen, placement_.device, room);
}

void TrainingMaterial::say_left_out_views() const {
  const BankPlan& plan = *bank_plan_;
  if (plan.layout.views >= plan.views_asked) return;
  const std::uint64_t bytes =
      plan.layout.bytes() + (strong_bank_plan_ ? strong_bank_plan_->layout.bytes() : 0);
  context_.log.warning(fmt::format(
      "{}: {} views instead of {}{}, {}", option_name("bank_max"), plan.layout.views,
      plan.views_asked, strong_bank_plan_ ? ", weak and strong ones each" : "",
      plan.exceeds_limit ? fmt::format("the least there can be; they take {}", human_bytes(bytes))
                         : "as more do not fit"));
}

/// The tokens are computed when the first epoch begins: stopped before, the run can go on.
std::unique_ptr<TokenBank> TrainingMaterial::make_bank(const BankPlan& plan,
                                                       const LoaderOptions& loader) {
  std::map<std::string, std::string> depends_on = {
      {"backbone", fmt::format("{}, {} heads, blocks before {}", backbone_sha256(backbone_.file),
                               backbone_.config.heads, first_trained_block_)},
      {"preprocessing", preprocessing()}};
  if (placement_.tf32) depends_on["products"] = placement_.arithmetic();
  const BankPart part = bank_part();
  return std::make_unique<TokenBank>(
      plan, set_.sources(), sources_of(set_.train().subspan(part.first, part.size())), *trunk_,
      loader, windows_.get(), depends_on, context_, part.first);
}

bool TrainingMaterial::is_shareable() const {
  return bank_ && bank_plan_->refresh == 0 && placement_.device.is_cpu();
}

void TrainingMaterial::prepare_bank(std::int64_t epoch) {
  if (!bank_) return;
  stop_together(context_, [&] {
    bank_->prepare(static_cast<std::uint32_t>(epoch));
    if (strong_bank_) strong_bank_->prepare(static_cast<std::uint32_t>(epoch));
  });
  if (bank_plan_->refresh > 0) return;
  bank_->forget_windows();
  windows_.reset();
}

Sampler stream_sampler(const BatchStream& stream, const DrawnSet& set, std::uint64_t seed) {
  std::vector<std::uint32_t> among = stream.among;
  const std::size_t count = among.empty() ? set.images : among.size();
  const std::size_t batch =
      stream.images > 0 ? static_cast<std::size_t>(stream.images) : std::min(set.batch, count);
  if (among.empty() && set.batches == 0)
    return {set.labelled, set.images - set.labelled, seed, batch};
  if (among.empty()) {
    among.resize(set.images);
    std::iota(among.begin(), among.end(), 0u);
  }
  const std::size_t batches =
      set.batches > 0 ? set.batches : std::max<std::size_t>(1, count / batch);
  return {set.labelled, std::move(among), seed, batch, batches};
}

Sampler TrainingMaterial::make_sampler(const BatchStream& stream, std::uint64_t seed,
                                       std::size_t batches, const TrainingPlan& plan) const {
  Sampler sampler = stream_sampler(
      stream,
      {.labelled = plan.split ? plan.split->kept.size() : set_.count(SampleSet::kLabelled),
       .images = set_.train().size(),
       .batch = static_cast<std::size_t>(options_.batch),
       .batches = batches},
      seed);
  sampler.set_images(order_of(plan, set_));
  sampler.share(static_cast<std::size_t>(context_.process.rank),
                static_cast<std::size_t>(context_.process.size));
  return sampler;
}

/// A GPU cuts weak views itself; strong ones are the CPU's.
std::unique_ptr<PixelSource> TrainingMaterial::make_pixels(const Sampler& sampler,
                                                           std::uint64_t seed,
                                                           const BatchStream& stream) const {
  const auto views = static_cast<std::size_t>(stream.views);
  const bool is_strong = stream.strength == ViewStrength::kStrong;
  if (windows_ && !is_strong) return make_cut_pixels(*windows_, sampler, seed, views);
  return make_loaded_pixels(set_.sources(), sources_of(set_.train()), sampler,
                            is_strong ? strong_loader_ : loader_, seed, views);
}

std::unique_ptr<ViewSource> TrainingMaterial::make_views(const Sampler& sampler, std::uint64_t seed,
                                                         const TrainingPlan& plan,
                                                         const BatchStream& stream) const {
  const bool is_strong = stream.strength == ViewStrength::kStrong;
  if (stream.views != 1 && stream.views != 2) throw InternalError("a stream of 1 or 2 views");
  if (is_strong && !options_.sees_strong)
    throw InternalError("strong views that MethodOptions::sees_strong does not announce");
  std::unique_ptr<ViewSource> views;
  if (bank_ && !plan.fresh_views) {
    TokenBank& bank = is_strong ? *strong_bank_ : *bank_;
    const auto prepare = [this, &bank](std::uint32_t epoch) -> const BankStore& {
      const std::lock_guard lock(bank_mutex_);
      stop_together(context_, [&] { bank.prepare(epoch); });
      return bank.store();
    };
    const auto count = static_cast<std::size_t>(stream.views);
    if (context_.team) {
      views = std::make_unique<SharedBankViews>(
          prepare, set_.train().size(), static_cast<std::size_t>(bank_plan_->layout.block), sampler,
          seed, placement_.device, count, context_.team);
    } else {
      views = std::make_unique<BankViews>(prepare, sampler, seed, placement_.device, count);
    }
  } else {
    views = std::make_unique<FreshViews>(make_pixels(sampler, seed, stream), sampler, *trunk_,
                                         placement_.trunk_batch(), placement_.device);
    if (plan.kept) views = std::make_unique<KeptViews>(std::move(views), plan.kept, seed);
  }
  // What is borrowed is the difference of two weak crops: a stream of one view has none to lend,
  // and strong views differ by more than crops do.
  const double borrow = plan.borrow.value_or(options_.borrow.value_or(0));
  if (borrow == 0 || is_strong || stream.views == 1) return views;
  return std::make_unique<BorrowedViews>(std::move(views), sampler, borrow,
                                         backbone_.config.epsilon, seed, placement_.device,
                                         context_.team);
}

std::shared_ptr<KeptTokens> TrainingMaterial::make_kept_tokens() const {
  if (placement_.device.is_cuda()) return nullptr;
  return std::make_shared<KeptTokens>(
      std::min(cache_bytes_, free_memory(at::kCPU, context_.process)) / kCacheUses);
}

StepBatch TrainingMaterial::labels_of(const Sampler& sampler, std::int64_t epoch,
                                      const TrainingPlan& plan) const {
  const auto rows = static_cast<std::int64_t>(sampler.rows()),
             steps = static_cast<std::int64_t>(sampler.batches_per_epoch());
  at::Tensor labels = at::empty({steps, rows}, at::kLong),
             labelled = at::empty({steps, rows}, at::kFloat),
             places = at::empty({steps, rows}, at::kLong);
  const auto label = [&](std::size_t drawn) {
    if (!plan.split) return std::max(set_.train()[drawn].label, 0);
    return drawn < plan.split->labels.size() ? plan.split->labels[drawn] : 0;
  };
  for (std::int64_t i = 0; i < steps * rows; ++i) {
    const std::size_t drawn = sampler.draw(
        static_cast<std::uint32_t>(epoch),
        sampler.position(static_cast<std::size_t>(i / rows), static_cast<std::size_t>(i % rows)));
    labels.data_ptr<std::int64_t>()[i] = label(drawn);
    labelled.data_ptr<float>()[i] = sampler.is_labelled(drawn) ? 1 : 0;
    places.data_ptr<std::int64_t>()[i] = static_cast<std::int64_t>(drawn);
  }
  return {.labels = labels.to(placement_.device),
          .labelled = labelled.to(placement_.device, placement_.trained),
          .places = places.to(placement_.device)};
}

MethodInput TrainingMaterial::method_input(std::int64_t k, std::int64_t epochs, std::uint64_t seed,
                                           const TrainingPlan& plan) const {
  MethodInput input{.width = backbone_.config.width,
                    .classes = class_names(set_.dataset().old_names(), k),
                    .old_classes = static_cast<std::int64_t>(set_.dataset().old_classes),
                    .labelled = static_cast<std::int64_t>(set_.count(SampleSet::kLabelled)),
                    .unlabelled = static_cast<std::int64_t>(set_.count(SampleSet::kUnlabelled)),
                    .labelled_of_class = labelled_of_class(set_),
                    .batch = options_.batch,
                    .epochs = epochs,
                    .seed = seed,
                    .type = placement_.trained,
                    .device = placement_.device};
  if (!plan.split) return input;
  const HiddenSplit& split = *plan.split;
  const std::vector<std::string> names = set_.dataset().old_names();
  for (std::size_t c = 0; c < names.size(); ++c)
    input.classes[static_cast<std::size_t>(split.numbers[c])] = names[c];
  input.old_classes = static_cast<std::int64_t>(split.old_classes);
  input.labelled = static_cast<std::int64_t>(split.kept.size());
  input.unlabelled += static_cast<std::int64_t>(split.hidden.size());
  input.labelled_of_class.assign(split.old_classes, 0);
  for (const std::int32_t label : split.labels)
    ++input.labelled_of_class[static_cast<std::size_t>(label)];
  return input;
}

void TrainingMaterial::for_each_rows(SampleSet set, const Context& context,
                                     const std::function<at::Tensor(const TrunkTokens&)>& compute,
                                     const std::function<void(const at::Tensor& rows)>& use,
                                     std::size_t first) {
  const std::lock_guard lock(tokens_mutex_);
  tokens(set).for_each_rows(context, compute, use, first);
}

EvaluationTokens& TrainingMaterial::tokens(SampleSet set) {
  return tokens_.at(set);
}

std::string TrainingMaterial::preprocessing() const {
  const Preprocessing& pixels = backbone_.preprocessing;
  return fmt::format("size {}, mean {}, std {}, upright {}, fast decoding {}", pixels.size,
                     join(pixels.mean, " "), join(pixels.deviation, " "),
                     options_.reading.apply_orientation, options_.reading.fast_decode);
}

}  // namespace protogcd
