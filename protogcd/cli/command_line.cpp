#include "protogcd/cli/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>

#include "protogcd/cli/terminal.h"
#include "protogcd/core/bad_image_policy.h"
#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/core/thread_pool.h"
#include "protogcd/core/version.h"
#include "protogcd/run/run_files.h"

namespace protogcd::cli {
namespace {

constexpr const char* kProgram = "protogcd";

std::string option_help(const Option& option) {
  const std::string value = option.to_toml();
  const bool has_default = !option.is_switch() && !option.is_required() && !value.empty() &&
                           value != "\"\"" && value != "[]";
  return has_default ? fmt::format("{} (default {})", option.help(), value) : option.help();
}

/// Declares one option to CLI11. Values are only collected here; checking them is the table's work.
/// A list takes several values after one flag, unless `one_value_each`: then it repeats its flag. A
/// list without a flag takes all that is left.
CLI::Option* add_to_parser(CLI::App& app, const Option& option, bool one_value_each) {
  const std::string help = option_help(option);
  if (option.is_switch()) return app.add_flag(option.flag(), help);
  const auto accept = [](const CLI::results_t&) { return true; };
  const std::string name = option.is_positional() ? option.key() : option.flag();
  CLI::Option* parsed = app.add_option(name, accept, help);
  parsed->type_name(option.value_name());
  parsed->expected(1, option.is_list() ? CLI::detail::expected_max_vector_size : 1);
  parsed->allow_extra_args(option.is_list() && (option.is_positional() || !one_value_each));
  return parsed->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

/// An argument no option takes: says which, and what was probably meant.
[[noreturn]] void throw_unexpected(const std::string& argument, const OptionTable& table,
                                   const std::string& verb) {
  if (!argument.starts_with("-")) {
    throw UsageError(fmt::format("unexpected argument '{}'", argument),
                     fmt::format("see: {} {} --help", kProgram, verb));
  }
  std::vector<std::string> flags;
  for (const auto& option : table.options()) {
    if (!option.is_positional()) flags.push_back(option.flag());
  }
  const std::string flag = argument.substr(0, argument.find('='));
  std::string key = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  std::ranges::replace(key, '-', '_');
  const std::string whose = table.explanation(key);
  throw UsageError(
      fmt::format("unknown option '{}'{}", flag, whose.empty() ? did_you_mean(flag, flags) : whose),
      fmt::format("see: {} {} --help", kProgram, verb));
}

LogLevel parse_log_level(const std::string& name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "error") return LogLevel::kError;
  return LogLevel::kInfo;
}

std::string overview(const std::vector<Verb>& verbs) {
  std::string text = fmt::format(
      "protogcd {}: finds the categories hiding in a half-labelled image collection\n\n"
      "Usage: protogcd VERB [OPTIONS]\n\nVerbs:\n",
      kVersion);
  std::size_t width = 0;
  for (const auto& verb : verbs) width = std::max(width, verb.name.size());
  for (const auto& verb : verbs)
    text += fmt::format("  {:{}}  {}\n", verb.name, width, verb.summary);
  text +=
      "\nEvery verb has its own help: protogcd VERB --help\n"
      "Example: protogcd datasets make-demo --out demo\n";
  return text;
}

/// For somebody who has typed the program's name to see what happens.
std::string first_steps() {
  return fmt::format(
      "protogcd {}: finds the categories hiding in a half-labelled image collection\n\n"
      "Your photographs. Those whose class you know lie in a folder for each class, "
      "SORTED/cat/...,\n"
      "SORTED/dog/...; the others in any folder, REST.\n"
      "  1. protogcd datasets info --labelled SORTED --unlabelled REST\n"
      "     shows what the program sees in these folders\n"
      "  2. protogcd weights get dino-vits16\n"
      "     fetches a backbone, the network that has learned to see, once (87 MB); with a GPU\n"
      "     take dino-vitb16 (343 MB); all of them: protogcd weights list\n"
      "  3. protogcd discover --labelled SORTED --unlabelled REST --backbone dino-vits16 --out "
      "run\n"
      "     then open run/report.html; a stopped run goes on with: --out run --resume; with\n"
      "     --quick a first look in seconds, without training\n"
      "\n"
      "Nothing at hand? These need no download; the built-in backbone knows drawn shapes like "
      "them:\n"
      "  protogcd datasets make-demo --out demo\n"
      "  protogcd discover --labelled demo/labelled --unlabelled demo/unlabelled --epochs 60 --out "
      "run\n\n"
      "All verbs: protogcd --help. Every verb has its own help: protogcd discover --help\n",
      kVersion);
}

bool is_help(const std::string& argument) {
  return argument == "--help" || argument == "-h";
}

/// The verb with the most words that the arguments begin with; nullptr if none.
const Verb* find_verb(const std::vector<std::string>& arguments, const std::vector<Verb>& verbs) {
  const Verb* best = nullptr;
  for (const auto& verb : verbs) {
    const auto words = split(verb.name, ' ');
    if (words.size() <= arguments.size() &&
        std::equal(words.begin(), words.end(), arguments.begin()) &&
        (best == nullptr || verb.name.size() > best->name.size())) {
      best = &verb;
    }
  }
  return best;
}

/// No verb fits: help for a group ("datasets --help"), or an error that names the nearest verb.
int explain_missing_verb(const std::vector<std::string>& arguments,
                         const std::vector<Verb>& verbs) {
  std::vector<Verb> group;
  for (const auto& verb : verbs) {
    if (verb.name.starts_with(arguments.front() + " ")) group.push_back(verb);
  }
  if (!group.empty() && (arguments.size() == 1 || is_help(arguments[1]))) {
    fmt::print("{}", overview(group));
    return 0;
  }
  std::vector<std::string> names;
  std::string given = arguments.front();
  for (const auto& verb : group.empty() ? verbs : group) names.push_back(verb.name);
  if (!group.empty()) given += " " + arguments[1];
  throw UsageError(fmt::format("unknown verb '{}'{}", given, did_you_mean(given, names)),
                   "see: protogcd --help");
}

/// The host's context with what the options say of the machine.
Context context_of(const CommonOptions& common, Context host) {
  host.device = common.device;
  host.dtype = common.dtype;
  host.threads =
      common.threads > 0 ? static_cast<std::size_t>(common.threads) : available_threads();
  host.seed = common.seed;
  return host;
}

int dispatch(const std::vector<std::string>& arguments, const std::vector<Verb>& verbs) {
  if (arguments.empty()) {
    fmt::print("{}", first_steps());
    return static_cast<int>(ErrorKind::kUsage);
  }
  if (is_help(arguments.front())) {
    fmt::print("{}", overview(verbs));
    return 0;
  }
  if (arguments.front() == "--version") {
    fmt::print("protogcd {}\n", kVersion);
    return 0;
  }
  const Verb* verb = find_verb(arguments, verbs);
  if (verb == nullptr) return explain_missing_verb(arguments, verbs);

  const auto words = static_cast<std::ptrdiff_t>(split(verb->name, ' ').size());
  const std::vector<std::string> own(arguments.begin() + words, arguments.end());
  DeclaredVerb declared(*verb, own);
  resolve_options(declared, own);
  const LogLevel level = parse_log_level(declared.common.log_level);
  Session session{
      .context = context_of(
          declared.common, {.log = stderr_log(level),
                            .progress_sink = level <= LogLevel::kInfo ? stderr_progress() : nullptr,
                            .command = fmt::format("{} {}", kProgram, verb->name)}),
      .common = declared.common,
      .options = declared.table};
  declared.action(session);
  return 0;
}

int report(const std::string& message, const std::string& hint, ErrorKind kind) {
  const char* prefix = kind == ErrorKind::kInterrupted ? "" : "error: ";
  fmt::print(stderr, "protogcd: {}{}\n", prefix, one_line(message));
  if (hint.empty()) return static_cast<int>(kind);
  // A list has its own lines; all are indented, so that none passes for another message.
  for (const std::string& line : split(hint, '\n'))
    fmt::print(stderr, "  {}\n", one_line(trim(line)));
  return static_cast<int>(kind);
}

}  // namespace

void declare_common_options(OptionTable& table, CommonOptions& options) {
  table.begin_group("Machine");
  table.add("config", &options.config, "take options from this TOML file; flags win")
      .flag_only()
      .value_name("FILE.toml");
  declare_machine_options(table, options);
  table.add("log_level", &options.log_level, "how much to say on stderr")
      .one_of({"debug", "info", "warning", "error"})
      .flag_only();
  table.add("json", &options.json, "print the result as one JSON object on stdout").flag_only();
}

void Session::print_json(const nlohmann::json& object) const {
  if (answer) return answer(object);
  // Names of files need not be UTF-8; a replacement character keeps the object valid.
  say_data(object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

namespace {

/// The value of a flag as it stands among the arguments; empty where it does not.
std::string value_of(const std::string& flag, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == flag && i + 1 < arguments.size()) return arguments[i + 1];
    if (arguments[i].starts_with(flag + "=")) return arguments[i].substr(flag.size() + 1);
  }
  return {};
}

bool is_switched_on(const std::string& key, const std::vector<std::string>& arguments) {
  const std::string flag = "--" + kebab_case(key);
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return argument == flag || argument == flag + "=true";
  });
}

/// Which variant of the verb is meant: by flag or switch, by the file of --config, or by the run
/// that is resumed.
std::string chosen_variant(const Verb& verb, const std::vector<std::string>& arguments) {
  std::string chosen = value_of("--" + kebab_case(verb.variant_key), arguments);
  if (verb.variant_switch && is_switched_on(verb.variant_switch->key, arguments)) {
    if (!chosen.empty()) {
      throw UsageError(fmt::format("--{} and --{} contradict each other", verb.variant_switch->key,
                                   kebab_case(verb.variant_key)),
                       fmt::format("--{0} is --{1} {2}", verb.variant_switch->key,
                                   kebab_case(verb.variant_key), verb.variant_switch->variant));
    }
    return verb.variant_switch->variant;
  }
  const auto ask = [&](const std::filesystem::path& file) {
    if (chosen.empty() && std::filesystem::is_regular_file(file))
      chosen = toml_scalars(file)[verb.variant_key];
  };
  const std::filesystem::path config = value_of("--config", arguments);
  ask(config);
  const bool resumes = is_switched_on("resume", arguments);
  std::string out = value_of("--out", arguments);
  if (out.empty() && std::filesystem::is_regular_file(config)) out = toml_scalars(config)["out"];
  if (resumes && !out.empty()) ask(std::filesystem::path(out) / run_files::kConfig);
  if (chosen.empty()) return verb.variants.front();
  if (std::ranges::find(verb.variants, chosen) == verb.variants.end()) {
    throw UsageError(fmt::format("--{}: there is no '{}'{}", kebab_case(verb.variant_key), chosen,
                                 did_you_mean(chosen, verb.variants)),
                     fmt::format("known: {}", join(verb.variants, ", ")));
  }
  return chosen;
}

}  // namespace

DeclaredVerb::DeclaredVerb(const Verb& definition, const std::vector<std::string>& arguments)
    : verb(definition) {
  action = verb.variants.empty() ? verb.declare(table)
                                 : verb.declare_variant(table, chosen_variant(verb, arguments));
  if (!verb.variants.empty()) {
    const std::string asked = value_of("--" + kebab_case(verb.variant_key), arguments);
    if (!asked.empty()) asked_group = fmt::format("{} {}", verb.variant_group, asked);
  }
  declare_common_options(table, common);
}

AllVariants::AllVariants(const Verb& verb) {
  if (verb.variants.empty()) {
    declared_.push_back(std::make_unique<DeclaredVerb>(verb));
  } else {
    const std::string flag = "--" + kebab_case(verb.variant_key);
    for (const std::string& variant : verb.variants)
      declared_.push_back(
          std::make_unique<DeclaredVerb>(verb, std::vector<std::string>{flag, variant}));
  }
  for (const auto& declared : declared_) {
    for (Option& option : declared->table.options())
      if (find(option.key()) == nullptr) options_.push_back(&option);
  }
}

Option* AllVariants::find(std::string_view key) const {
  const auto found =
      std::ranges::find_if(options_, [&](const Option* option) { return option->is_called(key); });
  return found == options_.end() ? nullptr : *found;
}

std::vector<std::string> AllVariants::file_keys() const {
  std::vector<std::string> keys;
  for (const Option* option : options_)
    if (option->in_file()) keys.push_back(option->key());
  return keys;
}

namespace {

/// A run that is resumed has its configuration in its folder; flags win over it.
void apply_resumed_configuration(OptionTable& table) {
  const Option *resume = table.find("resume"), *out = table.find("out");
  if (resume == nullptr || out == nullptr || resume->source() != OptionSource::kFlag ||
      out->source() == OptionSource::kDefault) {
    return;
  }
  const std::filesystem::path run = out->text(), file = run / run_files::kConfig;
  if (std::filesystem::is_regular_file(file)) return table.apply_toml_file(file);
  // An embedding that is resumed has a file of features for its --out.
  if (std::filesystem::is_directory(run) || out->value_name() == "RUN") {
    throw UsageError(fmt::format("--resume: there is no run in '{}'", run.string()),
                     "leave out --resume to start one");
  }
}

}  // namespace

namespace {

/// Of a verb with more options than these, `--help` shows those that people use.
constexpr std::size_t kOneScreen = 36;

/// Puts the options into their groups; without `all`, those that few people need are not shown.
void arrange_help(CLI::App& app, const DeclaredVerb& declared,
                  const std::vector<std::pair<Option*, CLI::Option*>>& options, bool all) {
  const Verb& verb = declared.verb;
  std::string footer = "Example:\n  " + verb.example;
  const bool shortened = !all && options.size() > kOneScreen;
  std::size_t hidden = 0;
  for (const auto& [option, parsed] : options) {
    const bool shown = !shortened || option->is_usual() ||
                       (!declared.asked_group.empty() && option->group() == declared.asked_group);
    hidden += shown ? 0 : 1;
    parsed->group(!shown ? "" : option->group().empty() ? "Options" : option->group());
  }
  if (hidden > 0) {
    footer =
        fmt::format("{} more options: {} {} --help-all\n\n{}", hidden, kProgram, verb.name, footer);
  }
  app.footer(footer);
}

/// Older names of options become the present ones.
std::vector<std::string> with_present_names(const std::vector<std::string>& arguments,
                                            const OptionTable& table) {
  std::vector<std::string> renamed = arguments;
  for (const Option& option : table.options()) {
    for (const std::string& alias : option.aliases()) {
      const std::string old = "--" + kebab_case(alias);
      for (std::string& argument : renamed) {
        if (argument == old || argument.starts_with(old + "="))
          argument = option.flag() + argument.substr(old.size());
      }
    }
  }
  return renamed;
}

/// After flags: files, and what depends on all of them.
void finish_options(DeclaredVerb& declared) {
  if (!declared.common.config.empty()) declared.table.apply_toml_file(declared.common.config);
  apply_resumed_configuration(declared.table);
  declared.table.finish_reading();
  declared.table.check_required();
}

}  // namespace

void resolve_options(DeclaredVerb& declared, const std::vector<std::string>& given) {
  const Verb& verb = declared.verb;
  std::vector<std::string> arguments = with_present_names(given, declared.table);
  const bool help_all = std::erase(arguments, "--help-all") > 0;
  if (help_all) arguments.push_back("--help");
  CLI::App app(verb.summary, fmt::format("{} {}", kProgram, verb.name));
  app.allow_extras();
  std::vector<std::pair<Option*, CLI::Option*>> parsed;
  // A list would take an argument without a flag for one more of its values.
  const bool has_positional = std::ranges::any_of(declared.table.options(), &Option::is_positional);
  for (auto& option : declared.table.options()) {
    parsed.emplace_back(&option, add_to_parser(app, option, has_positional));
  }
  arrange_help(app, declared, parsed, help_all);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    throw HelpRequested{app.help()};
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what(), fmt::format("see: {} {} --help", kProgram, verb.name));
  }
  const auto extras = app.remaining();
  if (!extras.empty()) throw_unexpected(extras.front(), declared.table, verb.name);
  for (auto& [option, result] : parsed) {
    if (result->count() == 0) continue;
    if (const auto problem = option->assign(result->results(), OptionSource::kFlag)) {
      throw UsageError(fmt::format("{}: {}", option->flag(), *problem));
    }
  }
  finish_options(declared);
}

namespace {

std::unique_ptr<DeclaredVerb> declared_call(const Verb& verb, const KeyedValues& options) {
  std::vector<std::string> as_flags;  // what chooses among a verb's variants
  for (const auto& [key, values] : options)
    if (!values.empty())
      as_flags.push_back(fmt::format("--{}={}", kebab_case(key), values.front()));
  auto declared = std::make_unique<DeclaredVerb>(verb, as_flags);
  for (const auto& [key, values] : options) {
    Option* option = declared->table.find(key);
    if (option == nullptr) {
      std::vector<std::string> keys;
      for (const Option& known : declared->table.options()) keys.push_back(known.key());
      const std::string whose = declared->table.explanation(key);
      throw UsageError(fmt::format("{}: there is no option '{}'{}", verb.name, key,
                                   whose.empty() ? did_you_mean(key, keys) : whose));
    }
    const bool joins = !option->is_list() && values.size() > 1;
    const std::vector<std::string> joined = {joins ? join(values, ",") : ""};
    if (const auto problem = option->assign(joins ? joined : values, OptionSource::kFlag))
      throw UsageError(fmt::format("{}: {}", option_name(key), *problem));
  }
  finish_options(*declared);
  declared->common.json = true;
  return declared;
}

}  // namespace

void check_verb_call(const Verb& verb, const KeyedValues& options) {
  declared_call(verb, options);
}

nlohmann::json call_verb(const Verb& verb, const KeyedValues& options, const Context& host) {
  const auto declared = declared_call(verb, options);
  nlohmann::json found;
  Session session{.context = context_of(declared->common, host),
                  .common = declared->common,
                  .options = declared->table,
                  .host_stop = host.stop,
                  .answer = [&](const nlohmann::json& object) { found = object; }};
  declared->action(session);
  return found;
}

namespace {

int dispatch_or_help(const std::vector<std::string>& arguments, const std::vector<Verb>& verbs) {
  try {
    return dispatch(arguments, verbs);
  } catch (const HelpRequested& help) {
    fmt::print("{}", help.text);
    return 0;
  }
}

constexpr const char* kLowerMemory =
    "lower --batch-size, --threads, --image-size, or with a token bank --bank-views or --bank-max "
    "(--bank-home host keeps it off the GPU); with very many classes, --k";

/// In libtorch's words; nullptr where it is another error.
const char* device_out_of_memory(std::string_view what) {
  for (const char* text :
       {"CUDA out of memory", "CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED"}) {
    if (what.find(text) != what.npos) return "GPU";
  }
  return what.find("can't allocate memory") != what.npos ? "CPU" : nullptr;
}

int report_internal(const std::exception& error) {
  return report(fmt::format("internal error: {}", error.what()),
                "this is a bug: please report it with the command that caused it",
                ErrorKind::kInternal);
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments, const std::vector<Verb>& verbs) {
  try {
    const int exit_code = dispatch_or_help(arguments, verbs);
    // A result that did not reach a full disk is no success.
    if (std::fflush(stdout) != 0) {
      throw FileError(fmt::format("stdout: cannot write: {}", std::strerror(errno)));
    }
    return exit_code;
  } catch (const Error& error) {
    return report(error.spelled(flag_of), error.spelled_hint(flag_of), error.kind());
  } catch (const std::filesystem::filesystem_error& error) {
    return report(fmt::format("'{}': {}", error.path1().string(), error.code().message()), "",
                  ErrorKind::kFile);
  } catch (const std::bad_alloc&) {
    return report("out of memory", kLowerMemory, ErrorKind::kDevice);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again)
      return report("out of memory for another thread", kLowerMemory, ErrorKind::kDevice);
    return report_internal(error);
  } catch (const std::exception& error) {
    if (const char* device = device_out_of_memory(error.what()))
      return report(fmt::format("out of memory on the {}", device), kLowerMemory,
                    ErrorKind::kDevice);
    return report_internal(error);
  }
}

}  // namespace protogcd::cli
