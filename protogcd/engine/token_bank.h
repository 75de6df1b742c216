// The token bank: trunk tokens of V random views of every image, computed once, so that a step of
// training costs no pass through the trunk. docs/token-bank.md has sizes and figures.
//
//   const BankPlan plan = plan_bank(options, layout, device);
//   TokenBank bank(plan, sources, images, trunk, loader, windows, identity, context);
//   bank.prepare(epoch);   // computes what is missing, which is all of it only once
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/engine/bank_store.h"
#include "protogcd/engine/image_loader.h"
#include "protogcd/engine/image_windows.h"
#include "protogcd/engine/trunk.h"

namespace protogcd {

enum class BankHome { kAuto, kDevice, kHost, kFile };

struct BankOptions {
  std::int64_t views = 8;             ///< V, at least 2
  BankHome home = BankHome::kAuto;    ///< kAuto: the first of device, host and file that has room
  std::filesystem::path folder = {};  ///< of a bank in files
  std::optional<double> max_gb = {};  ///< V is lowered to fit, not below 2
  ProcessPlace process = {};          ///< one of several has a part of the bank,
  std::int64_t all_images = 0;        ///< which is of so many; V is what fits of the whole
  std::int64_t refresh = 0;  ///< epochs between redrawing one view of every image; 0: never
};

/// How the bank is made: what was asked for, fitted to the machine.
struct BankPlan {
  BankLayout layout;
  BankHome home = BankHome::kHost;  ///< never kAuto
  at::Device device = at::kCPU;     ///< of kDevice
  std::filesystem::path folder;
  std::int64_t refresh = 0;
  std::int64_t views_asked = 0;  ///< more than layout.views where they did not fit
  bool exceeds_limit = false;    ///< even two views are more than --bank-max

  /// How often slot `view` was redrawn when epoch `epoch` begins: refresh k = 1, 2, ... comes with
  /// epoch k * refresh and redraws slot (k - 1) mod V. What a slot holds depends on the seed and
  /// this number k of its last refresh (0: none) alone, so that a resumed run finds it again.
  std::uint32_t generation(std::int64_t view, std::uint32_t epoch) const;
};

/// Images whose tokens are computed together.
std::int64_t bank_block(at::Device device);

/// `layout.views` and `layout.block` are set here, in all processes alike. `beside`: another bank,
/// whose memory is taken.
BankPlan plan_bank(const BankOptions& options, BankLayout layout, at::Device device,
                   const BankPlan* beside = nullptr);

class TokenBank {
 public:
  /// `images`: the source of each sample, or of a part of them, of which the first is sample
  /// `first_image`: what a view is drawn from is the sample's number; `windows`, where given, has
  /// them for a GPU, but strong views are the loader's. `identity` names what the tokens depend on
  /// beside images, seed, layout and recipe of strong views ("backbone" -> a digest). All
  /// references must outlive it.
  TokenBank(BankPlan plan, const SourceTable& sources, std::vector<std::uint32_t> images,
            const Trunk& trunk, const LoaderOptions& loader, const ImageWindows* windows,
            std::map<std::string, std::string> identity, const Context& context,
            std::size_t first_image = 0);

  const BankPlan& plan() const { return plan_; }
  /// Computes what is missing for this epoch; the first call says size and time beforehand. Asked
  /// to stop, it throws InterruptedError; a bank in files keeps what is done.
  void prepare(std::uint32_t epoch);
  /// No view is computed any more, so that the images may go.
  void forget_windows() { windows_ = nullptr; }
  /// After the first `prepare`.
  const BankStore& store() const { return *store_; }

  /// The random numbers of a view of `images[image]`.
  RandomKey view_key(std::size_t image, std::int64_t view, std::uint32_t generation) const;

 private:
  struct Group;

  void open();
  std::vector<Group> missing(std::uint32_t epoch) const;
  std::string name() const;
  void say_plan(std::uint64_t missing_views) const;
  double seconds_of_trunk(std::int64_t rows) const;
  double seconds_of_loading(std::int64_t rows) const;
  void compute(const Group& group, class Progress& progress);
  void compute_on_gpu(const Group& group, class Progress& progress);
  void stop_if_asked();

  BankPlan plan_;
  const SourceTable& sources_;
  std::vector<std::uint32_t> images_;
  const Trunk& trunk_;
  LoaderOptions loader_;
  const ImageWindows* windows_;
  std::map<std::string, std::string> identity_;
  const Context& context_;
  const std::size_t first_image_;
  std::unique_ptr<BankStore> store_;
};

/// Names images: their paths, sizes and times of change.
std::string images_digest(const SourceTable& sources, const std::vector<std::uint32_t>& images);

}  // namespace protogcd
