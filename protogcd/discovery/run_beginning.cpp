#include "protogcd/discovery/run_beginning.h"

#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/version.h"
#include "protogcd/nn/device.h"
#include "protogcd/nn/state_file.h"
#include "protogcd/run/run_notes.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJob = "job";  // of run.json
constexpr const char* kKinds[] = {"loss", "share", "schedule"};

/// Float sums depend on these: a run resumed elsewhere goes on, but not to the same bits.
std::map<std::string, std::string> environment_of(const Placement& placement,
                                                  const Context& context) {
  return {{"device", placement.device.is_cuda() ? "cuda" : "cpu"},
          {"threads", std::to_string(context.threads)},
          {"cpu", cpu_capability()},
          {"torch", torch_version()},
          {"protogcd", kVersion}};
}

/// A bank that another number of processes left in files: nobody reads it, and it may be large.
void remove_other_banks(const fs::path& bank, int processes) {
  if (!fs::is_directory(bank)) return;
  const std::string ours = fmt::format("-of-{}", processes);
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(bank)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("part-") ? !name.ends_with(ours) : processes > 1)
      others.push_back(entry.path());
  }
  for (const fs::path& other : others) remove_folder(other);
}

void add_to_run_file(const RunFolder& folder, const nlohmann::json& more) {
  auto json = parse_json_or_discard(read_text_file(folder.machine()));
  if (!json.is_object()) json = nlohmann::json::object();
  json.update(more);
  write_file_atomically(folder.machine(), json.dump(2) + "\n");
}

}  // namespace

ModelInfo model_info(const Backbone& backbone, const Dataset& dataset, std::int64_t k,
                     const TrainOptions& options) {
  ModelInfo info = untrained_model_info(backbone, dataset.old_names(), k, options.material.reading);
  info.method = options.method->name();
  if (options.material.grad_from_block)
    info.first_trained_block = *options.material.grad_from_block;
  return info;
}

std::map<std::string, std::string> identity_of(const TrainOptions& options, const ModelInfo& info,
                                               const TrainingMaterial& material,
                                               std::uint64_t seed) {
  std::map<std::string, std::string> identity = identity_of(options);
  const std::optional<BankPlan>& bank = material.bank_plan();
  identity["set of images"] = material.set().digest();
  identity["backbone"] = fmt::format("{}, {} heads, blocks from {}", info.backbone_sha256,
                                     info.backbone_heads, info.first_trained_block);
  identity["preprocessing"] = material.preprocessing();
  identity["number of classes"] = std::to_string(info.k());
  identity["seed"] = std::to_string(seed);
  identity["views that fit into the bank"] = bank ? std::to_string(bank->layout.views) : "no bank";
  identity["dtype"] = material.placement().arithmetic();
  return identity;
}

OpenRun how_to_open(const TrainOptions& options) {
  if (options.resume) return OpenRun::kResume;
  return options.overwrite ? OpenRun::kOverwrite : OpenRun::kNew;
}

void begin_folder(RunFolder& folder, const TrainingMaterial& material, const LabelHistory& history,
                  const TrainOptions& options, const std::string& config, const Context& context) {
  const fs::path run_file = folder.machine();
  std::optional<RunNotes> notes;
  if (options.resume && fs::exists(run_file)) notes = read_run_notes(run_file);
  if (!options.resume) {
    folder.empty();
    const auto &bank = material.bank_plan(), &strong = material.strong_bank_plan();
    const bool in_files =
        (bank && bank->home == BankHome::kFile) || (strong && strong->home == BankHome::kFile);
    if (options.overwrite && bank && !in_files) remove_folder(folder.bank());
    write_file_atomically(folder.config(), config);
    material.set().write_list(folder.images());
  } else if (!fs::exists(folder.images())) {  // the run was killed before it was written
    material.set().write_list(folder.images());
  } else {
    if (const auto difference = material.set().difference_from(folder.images())) {
      throw UsageError(fmt::format("{}: the images are not those that the run was begun with: {}",
                                   option_name("resume"), *difference),
                       fmt::format("put them back, or choose another {}", option_name("out")));
    }
  }
  const auto environment = environment_of(material.placement(), context);
  auto settings = identity_of(options);
  settings["seed"] = std::to_string(context.seed);
  if (notes) {
    // What is found before the first checkpoint must not go on with other settings either.
    if (notes->settings) check_same_run(settings, *notes->settings, /*names_options=*/true);
    for (const auto& [key, value] : environment) {
      const auto before = notes->environment.find(key);
      if (before != notes->environment.end() && before->second != value) {
        context.log.warning(fmt::format(
            "the run was begun with {} {}, now {}: it goes on, but not to the same bits", key,
            before->second, value));
      }
    }
  } else {
    nlohmann::json json = environment;
    json[kFormatKey] = kRunFormat;
    json[kRunSettings] = settings;
    if (!context.process.job.empty()) json[kJob] = context.process.job;
    write_file_atomically(run_file, json.dump(2) + "\n");
  }
  if (context.process.rank == 0) remove_other_banks(folder.bank(), context.process.size);
  const TrainingSet& set = material.set();
  history.write(folder.path(), set.dataset());
  set.skipped().write_if_any(folder.skipped(), set.sources());
}

bool was_begun_by(const fs::path& out, const std::string& job) {
  const fs::path file = out / run_files::kRun;
  if (!fs::exists(file)) return false;
  const RunNotes notes = read_run_notes(file);
  const auto found = notes.environment.find(kJob);
  return found != notes.environment.end() && found->second == job;
}

void note_from(const RunFolder& folder, const TakenFrom& taken) {
  add_to_run_file(folder, {{"from", taken.to_json()}});
}

void note_method(const RunFolder& folder, const std::string& name, const Method& method) {
  auto reported = nlohmann::json::array();
  for (const ReportedValue& value : method.reported())
    reported.push_back(
        {{"name", value.name}, {"kind", kKinds[static_cast<std::size_t>(value.kind)]}});
  add_to_run_file(folder, {{"method", name}, {"reported", std::move(reported)}});
}

}  // namespace protogcd
