// Options of a verb, declared once: from this table come the flags, the TOML keys, the help, the
// checks, shell completion and the resolved configuration. A flag is the kebab-case of its key;
// defaults < file < flags.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace protogcd {

/// One of several named values: an enumeration's place among the option's choices.
struct ChoiceTarget {
  std::function<std::optional<std::size_t>()> get;  ///< nothing: not set
  std::function<void(std::size_t)> set;
};

/// Where an option's value lives. The variant's alternative is also its type.
using OptionTarget =
    std::variant<bool*, std::int64_t*, std::uint64_t*, double*, std::string*,
                 std::filesystem::path*, std::vector<std::string>*, std::optional<std::int64_t>*,
                 std::optional<double>*, std::optional<bool>*, ChoiceTarget>;

enum class OptionSource { kDefault, kFile, kFlag };

class Option {
 public:
  Option(std::string key, OptionTarget target, std::string help)
      : key_(std::move(key)), help_(std::move(help)), target_(std::move(target)) {}

  // Rules and looks, to be chained after OptionTable::add.
  Option& at_least(double minimum);
  Option& above(double minimum);
  Option& at_most(double maximum);
  Option& one_of(std::vector<std::string> choices);
  /// A rule of its own for a text; `expected` says in words what `allowed` lets through.
  Option& matching(bool (*allowed)(std::string_view), std::string expected);
  Option& value_name(std::string name);  ///< what the help calls the value: "DIR", "FILE.csv"
  Option& required();
  Option& positional();            ///< an argument without a flag; not a TOML key
  Option& flag_only();             ///< a flag that makes no sense in a file (--json, --config)
  Option& usual();                 ///< one of the few that people use: `--help` shows it
  Option& incidental();            ///< changes no number of a result: not part of its identity
  Option& alias(std::string key);  ///< an older name, which files and flags may still use

  const std::string& key() const { return key_; }
  std::string flag() const;  ///< "--bank-views", or "FILE" for a positional one
  const std::string& help() const { return help_; }
  const std::string& group() const { return group_; }
  const std::vector<std::string>& aliases() const { return aliases_; }
  bool is_called(std::string_view key) const;  ///< by its key or an older one
  bool is_usual() const { return usual_; }
  bool is_incidental() const { return incidental_; }
  const std::vector<std::string>& choices() const { return choices_; }
  OptionSource source() const { return source_; }
  bool is_switch() const;
  bool is_list() const { return std::holds_alternative<std::vector<std::string>*>(target_); }
  bool is_text() const;
  bool is_path() const { return std::holds_alternative<std::filesystem::path*>(target_); }
  void set_path(const std::filesystem::path& path) {
    *std::get<std::filesystem::path*>(target_) = path;
  }
  bool is_integer() const;
  bool is_required() const { return required_; }
  bool is_positional() const { return positional_; }
  bool in_file() const { return !positional_ && !flag_only_; }
  std::string value_name() const;
  /// The value of a text or path as it is; empty for any other type.
  std::string text() const;
  /// The value as TOML, or empty where an optional value is not set.
  std::string to_toml() const;
  /// As a command line has it, quoted for a shell: --flag VALUE.
  std::string as_flag() const;
  /// What is allowed, in words: "an integer of at least 1".
  std::string expected() const;

  /// Sets the value from text. On failure returns what is wrong with it (the value and what is
  /// allowed), and leaves the target as it was.
  std::optional<std::string> assign(std::span<const std::string> values, OptionSource source);

 private:
  friend class OptionTable;
  std::optional<std::string> set(std::span<const std::string> values);
  std::optional<std::string> reject(std::string_view value) const;
  bool in_range(double value) const;

  std::string key_, help_, value_name_, group_;
  std::vector<std::string> aliases_;
  OptionTarget target_;
  std::optional<double> minimum_, maximum_;
  bool minimum_excluded_ = false, required_ = false, positional_ = false, flag_only_ = false,
       usual_ = false, incidental_ = false;
  std::vector<std::string> choices_;
  bool (*allowed_)(std::string_view) = nullptr;
  std::string allowed_words_;
  OptionSource source_ = OptionSource::kDefault;
};

class OptionTable {
 public:
  /// Declares an option; its default is what `target` holds now. `target` must outlive the table.
  Option& add(std::string key, OptionTarget target, std::string help);
  /// The same for an enumeration, or an optional one, by the names of its values.
  template <class Target, class Enum>
  Option& add_choice(std::string key, Target* target,
                     std::vector<std::pair<std::string, Enum>> values, std::string help);
  /// What is added from now on belongs to this group of the help.
  void begin_group(std::string name) { group_ = std::move(name); }

  std::deque<Option>& options() { return options_; }
  const std::deque<Option>& options() const { return options_; }
  Option* find(std::string_view key);  ///< by its key or an older one
  /// Says whose option a key is that is not known here ("it belongs to ..."), or nothing.
  void explain_unknown(std::function<std::string(const std::string& key)> explain) {
    explain_ = std::move(explain);
  }
  std::string explanation(const std::string& key) const { return explain_ ? explain_(key) : ""; }
  std::vector<std::string> file_keys() const;

  /// Takes values from TOML text, except for options a flag has set. Throws ConfigError naming
  /// `name`, line and key: syntax errors, unknown keys (with the nearest known one), wrong types,
  /// values out of range.
  void apply_toml(std::string_view text, const std::string& name);
  void apply_toml_file(const std::filesystem::path& path);
  /// Throws UsageError naming the first required option that neither flag nor file has set, or
  /// that was set to an empty text.
  void check_required() const;
  /// What is to be done once flags and files have been read: one option may stand for values of
  /// others.
  void when_read(std::function<void(OptionTable&)> settle) { settle_ = std::move(settle); }
  /// Does it. Values that flags or files have given stay.
  void finish_reading() {
    if (settle_) settle_(*this);
  }
  /// Sets an option that neither flag nor file has set; false where it has been, or where there is
  /// none of this key. InternalError where the value is not allowed.
  bool suggest(std::string_view key, const std::string& value);
  /// The resolved configuration: every key with its value, commented with its help.
  std::string to_toml() const;
  /// What a result depends on: the values of all options that are not incidental.
  std::map<std::string, std::string> identity() const;

 private:
  std::deque<Option> options_;  // a deque, so that `add` may hand out references
  std::string group_;
  std::function<std::string(const std::string&)> explain_;
  std::function<void(OptionTable&)> settle_;
};

template <class Target, class Enum>
Option& OptionTable::add_choice(std::string key, Target* target,
                                std::vector<std::pair<std::string, Enum>> values,
                                std::string help) {
  std::vector<std::string> names;
  std::vector<Enum> enumerators;
  for (auto& [name, value] : values) {
    names.push_back(std::move(name));
    enumerators.push_back(value);
  }
  const auto get = [target, enumerators]() -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < enumerators.size(); ++i)
      if (*target == enumerators[i]) return i;
    return std::nullopt;
  };
  const auto set = [target, enumerators](std::size_t i) { *target = enumerators[i]; };
  return add(std::move(key), ChoiceTarget{get, set}, std::move(help)).one_of(std::move(names));
}

/// The texts, numbers and booleans at the top of a TOML file, as flags would carry them;
/// ConfigError if it is no TOML.
std::map<std::string, std::string> toml_scalars(const std::filesystem::path& file);

}  // namespace protogcd
