// Options of a verb, declared once: from this table come the flags, the TOML keys, the help, the
// checks, shell completion and the resolved configuration. A flag is the kebab-case of its key;
// defaults < file < flags.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace protogcd {

/// Where an option's value lives. The variant's alternative is also its type.
using OptionTarget = std::variant<bool*, std::int64_t*, std::uint64_t*, double*, std::string*,
                                  std::filesystem::path*, std::vector<std::string>*,
                                  std::optional<std::int64_t>*, std::optional<double>*>;

enum class OptionSource { kDefault, kFile, kFlag };

class Option {
 public:
  Option(std::string key, OptionTarget target, std::string help)
      : key_(std::move(key)), help_(std::move(help)), target_(target) {}

  // Rules and looks, to be chained after OptionTable::add.
  Option& at_least(double minimum);
  Option& above(double minimum);
  Option& at_most(double maximum);
  Option& one_of(std::vector<std::string> choices);
  /// A rule of its own for a text; `expected` says in words what `allowed` lets through.
  Option& matching(bool (*allowed)(std::string_view), std::string expected);
  Option& value_name(std::string name);  ///< what the help calls the value: "DIR", "FILE.csv"
  Option& required();
  Option& positional();  ///< an argument without a flag; not a TOML key
  Option& flag_only();   ///< a flag that makes no sense in a file (--json, --config)

  const std::string& key() const { return key_; }
  std::string flag() const;  ///< "--bank-views", or "FILE" for a positional one
  const std::string& help() const { return help_; }
  const std::vector<std::string>& choices() const { return choices_; }
  OptionSource source() const { return source_; }
  bool is_switch() const { return std::holds_alternative<bool*>(target_); }
  bool is_list() const { return std::holds_alternative<std::vector<std::string>*>(target_); }
  bool is_text() const;
  bool is_integer() const;
  bool is_required() const { return required_; }
  bool is_positional() const { return positional_; }
  bool in_file() const { return !positional_ && !flag_only_; }
  std::string value_name() const;
  /// The value of a text or path as it is; empty for any other type.
  std::string text() const;
  /// The value as TOML, or empty where an optional value is not set.
  std::string to_toml() const;
  /// What is allowed, in words: "an integer of at least 1".
  std::string expected() const;

  /// Sets the value from text. On failure returns what is wrong with it (the value and what is
  /// allowed), and leaves the target as it was.
  std::optional<std::string> assign(std::span<const std::string> values, OptionSource source);

 private:
  std::optional<std::string> set(std::span<const std::string> values);
  std::optional<std::string> reject(std::string_view value) const;
  bool in_range(double value) const;

  std::string key_, help_, value_name_;
  OptionTarget target_;
  std::optional<double> minimum_, maximum_;
  bool minimum_excluded_ = false, required_ = false, positional_ = false, flag_only_ = false;
  std::vector<std::string> choices_;
  bool (*allowed_)(std::string_view) = nullptr;
  std::string allowed_words_;
  OptionSource source_ = OptionSource::kDefault;
};

class OptionTable {
 public:
  /// Declares an option; its default is what `target` holds now. `target` must outlive the table.
  Option& add(std::string key, OptionTarget target, std::string help);

  std::deque<Option>& options() { return options_; }
  const std::deque<Option>& options() const { return options_; }
  Option* find(std::string_view key);
  std::vector<std::string> file_keys() const;

  /// Takes values from TOML text, except for options a flag has set. Throws ConfigError naming
  /// `name`, line and key: syntax errors, unknown keys (with the nearest known one), wrong types,
  /// values out of range.
  void apply_toml(std::string_view text, const std::string& name);
  void apply_toml_file(const std::filesystem::path& path);
  /// Throws UsageError naming the first required option that neither flag nor file has set, or
  /// that was set to an empty text.
  void check_required() const;
  /// The resolved configuration: every key with its value, commented with its help.
  std::string to_toml() const;

 private:
  std::deque<Option> options_;  // a deque, so that `add` may hand out references
};

/// The texts, numbers and booleans at the top of a TOML file, as flags would carry them;
/// ConfigError if it is no TOML.
std::map<std::string, std::string> toml_scalars(const std::filesystem::path& file);

}  // namespace protogcd
