#include "protogcd/training/training_loop.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "protogcd/core/error.h"
#include "protogcd/core/event_file.h"
#include "protogcd/core/json.h"
#include "protogcd/core/progress.h"
#include "protogcd/core/text.h"
#include "protogcd/engine/device_clock.h"
#include "protogcd/training/checkpoint.h"
#include "protogcd/training/set_features.h"
#include "protogcd/training/step_runner.h"

namespace protogcd {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr const char* kTotal = "total";

std::map<std::string, at::Tensor> state_of(const Method& method, const TrainStep& step) {
  std::map<std::string, at::Tensor> state = method.state();
  state.merge(step.teacher_state());
  return state;
}

}  // namespace

class TrainingLoop::State {
 public:
  State(const RunFolder& folder, TrainingMaterial& material, TrainedBlocks& blocks, Method& method,
        const LoopOptions& options, std::map<std::string, std::string> identity,
        const Context& context, const TrainingPlan& plan)
      : options_(options),
        context_(context),
        folder_(folder),
        material_(material),
        reported_(method.reported()),
        team_(communicator_of(context)),
        step_(blocks, method, options.sgd, *team_),
        runner_(step_, method, material, context.seed, options.schedule, plan),
        sets_(material, blocks, context, plan),
        kept_{step_.parameters(), step_.optimiser(), state_of(method, step_)},
        identity_(std::move(identity)),
        checkpoints_(folder.checkpoints(), identity_) {}

  double run(bool resume, Clock::time_point started, const Evaluate& evaluate);

 private:
  void begin(bool resume);
  void run_epoch(Progress& progress, const Evaluate& evaluate);
  void after_step(Progress& progress);
  void finish_epoch(Progress& progress, const Evaluate& evaluate, nlohmann::json line,
                    Clock::time_point start);
  void save_checkpoint();
  [[noreturn]] void stop_here();
  std::pair<bool, bool> wishes();
  void make_processes_equal();
  at::Tensor whole_sums();
  at::Tensor in_processes(double share, double loss) const;
  void write_scalars(const nlohmann::json& line);
  bool is_evaluated(std::int64_t epoch) const {
    return (epoch + 1) % options_.eval_every == 0 || epoch + 1 == options_.schedule.epochs;
  }

  const LoopOptions options_;
  const Context& context_;
  const RunFolder& folder_;
  TrainingMaterial& material_;
  const std::vector<ReportedValue> reported_;
  const std::shared_ptr<Communicator> team_;
  TrainStep step_;
  StepRunner runner_;
  MaterialFeatures sets_;
  CheckpointTensors kept_;
  const std::map<std::string, std::string> identity_;
  CheckpointStore checkpoints_;
  std::optional<EventFile> events_;
  TrainingState now_;
  double seconds_before_ = 0;  ///< of the processes before this one
  Clock::time_point started_ = {};
  DeviceClock::Times gpu_times_;  ///< of all epochs of this process
  Clock::time_point last_checkpoint_ = Clock::now();
};

/// The state of the run that is resumed, or a fresh one.
void TrainingLoop::State::begin(bool resume) {
  check_same_work(context_, identity_);
  if (resume) {
    if (auto found = checkpoints_.load(kept_, context_.log)) {
      now_ = std::move(*found);
      seconds_before_ = now_.seconds;
      context_.log.info(fmt::format("resuming at epoch {}, step {}", now_.epoch + 1, now_.step));
    } else {
      context_.log.info("no checkpoint was written yet: starting from the beginning");
    }
    folder_.keep_metrics_before(now_.epoch);
  }
  if (now_.epoch_sums.defined()) runner_.sums().copy_(now_.epoch_sums);
  if (team_->size() > 1) make_processes_equal();
  events_.emplace(folder_.path(), now_.epoch);
}

/// The first process knows where the run stands; the others begin there.
void TrainingLoop::State::make_processes_equal() {
  const at::NoGradGuard no_grad;
  at::Tensor place = at::tensor({now_.epoch, now_.step});
  std::vector<at::Tensor> tensors = {place, runner_.sums(), kept_.parameters.values(),
                                     kept_.optimiser.momentum()};
  for (const auto& [name, tensor] : kept_.state) tensors.push_back(tensor);
  for (at::Tensor& tensor : tensors) team_->broadcast(tensor);
  now_.epoch = place[0].item<std::int64_t>();
  now_.step = place[1].item<std::int64_t>();
  runner_.sums() *= in_processes(1, 1.0 / static_cast<double>(team_->size()));
}

/// [1 + R] a factor for each of a step's numbers: of those that are terms of the loss, of which
/// each process has a part, and of the others.
at::Tensor TrainingLoop::State::in_processes(double share, double loss) const {
  std::vector<double> factors = {loss};
  for (const ReportedValue& value : reported_)
    if (value.kind != ReportedKind::kSchedule)
      factors.push_back(value.kind == ReportedKind::kLoss ? loss : share);
  return at::tensor(factors, at::kDouble).to(material_.placement().device);
}

/// The epoch's sums, of all processes together.
at::Tensor TrainingLoop::State::whole_sums() {
  at::Tensor sums = runner_.sums().clone();
  if (team_->size() == 1) return sums;
  team_->all_reduce(sums);
  return sums * in_processes(1.0 / static_cast<double>(team_->size()), 1);
}

void TrainingLoop::State::save_checkpoint() {
  now_.epoch_sums = whole_sums().to(at::kCPU);
  if (!now_.epoch_sums.isfinite().all().item<bool>()) {
    throw TrainingError(
        fmt::format("training diverged in epoch {}: the loss is not a number", now_.epoch + 1),
        fmt::format("try a lower {}, or higher temperatures; the last checkpoint is from before",
                    option_name("lr")));
  }
  now_.seconds = seconds_before_ + seconds_since(started_);
  if (team_->rank() == 0) checkpoints_.save(kept_, now_);
  last_checkpoint_ = Clock::now();
}

/// Whether to stop, and whether a checkpoint is due: all processes after the same step.
std::pair<bool, bool> TrainingLoop::State::wishes() {
  const bool stop = context_.interrupted(),
             is_due = seconds_since(last_checkpoint_) >= options_.checkpoint_seconds;
  if (team_->size() == 1) return {stop, is_due};
  at::Tensor counts = at::tensor({stop ? 1 : 0, is_due ? 1 : 0}, at::kLong);
  team_->all_reduce(counts);
  return {counts[0].item<std::int64_t>() > 0, counts[1].item<std::int64_t>() > 0};
}

/// `now_` names the next step when this is called.
void TrainingLoop::State::after_step(Progress& progress) {
  progress.add();
  const auto [stop, is_due] = wishes();
  if (stop) throw InterruptedError("stopped between two steps");
  if (is_due) save_checkpoint();
}

/// What `now_` says is whole wherever training can be interrupted: between two steps, as an epoch
/// begins, and while its end is evaluated; several processes stop between two steps alone.
void TrainingLoop::State::stop_here() {
  save_checkpoint();
  throw InterruptedError(
      fmt::format("stopped at epoch {} of {}", now_.epoch + 1, options_.schedule.epochs),
      fmt::format("go on with: {}",
                  context_.command_line({{"out", folder_.path().string()}, {"resume", ""}})));
}

void TrainingLoop::State::run_epoch(Progress& progress, const Evaluate& evaluate) {
  const auto start = Clock::now();
  const std::int64_t epoch = now_.epoch, first = now_.step, steps = runner_.steps_per_epoch();
  nlohmann::json line = {{"epoch", epoch},
                         {"steps", steps},
                         {"learning_rate", learning_rate(options_.schedule, epoch)}};
  const std::vector<double> numbers = runner_.start_epoch(epoch, first, sets_);
  auto number = numbers.begin();
  for (const ReportedValue& value : reported_)
    if (value.kind == ReportedKind::kSchedule) line[value.name] = *number++;
  for (std::int64_t step = first; step < steps; ++step) {
    runner_.run();
    now_.step = step + 1;
    if (step + 1 < steps) after_step(progress);
  }
  finish_epoch(progress, evaluate, std::move(line), start);
}

void TrainingLoop::State::finish_epoch(Progress& progress, const Evaluate& evaluate,
                                       nlohmann::json line, Clock::time_point start) {
  const std::int64_t epoch = now_.epoch;
  const DeviceClock::Times times = runner_.take_times();
  gpu_times_.waited += times.waited;
  gpu_times_.all += times.all;
  const at::Tensor sums = whole_sums();
  if (!sums.isfinite().all().item<bool>()) save_checkpoint();  // says that training diverged
  const auto steps = static_cast<double>(std::max<std::int64_t>(runner_.steps_per_epoch(), 1));
  const at::Tensor means = (sums / steps).to(at::kCPU);
  const double* mean = means.const_data_ptr<double>();
  const double loss = *mean;
  line["train"][kTotal] = *mean++;
  for (const ReportedValue& value : reported_)
    if (value.kind != ReportedKind::kSchedule) line["train"][value.name] = *mean++;
  if (is_evaluated(epoch)) {
    const std::string words = evaluate(line);
    progress.say(fmt::format("epoch {}/{}: loss {:.4f}{}{}", epoch + 1, options_.schedule.epochs,
                             loss, words.empty() ? "" : ", ", words));
  }
  line["seconds"] = seconds_since(start);
  folder_.add_metrics(line);
  write_scalars(line);
  runner_.sums().zero_();
  now_ = {.epoch = epoch + 1, .step = 0, .epoch_sums = {}};
  after_step(progress);
}

void TrainingLoop::State::write_scalars(const nlohmann::json& line) {
  std::vector<Scalar> scalars = {{"schedule/learning_rate", line.at("learning_rate")},
                                 {fmt::format("loss/{}", kTotal), line.at("train").at(kTotal)}};
  for (const ReportedValue& value : reported_) {
    if (value.kind == ReportedKind::kSchedule) {
      scalars.push_back({"schedule/" + value.name, line.at(value.name)});
    } else {
      const char* folder = value.kind == ReportedKind::kLoss ? "loss/" : "train/";
      scalars.push_back({folder + value.name, line.at("train").at(value.name)});
    }
  }
  for (const char* set : {"unlabelled", "test"}) {
    if (!line.contains(set) || !line.at(set).is_object()) continue;
    for (const char* name :
         {"all", "old", "new", "nmi", "ari", "p_old", "p_new", "r_old", "r_new"}) {
      const auto value = line.at(set).at(name).get<double>();
      if (!std::isnan(value)) scalars.push_back({fmt::format("{}/{}", set, name), value});
    }
  }
  events_->write(line.at("epoch"), scalars);
}

double TrainingLoop::State::run(bool resume, Clock::time_point started, const Evaluate& evaluate) {
  started_ = started;
  begin(resume);
  const std::int64_t epochs = options_.schedule.epochs, steps = runner_.steps_per_epoch();
  context_.log.info(
      fmt::format("{} epochs of {} steps of {} images on {}{}, {} in memory", epochs, steps,
                  runner_.images_per_step(),
                  team_->size() > 1 ? fmt::format("{} processes of ", team_->size()) : "",
                  material_.placement().device.is_cuda() ? "the GPU" : "the CPU",
                  human_bytes(material_.set().cache().bytes())));
  if (now_.epoch < epochs) material_.prepare_bank(now_.epoch);
  {
    const std::int64_t done = now_.epoch * steps + now_.step;
    Progress progress("train",
                      static_cast<std::uint64_t>(std::max<std::int64_t>(epochs * steps - done, 0)),
                      "steps", context_.progress());
    try {
      while (now_.epoch < epochs) run_epoch(progress, evaluate);
    } catch (const InterruptedError&) {
      stop_here();
    }
  }
  save_checkpoint();
  if (gpu_times_.all > 0) {
    context_.log.info(fmt::format("the GPU waited for {:.1f}% of the {} that steps took",
                                  100 * gpu_times_.waited / gpu_times_.all,
                                  human_seconds(gpu_times_.all)));
  }
  return seconds_before_;
}

TrainingLoop::TrainingLoop(const RunFolder& folder, TrainingMaterial& material,
                           TrainedBlocks& blocks, Method& method, const LoopOptions& options,
                           std::map<std::string, std::string> identity, const Context& context,
                           const TrainingPlan& plan)
    : state_(std::make_unique<State>(folder, material, blocks, method, options, std::move(identity),
                                     context, plan)) {}

TrainingLoop::~TrainingLoop() = default;

double TrainingLoop::run(bool resume, Clock::time_point started, const Evaluate& evaluate) {
  return state_->run(resume, started, evaluate);
}

}  // namespace protogcd
