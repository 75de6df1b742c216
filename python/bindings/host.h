// Python as a host of the library: where messages and progress go, how Ctrl-C stops work, and which
// exception an error becomes. Functions here that take Python objects need the interpreter's lock.
#pragma once

#include <nanobind/nanobind.h>
#include <signal.h>

#include <memory>
#include <string>

#include "calm_threads.h"
#include "protogcd/core/context.h"
#include "protogcd/core/error.h"

namespace protogcd::python {

namespace nb = nanobind;

/// How options in messages are spelled: `k_max=`. `as_keyword` is the spelling of option_name.h;
/// `as_keywords` also turns a flag in a text of the command line's verbs.
std::string as_keyword(std::string_view key);
std::string as_keywords(const std::string& text);

/// A context that speaks to Python. `log` is called with (level, message), `progress` with (task,
/// done, total, unit, is_last); None: silent.
Context host_context(nb::object log, nb::object progress);

/// What every call does around its work. While it lives, on the main thread, SIGINT asks the work
/// of `stop` to end; what was in force before is so again afterwards.
class CallGuard {
 public:
  CallGuard(const StopToken& stop, bool is_main_thread);
  ~CallGuard();
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;

 private:
  const CalmThreads calm_;
  const bool guards_;
  StopToken stop_;
  struct sigaction previous_ {};
};

/// Makes errors of the library exceptions of protogcd/errors.py.
void register_errors();

}  // namespace protogcd::python
