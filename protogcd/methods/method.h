// What a method of category discovery is: what it trains beside the last blocks of the backbone,
// the loss of a step, and the classes it ends with. The loop around it (training/) knows methods by
// this interface alone; a method is one source file and one line of registry.cpp.
//
// A step, in this order, once for each batch of every epoch:
//
//   begin_epoch  once an epoch, on the host: sets the epoch's numbers, may look at whole sets
//   loss         on the device: features of the step's images to a scalar with a graph
//   (gradients, the update)
//   after_update on the device: averages, memories, rows normalised in place
//
// On CUDA `loss` and `after_update` are recorded once as a graph and then only repeated: they must
// always do the same operations on tensors that stay where they are, and read nothing back. A
// number that changes with the epoch reaches them as an EpochScalar; one that is kept in a variable
// would be right on the CPU and frozen on a GPU. tests/training/every_method_test.cpp looks for
// that.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protogcd/core/stop.h"
#include "protogcd/data/sample.h"
#include "protogcd/engine/trunk.h"
#include "protogcd/engine/view_source.h"
#include "protogcd/model/prototypes.h"
#include "protogcd/nn/communicator.h"

namespace protogcd {

/// A number of the epoch, where a recorded step sees it change.
class EpochScalar {
 public:
  EpochScalar(at::ScalarType type, at::Device device);
  void set(double value) { value_.fill_(value); }
  const at::Tensor& operator*() const { return value_; }  ///< [], on the device

 private:
  at::Tensor value_;
};

/// How much of itself a teacher keeps in a step: rises along half a cosine from
/// `last - (1 - base)` to `last` (Vaze et al., NeurIPS 2023).
struct TeacherMomentum {
  double base = 0.7, last = 0.999;

  /// Before step `step` of `steps`, counted from 0.
  double at(std::int64_t step, std::int64_t steps) const;
};

/// A second model that follows the trained one, as an average of what that was: it teaches, it is
/// what evaluations look at, and it is the model that is kept.
struct Teacher {
  /// Its head, by the names and shapes of `Method::parameters`: the tensors themselves. The blocks
  /// are the loop's.
  std::map<std::string, at::Tensor> parameters;
  TeacherMomentum momentum = {};
};

/// What a step draws: so many images, one or two views of each.
struct BatchStream {
  std::int64_t images = 0;  ///< 0: as many as the run's batch size says
  /// Places in the training set (labelled images, then unlabelled) that are drawn from; empty: all.
  std::vector<std::uint32_t> among = {};
  std::int64_t views = 2;  ///< of each image, 1 or 2
  ViewStrength strength = ViewStrength::kWeak;
  /// An earlier stream whose images this one takes too, in the same order, with views of its own.
  std::optional<std::size_t> same_images_as = {};
  bool for_teacher = false;  ///< features are those of the teacher, without a graph
};

/// One stream's part of a step. Row i of features is view 1 of image i, row B + i its view 2, where
/// the stream has two; V B rows in all.
struct StepBatch {
  at::Tensor labels;        ///< [B] int64; any class where not labelled
  at::Tensor labelled;      ///< [B] 1 where the label may be used, else 0
  at::Tensor places = {};   ///< [B] int64: where the images stand in the training set
  TrunkTokens tokens = {};  ///< of the V B rows, before the trained blocks
  /// [V B, D] after them, CLS, not normalised: with a graph, or of the teacher and without one.
  at::Tensor features = {};
};

/// What a step hands back; nothing of it is read on the host before the epoch's end.
struct StepLoss {
  at::Tensor total;                  ///< scalar with a graph: this process's share of the loss
  std::vector<at::Tensor> reported;  ///< scalars, those of `Method::reported` but for kSchedule
};

enum class ReportedKind {
  kLoss,     ///< a term of the loss, mean over the epoch's steps: each process gives its share
  kShare,    ///< another number of a step, mean over the epoch's steps and over processes
  kSchedule  ///< a number of the epoch
};

/// A number that a method tells about its training: metrics.jsonl, TensorBoard and report follow
/// from this list.
struct ReportedValue {
  std::string name;
  ReportedKind kind = ReportedKind::kLoss;
};

/// Whole sets of images, as the trained blocks see their centre views at this moment.
class SetFeatures {
 public:
  virtual ~SetFeatures() = default;
  virtual std::int64_t count(SampleSet set) const = 0;
  /// Hands out batches of features [b, D] (CLS, not normalised, no graph) in order, on the device.
  virtual void for_each(SampleSet set, const std::function<void(const at::Tensor&)>& use) = 0;
  /// Of the labelled images, [N_l] int64 on the CPU.
  virtual at::Tensor labels() const = 0;
  /// What is made of them may take long: it looks here and throws InterruptedError.
  virtual StopToken stop() const { return {}; }
};

/// All features of a set as unit rows, on the CPU in float32: [N, D], or [0] where it is empty.
at::Tensor unit_features(SetFeatures& sets, SampleSet set);

struct EpochInput {
  std::int64_t epoch = 0;
  std::int64_t images_per_step = 0;  ///< of the first stream, over all processes
  /// The run goes on in the middle of the epoch: what was decided when it began is in `state`.
  bool is_resumed = false;
  SetFeatures& sets;
};

class Method;

/// What a run takes from the head of an earlier one; the blocks are the loop's to take.
struct TakenHead {
  /// [K, D] on the CPU: directions of this run's classes, a row of zeros where the earlier run had
  /// no such class; undefined: none is taken.
  at::Tensor prototypes = {};
  std::map<std::string, at::Tensor> parameters = {};  ///< of its method, but for the prototypes

  bool has_every_class() const;
  /// Whether the earlier run's classes stay what they were: all of this run's, or beside its old
  /// ones, so many, some of its new ones.
  bool keeps_classes(std::int64_t old_classes) const;
  /// Puts it into a method that has just been made: its parameters of the same name and shape, and
  /// directions where it has prototypes. Returns the names of those parameters.
  std::vector<std::string> give_to(const Method& method) const;
};

/// What a method is made for.
struct MethodInput {
  std::int64_t width = 0;            ///< D
  std::vector<std::string> classes;  ///< names, the old ones first
  std::int64_t old_classes = 0;
  std::int64_t labelled = 0, unlabelled = 0;         ///< images trained on
  std::vector<std::int64_t> labelled_of_class = {};  ///< [K_old]
  /// The class that each unlabelled image begins in; empty: the method finds its own beginning.
  std::vector<std::int32_t> first_classes = {};
  /// The group of each image that is trained on, by its place, where the method's options ask for
  /// groups.
  std::vector<std::int32_t> groups = {};
  std::int64_t batch = 0;  ///< images of the run's batches
  /// For a method that has to know of it; what it puts into parameters the caller puts there.
  TakenHead taken = {};
  std::int64_t epochs = 0;
  std::uint64_t seed = 0;
  at::ScalarType type = at::kFloat;
  at::Device device = at::kCPU;

  std::int64_t k() const { return static_cast<std::int64_t>(classes.size()); }
};

class Method {
 public:
  virtual ~Method() = default;

  /// Tensors that the optimiser changes, beside the trained blocks: the tensors themselves.
  virtual std::map<std::string, at::Tensor> parameters() const = 0;
  /// Those parameters or kept tensors that have a row for each class, by name, the prototypes [K,
  /// D] first: of an earlier run only the directions of prototypes are taken there. Empty: classes
  /// are clusters, numbered as MethodInput::taken says.
  virtual std::vector<std::string> of_classes() const { return {}; }
  /// Tensors that are kept from step to step but not optimised; they stay where they are, and a
  /// checkpoint holds them.
  virtual std::map<std::string, at::Tensor> state() const { return {}; }
  /// Nothing: what is trained is what is kept. The loop makes teacher and trained model equal
  /// before the first step, and lets the teacher follow after each update.
  virtual std::optional<Teacher> teacher() const { return std::nullopt; }
  /// What a step draws. The first stream's images are the run's batches: they count the steps.
  virtual std::vector<BatchStream> streams() const { return {BatchStream{}}; }
  virtual std::vector<ReportedValue> reported() const = 0;

  /// Returns the epoch's numbers: the values of kSchedule, in the order of `reported`. Where it
  /// throws InterruptedError (SetFeatures::stop), the run goes on with the same epoch later: what
  /// it had changed by then must not change what it comes to.
  virtual std::vector<double> begin_epoch(const EpochInput& epoch) = 0;
  /// Places of the images that a stream draws in an epoch that has begun, `batches` times `batch`
  /// of them, step after step; depends on the state and its arguments alone. Empty: half labelled,
  /// by chance, as ever.
  virtual std::vector<std::uint32_t> draws(std::size_t /*stream*/, std::int64_t /*epoch*/,
                                           std::size_t /*batches*/, std::size_t /*batch*/) const {
    return {};
  }
  /// With several processes each gives its share: the shares add up to the loss of all batches.
  virtual StepLoss loss(const std::vector<StepBatch>& batches, Communicator& communicator) = 0;
  virtual void after_update() {}

  /// The classes as they stand now.
  virtual Outcome outcome(SetFeatures& sets) const = 0;
};

}  // namespace protogcd
