#include "protogcd/core/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/text.h"
#include "protogcd/core/toml_checked.h"

namespace protogcd {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;  // clang 16 does not deduce aggregates

std::string quote_toml(std::string_view text) {
  std::string quoted = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      quoted += '\\';
      quoted += letter;
    } else if (code < 0x20 || code == 0x7F) {
      quoted += fmt::format("\\u{:04X}", code);
    } else {
      quoted += letter;
    }
  }
  return quoted + '"';
}

constexpr std::uint64_t kLargestConfig = 16 << 20;

std::string real_to_toml(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

/// The values of a TOML node if its type fits the option: text for text, whole numbers for
/// integers, and so on.
std::optional<std::vector<std::string>> fitting_values(const Option& option,
                                                       const toml::node& node) {
  if (const auto* array = node.as_array(); array != nullptr && option.is_list()) {
    std::vector<std::string> values;
    for (const auto& item : *array) {
      if (!item.is_string()) return std::nullopt;
      values.push_back(*scalar_text(item));
    }
    return values;
  }
  const bool fits = option.is_switch()                     ? node.is_boolean()
                    : option.is_integer()                  ? node.is_integer()
                    : option.is_text() || option.is_list() ? node.is_string()
                                                           : node.is_number();
  if (!fits) return std::nullopt;
  return std::vector<std::string>{*scalar_text(node)};
}

}  // namespace

Option& Option::at_least(double minimum) {
  minimum_ = minimum;
  return *this;
}

Option& Option::above(double minimum) {
  minimum_excluded_ = true;
  return at_least(minimum);
}

Option& Option::at_most(double maximum) {
  maximum_ = maximum;
  return *this;
}

Option& Option::one_of(std::vector<std::string> choices) {
  choices_ = std::move(choices);
  return *this;
}

Option& Option::matching(bool (*allowed)(std::string_view), std::string expected) {
  allowed_ = allowed;
  allowed_words_ = std::move(expected);
  return *this;
}

Option& Option::value_name(std::string name) {
  value_name_ = std::move(name);
  return *this;
}

Option& Option::required() {
  required_ = true;
  return *this;
}

Option& Option::positional() {
  positional_ = true;
  return *this;
}

Option& Option::flag_only() {
  flag_only_ = true;
  return *this;
}

Option& Option::usual() {
  usual_ = true;
  return *this;
}

Option& Option::incidental() {
  incidental_ = true;
  return *this;
}

Option& Option::alias(std::string key) {
  aliases_.push_back(std::move(key));
  return *this;
}

bool Option::is_called(std::string_view key) const {
  return key_ == key || std::ranges::find(aliases_, key) != aliases_.end();
}

bool Option::is_switch() const {
  return std::holds_alternative<bool*>(target_) ||
         std::holds_alternative<std::optional<bool>*>(target_);
}

std::string Option::flag() const {
  return positional_ ? value_name() : "--" + kebab_case(key_);
}

bool Option::is_text() const {
  return std::holds_alternative<std::string*>(target_) || is_path() ||
         std::holds_alternative<ChoiceTarget>(target_);
}

bool Option::is_integer() const {
  return std::holds_alternative<std::int64_t*>(target_) ||
         std::holds_alternative<std::uint64_t*>(target_) ||
         std::holds_alternative<std::optional<std::int64_t>*>(target_);
}

std::string Option::value_name() const {
  if (!value_name_.empty()) return value_name_;
  if (!choices_.empty()) return join(choices_, "|");
  if (is_switch()) return "";
  if (is_integer()) return "N";
  if (is_path()) return "PATH";
  return is_text() || is_list() ? "TEXT" : "X";
}

std::string Option::text() const {
  if (const auto* text = std::get_if<std::string*>(&target_)) return **text;
  if (const auto* path = std::get_if<std::filesystem::path*>(&target_)) return (*path)->string();
  if (const auto* choice = std::get_if<ChoiceTarget>(&target_)) {
    const auto place = choice->get();
    return place ? choices_[*place] : std::string{};
  }
  return {};
}

std::string Option::to_toml() const {
  return std::visit(
      Overloaded{[](const bool* value) -> std::string { return *value ? "true" : "false"; },
                 [](const double* value) { return real_to_toml(*value); },
                 [](const std::string* value) { return quote_toml(*value); },
                 [](const std::filesystem::path* value) { return quote_toml(value->string()); },
                 [](const std::vector<std::string>* values) {
                   std::vector<std::string> quoted;
                   for (const auto& value : *values) quoted.push_back(quote_toml(value));
                   return fmt::format("[{}]", join(quoted, ", "));
                 },
                 [](const std::optional<std::int64_t>* value) {
                   return *value ? fmt::format("{}", **value) : std::string{};
                 },
                 [](const std::optional<double>* value) {
                   return *value ? real_to_toml(**value) : std::string{};
                 },
                 [](const std::optional<bool>* value) -> std::string {
                   return !*value ? "" : **value ? "true" : "false";
                 },
                 [this](const ChoiceTarget& choice) {
                   const auto place = choice.get();
                   return place ? quote_toml(choices_[*place]) : std::string{};
                 },
                 [](const auto* integer) { return fmt::format("{}", *integer); }},
      target_);
}

std::string Option::as_flag() const {
  if (is_switch()) return to_toml() == "true" ? flag() : flag() + "=false";
  std::string line = flag();
  if (const auto* list = std::get_if<std::vector<std::string>*>(&target_)) {
    for (const std::string& value : **list) line += ' ' + shell_word(value);
    return line;
  }
  return line + ' ' + shell_word(is_text() ? text() : to_toml());
}

std::string Option::expected() const {
  if (!choices_.empty()) return fmt::format("one of {}", join(choices_, ", "));
  if (allowed_ != nullptr) return allowed_words_;
  if (is_switch()) return "true or false";
  if (is_text() || is_list()) return "a text";
  std::string text = is_integer() ? "an integer" : "a number";
  if (minimum_)
    text += fmt::format(" {} {}", minimum_excluded_ ? "above" : "of at least", *minimum_);
  if (maximum_) text += fmt::format("{} at most {}", minimum_ ? " and" : " of", *maximum_);
  return text;
}

bool Option::in_range(double value) const {
  if (minimum_ && (minimum_excluded_ ? value <= *minimum_ : value < *minimum_)) return false;
  return !maximum_ || value <= *maximum_;
}

std::optional<std::string> Option::reject(std::string_view value) const {
  return fmt::format("'{}' is not allowed: expected {}{}", value, expected(),
                     did_you_mean(value, choices_));
}

std::optional<std::string> Option::set(std::span<const std::string> values) {
  if (auto** list = std::get_if<std::vector<std::string>*>(&target_)) {
    for (const auto& value : values) {
      if (!choices_.empty() && std::ranges::find(choices_, value) == choices_.end()) {
        return reject(value);
      }
    }
    (*list)->assign(values.begin(), values.end());
    return std::nullopt;
  }
  if (values.size() != 1) return fmt::format("one value is needed, {} were given", values.size());
  const std::string& value = values.front();
  if (!choices_.empty() && std::ranges::find(choices_, value) == choices_.end())
    return reject(value);
  if (allowed_ != nullptr && !allowed_(value)) return reject(value);
  const auto take_number = [&](auto* target, auto parsed) {
    if (!parsed || !in_range(static_cast<double>(*parsed))) return reject(value);
    *target = *parsed;
    return std::optional<std::string>{};
  };
  const auto take_switch = [&](auto* target) -> std::optional<std::string> {
    if (value != "true" && value != "false") return reject(value);
    *target = value == "true";
    return std::nullopt;
  };
  return std::visit(
      Overloaded{
          [&](bool* target) { return take_switch(target); },
          [&](std::optional<bool>* target) { return take_switch(target); },
          [&](ChoiceTarget& target) -> std::optional<std::string> {
            const auto place = std::ranges::find(choices_, value) - choices_.begin();
            target.set(static_cast<std::size_t>(place));
            return std::nullopt;
          },
          [&](std::int64_t* target) { return take_number(target, parse_integer(value)); },
          [&](std::uint64_t* target) { return take_number(target, parse_unsigned(value)); },
          [&](double* target) { return take_number(target, parse_real(value)); },
          [&](std::optional<std::int64_t>* target) {
            return take_number(target, parse_integer(value));
          },
          [&](std::optional<double>* target) { return take_number(target, parse_real(value)); },
          [](std::vector<std::string>*) { return std::optional<std::string>{}; },
          [&](auto* text) {
            *text = value;
            return std::optional<std::string>{};
          }},
      target_);
}

std::optional<std::string> Option::assign(std::span<const std::string> values,
                                          OptionSource source) {
  auto problem = set(values);
  if (!problem) source_ = source;
  return problem;
}

Option& OptionTable::add(std::string key, OptionTarget target, std::string help) {
  if (find(key) != nullptr) throw InternalError(fmt::format("option '{}' is declared twice", key));
  Option& option = options_.emplace_back(std::move(key), std::move(target), std::move(help));
  option.group_ = group_;
  return option;
}

Option* OptionTable::find(std::string_view key) {
  const auto found =
      std::ranges::find_if(options_, [&](const Option& option) { return option.is_called(key); });
  return found == options_.end() ? nullptr : &*found;
}

std::vector<std::string> OptionTable::file_keys() const {
  std::vector<std::string> keys;
  for (const auto& option : options_) {
    if (option.in_file()) keys.push_back(option.key());
  }
  return keys;
}

void OptionTable::apply_toml(std::string_view text, const std::string& name) {
  const toml::table table = parse_toml(text, name);
  std::set<const Option*> seen;
  for (const auto& [toml_key, node] : table) {
    const std::string key(toml_key.str());
    const std::string where = fmt::format("{}:{}", name, toml_key.source().begin.line);
    Option* option = find(key);
    if (option == nullptr || !option->in_file()) {
      const std::string whose = explanation(key);
      throw ConfigError(fmt::format("{}: unknown key '{}'{}", where, key,
                                    whose.empty() ? did_you_mean(key, file_keys()) : whose));
    }
    if (!seen.insert(option).second) {
      throw ConfigError(fmt::format("{}: '{}' is given twice, by this name and by an older one",
                                    where, option->key()));
    }
    const auto values = fitting_values(*option, node);
    if (!values) {
      throw ConfigError(fmt::format("{}: {}: expected {}", where, key, option->expected()));
    }
    if (option->source() == OptionSource::kFlag) continue;
    if (const auto problem = option->assign(*values, OptionSource::kFile)) {
      throw ConfigError(fmt::format("{}: {}: {}", where, key, *problem));
    }
  }
}

void OptionTable::apply_toml_file(const std::filesystem::path& path) {
  apply_toml(read_text_file(path, kLargestConfig), path.string());
}

bool OptionTable::suggest(std::string_view key, const std::string& value) {
  Option* option = find(key);
  if (option == nullptr || option->source() != OptionSource::kDefault) return false;
  if (const auto problem = option->assign(std::vector<std::string>{value}, OptionSource::kDefault))
    throw InternalError(fmt::format("{}: {}", key, *problem));
  return true;
}

void OptionTable::check_required() const {
  for (const auto& option : options_) {
    const bool empty = option.is_text() && option.to_toml() == "\"\"";
    if (option.is_required() && (option.source() == OptionSource::kDefault || empty)) {
      const std::string name = option.is_positional() ? option.flag() : option_name(option.key());
      throw UsageError(fmt::format("{} is needed: {}", name, option.help()));
    }
  }
}

std::string OptionTable::to_toml() const {
  std::string text;
  for (const auto& option : options_) {
    if (!option.in_file()) continue;
    const std::string value = option.to_toml();
    text += fmt::format("# {}\n{}{} = {}\n", option.help(), value.empty() ? "# " : "", option.key(),
                        value);
  }
  return text;
}

std::map<std::string, std::string> OptionTable::identity() const {
  std::map<std::string, std::string> values;
  for (const auto& option : options_) {
    if (option.is_incidental()) continue;
    const std::string value = option.to_toml();
    values[option.key()] = value.empty() ? "not set" : value;
  }
  return values;
}

std::map<std::string, std::string> toml_scalars(const std::filesystem::path& file) {
  std::map<std::string, std::string> scalars;
  for (const auto& [key, node] : parse_toml(read_text_file(file, kLargestConfig), file.string())) {
    if (auto text = scalar_text(node)) scalars[std::string(key.str())] = std::move(*text);
  }
  return scalars;
}

}  // namespace protogcd
