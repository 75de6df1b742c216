#include "protogcd/cli/completion.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/cli/command_line.h"
#include "protogcd/core/text.h"

namespace protogcd::cli {
namespace {

std::vector<std::string> flags_of(const AllVariants& all) {
  std::vector<std::string> flags;
  for (const Option* option : all.options()) {
    if (!option->is_positional()) flags.push_back(option->flag());
  }
  flags.emplace_back("--help");
  return flags;
}

/// Words that may follow `prefix` among the verbs' names: "" -> datasets, info, ...; "datasets" ->
/// list, ...
std::vector<std::string> next_words(const std::vector<Verb>& verbs, const std::string& prefix) {
  std::vector<std::string> words;
  for (const auto& verb : verbs) {
    const std::string lead = prefix.empty() ? "" : prefix + " ";
    if (!verb.name.starts_with(lead)) continue;
    const std::string word = split(verb.name.substr(lead.size()), ' ').front();
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  }
  return words;
}

std::vector<std::string> groups(const std::vector<Verb>& verbs) {
  std::vector<std::string> names;
  for (const auto& verb : verbs) {
    const auto words = split(verb.name, ' ');
    if (words.size() > 1 && std::ranges::find(names, words.front()) == names.end()) {
      names.push_back(words.front());
    }
  }
  return names;
}

/// Text inside a zsh '...[text]' specification.
std::string zsh_text(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '\'') {
      escaped += "'\\''";
    } else {
      if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') escaped += '\\';
      escaped += letter;
    }
  }
  return escaped;
}

std::string zsh_option(const Option& option) {
  if (option.is_positional()) {
    return fmt::format("'1:{}:({})'", option.key(), join(option.choices(), " "));
  }
  std::string spec = fmt::format("'{}[{}]", option.flag(), zsh_text(option.help()));
  if (!option.is_switch()) {
    spec += option.choices().empty() ? ":value:_files"
                                     : fmt::format(":value:({})", join(option.choices(), " "));
  }
  return spec + "'";
}

}  // namespace

std::string bash_completion(const std::vector<Verb>& verbs) {
  std::string script =
      "# bash completion for protogcd; load with: source <(protogcd completion bash)\n"
      "_protogcd() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local verb=${COMP_WORDS[1]} words=\n"
      "  COMPREPLY=()\n";
  script += fmt::format(
      "  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W '{}' -- \"$current\"))\n    "
      "return\n  fi\n",
      join(next_words(verbs, ""), " "));
  for (const auto& group : groups(verbs)) {
    script += fmt::format(
        "  if [[ $verb == {0} ]]; then\n    if ((COMP_CWORD == 2)); then\n"
        "      COMPREPLY=($(compgen -W '{1}' -- \"$current\"))\n      return\n    fi\n"
        "    verb=\"$verb ${{COMP_WORDS[2]}}\"\n  fi\n",
        group, join(next_words(verbs, group), " "));
  }
  script += "  case \"$verb:$previous\" in\n";
  for (const auto& verb : verbs) {
    const AllVariants all(verb);
    for (const Option* one : all.options()) {
      const Option& option = *one;
      if (option.choices().empty()) continue;
      // An argument without a flag follows the verb's last word.
      script += fmt::format("    '{}:{}') words='{}' ;;\n", verb.name,
                            option.is_positional() ? split(verb.name, ' ').back() : option.flag(),
                            join(option.choices(), " "));
    }
  }
  script += "  esac\n  if [[ -z $words && $current == -* ]]; then\n    case $verb in\n";
  for (const auto& verb : verbs) {
    script += fmt::format("      '{}') words='{}' ;;\n", verb.name,
                          join(flags_of(AllVariants(verb)), " "));
  }
  script +=
      "    esac\n  fi\n"
      "  if [[ -n $words ]]; then\n    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  else\n    COMPREPLY=($(compgen -f -- \"$current\"))\n  fi\n}\n"
      "complete -o filenames -F _protogcd protogcd\n";
  return script;
}

std::string zsh_completion(const std::vector<Verb>& verbs) {
  std::string script =
      "#compdef protogcd\n# zsh completion for protogcd; load with: source <(protogcd completion "
      "zsh)\n"
      "_protogcd() {\n  local verb=${words[2]} depth=2\n";
  script += fmt::format("  if ((CURRENT == 2)); then\n    compadd -- {}\n    return\n  fi\n",
                        join(next_words(verbs, ""), " "));
  for (const auto& group : groups(verbs)) {
    script += fmt::format(
        "  if [[ $verb == {0} ]]; then\n    if ((CURRENT == 3)); then\n      compadd -- {1}\n      "
        "return\n    fi\n"
        "    verb=\"$verb ${{words[3]}}\"\n    depth=3\n  fi\n",
        group, join(next_words(verbs, group), " "));
  }
  // _arguments must see the verb as the command and only what follows it.
  script += "  shift $((depth - 1)) words\n  ((CURRENT -= depth - 1))\n  case $verb in\n";
  for (const auto& verb : verbs) {
    const AllVariants all(verb);
    script += fmt::format("    '{}')\n      _arguments '--help[show help]'", verb.name);
    for (const Option* one : all.options()) {
      const Option& option = *one;
      if (option.is_positional() && option.choices().empty()) continue;
      script += " \\\n        " + zsh_option(option);
    }
    script += " \\\n        '*:file:_files' ;;\n";
  }
  // Sourced, the script registers the function; found by zsh in its fpath, it is the function.
  script +=
      "  esac\n}\n"
      "if [[ $funcstack[1] == _protogcd ]]; then\n  _protogcd \"$@\"\n"
      "else\n  compdef _protogcd protogcd\nfi\n";
  return script;
}

}  // namespace protogcd::cli
