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

/// How options in messages are spelled: `k_max=`.
/// `in_python` spells them so in a text with marked options, and flags of options that there are,
/// which messages of the command line's verbs name; commands to paste keep theirs.
std::string as_keyword(std::string_view key);
std::string in_python(const std::string& marked);
/// verbs.cpp: whether any verb has an option of this key.
bool is_option(const std::string& key);

/// Texts that may hold bytes of other encodings: of messages, replaced; of paths, as Python's own.
nb::object text_of(const std::string& text);
nb::object path_of(const std::string& path);

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
  const StopToken* outer_ = nullptr;  ///< of a call that this one is made from
  struct sigaction previous_ {};
};

/// A call for `stop_all_calls`. It lives until the interpreter's lock is held again, so it begins
/// before the lock is given away.
class CallUnderWay {
 public:
  explicit CallUnderWay(const StopToken& stop);
  ~CallUnderWay();
  CallUnderWay(const CallUnderWay&) = delete;
  CallUnderWay& operator=(const CallUnderWay&) = delete;

 private:
  StopToken stop_;
};

/// Asks all calls that are under way to stop and waits for them, some seconds at most: before the
/// interpreter ends, as a thread that then asked for its lock would take the process down.
void stop_all_calls();

/// Makes errors of the library exceptions of protogcd/errors.py.
void register_errors();

}  // namespace protogcd::python
