// Verbs of the program as functions: options by key, the object of `--json` as the answer.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <set>

#include "host.h"
#include "parts.h"
#include "protogcd/cli/command_line.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/json.h"

namespace protogcd::python {
namespace {

const std::vector<cli::Verb>& verbs() {
  static const std::vector<cli::Verb> all = cli::all_verbs();
  return all;
}

const cli::Verb& find_verb(const std::string& name) {
  const auto found = std::ranges::find(verbs(), name, &cli::Verb::name);
  if (found == verbs().end()) throw InternalError("there is no verb '" + name + "'");
  return *found;
}

/// The answer as JSON, which the package reads.
std::string call(const std::string& verb, const cli::KeyedValues& options, nb::object log,
                 nb::object progress, bool is_main_thread) {
  const Context host = host_context(std::move(log), std::move(progress));
  const CallUnderWay under_way(host.stop);
  const nb::gil_scoped_release unlocked;
  const CallGuard guard(host.stop, is_main_thread);
  return cli::call_verb(find_verb(verb), options, host)
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

nb::list options_of(const std::string& verb) {
  nb::list rows;
  const cli::AllVariants declared(find_verb(verb));
  for (const Option* option : declared.options()) {
    if (option->key() == "json" || option->key() == "config") continue;
    nb::dict row;
    row["key"] = option->key();
    row["help"] = in_python(option->help());
    row["expected"] = option->expected();
    row["default"] = option->to_toml();
    row["group"] = option->group();
    rows.append(row);
  }
  return rows;
}

nb::list list_verbs() {
  nb::list rows;
  for (const cli::Verb& verb : verbs()) rows.append(nb::make_tuple(verb.name, verb.summary));
  return rows;
}

}  // namespace

bool is_option(const std::string& key) {
  static const std::set<std::string> keys = [] {
    std::set<std::string> all;
    for (const cli::Verb& verb : verbs()) {
      const cli::AllVariants declared(verb);
      for (const Option* option : declared.options()) all.insert(option->key());
    }
    return all;
  }();
  return keys.contains(key);
}

void define_verbs(nb::module_& module) {
  module.def("call", call, nb::arg("verb"), nb::arg("options"), nb::arg("log").none(),
             nb::arg("progress").none(), nb::arg("is_main_thread"));
  module.def(
      "check",
      [](const std::string& verb, const cli::KeyedValues& options) {
        cli::check_verb_call(find_verb(verb), options);
      },
      nb::arg("verb"), nb::arg("options"));
  module.def("options_of", options_of, nb::arg("verb"));
  module.def("verbs", list_verbs);
  module.def(
      "main",
      [](const std::vector<std::string>& arguments) {
        const nb::gil_scoped_release unlocked;
        return cli::run_command_line(arguments, verbs());
      },
      nb::arg("arguments"));
}

}  // namespace protogcd::python
