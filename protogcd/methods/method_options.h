// What a method can be told: declared beside its struct, and found by the method's name.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protogcd/core/options.h"
#include "protogcd/methods/method.h"

namespace protogcd {

/// What defaults of a method may depend on.
struct MethodFacts {
  std::int64_t epochs = 0;
  bool has_builtin_backbone = false;
  bool as_published = true;  ///< settings of the publication rather than our own
};

/// A value that an option had in published runs.
struct PublishedSetting {
  std::string key, value;
};

struct FirstStage;

class MethodOptions {
 public:
  virtual ~MethodOptions() = default;
  virtual std::string name() const = 0;
  virtual std::unique_ptr<MethodOptions> copy() const = 0;

  /// Adds its options to those of every training.
  virtual void declare(OptionTable& table) = 0;
  /// Gives values to what nobody has set; depends on nothing but itself and the facts. Returns in
  /// words what was decided because of them.
  virtual std::vector<std::string> resolve(const MethodFacts&) { return {}; }
  /// What its options were in the published runs on a dataset, of those that `resolve` or defaults
  /// might say otherwise.
  virtual std::vector<PublishedSetting> published(const std::string& /*dataset*/) const {
    return {};
  }
  /// Whether it begins with the classes of MethodInput::first_classes.
  virtual bool begins_with_classes() const { return false; }
  /// Turns into the options of a model that is trained only to count classes: cheaper where it can
  /// be. `epochs`: to its end in so many; nothing: the beginning of the full run.
  virtual void become_candidate(std::optional<std::int64_t>) {}
  /// Turns into the options of a whole training of `now` epochs instead of `before`: what was said
  /// in epochs is as much of it as it was.
  virtual void change_epochs(std::int64_t /*before*/, std::int64_t /*now*/) {}
  /// The key of the weight that is worth trying on a collection (discovery/tune.h); empty: none.
  virtual std::string tuned_option() const { return {}; }
  /// What the numbers depend on beside the options' values: the content of a file that one names.
  virtual std::map<std::string, std::string> identity() const { return {}; }
  /// Views of images that a step sees, all of its streams together, where a batch has so many
  /// images: told before there is a method that has streams.
  virtual std::int64_t views_per_step(std::int64_t batch) const { return 2 * batch; }
  /// False: no step is ever taken, `outcome` is all of it, on features of the backbone as it is.
  virtual bool trains() const { return true; }
  /// Whether weight decay is on biases and norms too, as its release has it.
  virtual bool decays_all() const { return false; }
  /// Whether it looks at whole sets of labelled images: their tokens are then kept.
  virtual bool sees_labelled() const { return false; }
  /// Into how many groups of like images (k-means of the features as they are before training) the
  /// images are to be divided: MethodInput::groups.
  virtual std::int64_t groups() const { return 0; }
  /// Whether a stream of its steps asks for strong views (BatchStream::strength): they then have
  /// options, and with a bank one of their own.
  virtual bool sees_strong() const { return false; }
  /// What is trained before it, in the same folder, where it does not go on from another run.
  virtual std::optional<FirstStage> first_stage() const;
  /// UsageError where the options do not fit what the method is made for.
  virtual std::unique_ptr<Method> make(const MethodInput& input) const = 0;
};

/// Some method's options, with the meaning of a value.
class MethodChoice {
 public:
  /// The project's own method.
  MethodChoice();
  template <class Options>
    requires std::derived_from<Options, MethodOptions>
  explicit MethodChoice(const Options& options) : options_(options.copy()) {}
  explicit MethodChoice(std::unique_ptr<MethodOptions> options) : options_(std::move(options)) {}
  MethodChoice(const MethodChoice& other) : options_(other->copy()) {}
  MethodChoice(MethodChoice&&) = default;
  MethodChoice& operator=(MethodChoice other) {
    options_ = std::move(other.options_);
    return *this;
  }

  MethodOptions* operator->() { return options_.get(); }
  const MethodOptions* operator->() const { return options_.get(); }
  MethodOptions& operator*() { return *options_; }
  const MethodOptions& operator*() const { return *options_; }

 private:
  std::unique_ptr<MethodOptions> options_;
};

/// A training of another method whose blocks this one begins with; its head is not taken.
struct FirstStage {
  MethodChoice method;
  std::int64_t epochs = 0;
};

}  // namespace protogcd
