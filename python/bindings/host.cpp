#include "host.h"

#include <nanobind/stl/string.h>

#include <c10/util/Exception.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <mutex>
#include <new>
#include <set>

#include "protogcd/core/text.h"

namespace protogcd::python {
namespace {

bool interpreter_lives() {
#if PY_VERSION_HEX >= 0x030D0000
  return nb::is_alive() && !Py_IsFinalizing();
#else
  return nb::is_alive() && !_Py_IsFinalizing();
#endif
}

nb::object in_python_type(const std::string& text) {
  return text_of(text);
}
template <class Number>
nb::object in_python_type(Number number) {
  return nb::cast(number);
}

/// Calls into Python from any thread. An exception there has nobody to go to but the interpreter's
/// hook: the work goes on.
class Callback {
 public:
  explicit Callback(nb::object function) : function_(std::move(function)) {}
  ~Callback() {
    if (!interpreter_lives()) {
      function_.release();  // gone with the interpreter
      return;
    }
    const nb::gil_scoped_acquire lock;
    function_.reset();
  }
  template <class... Arguments>
  void operator()(Arguments&&... arguments) const {
    // A thread that asks for the lock of an interpreter that ends is ended, and the process with
    // it.
    if (!interpreter_lives()) return;
    const nb::gil_scoped_acquire lock;
    try {
      function_(in_python_type(std::forward<Arguments>(arguments))...);
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("protogcd");
    }
  }

 private:
  nb::object function_;
};

class PythonLog : public LogSink {
 public:
  explicit PythonLog(nb::object function) : write_(std::move(function)) {}
  void write(LogLevel level, std::string_view message) override {
    write_(static_cast<int>(level), in_python(std::string(message)));
  }
  std::string spell(std::string_view key) const override { return as_keyword(key); }

 private:
  Callback write_;
};

class PythonProgress : public ProgressSink {
 public:
  explicit PythonProgress(nb::object function) : show_(std::move(function)) {}
  void show(const ProgressState& state) override {
    show_(state.task, state.done, state.total, state.unit, state.last);
  }
  void say(const std::string& line) override { show_(line, 0, 0, std::string(), true); }

 private:
  Callback show_;
};

// A handler can reach nothing but globals.
std::atomic<const StopToken*> token_of_signals = nullptr;

/// Calls that are under way.
struct CallsUnderWay {
  std::mutex mutex;
  std::condition_variable one_ended;
  std::set<const StopToken*> stops;
};

CallsUnderWay& calls_under_way() {
  static auto* calls = new CallsUnderWay;  // outlives every thread
  return *calls;
}

extern "C" void protogcd_python_interrupt(int /*number*/) {
  if (const StopToken* token = token_of_signals) token->request_stop();
}

void raise_error(const char* type, const std::string& message, const std::string& hint) {
  const nb::object made =
      nb::module_::import_("protogcd.errors").attr(type)(text_of(message), text_of(hint));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
}

const char* type_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return "UsageError";
    case ErrorKind::kConfig:
      return "ConfigError";
    case ErrorKind::kData:
      return "DataError";
    case ErrorKind::kModelFile:
      return "ModelFileError";
    case ErrorKind::kDevice:
      return "DeviceError";
    case ErrorKind::kFile:
      return "FileError";
    case ErrorKind::kTraining:
      return "TrainingError";
    case ErrorKind::kInterrupted:
      return "Interrupted";
    case ErrorKind::kInternal:
      break;
  }
  return "InternalError";
}

void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    raise_error(type_of(error.kind()), in_python(error.marked()), in_python(error.marked_hint()));
  } catch (const std::filesystem::filesystem_error& error) {
    raise_error("FileError", "'" + error.path1().string() + "': " + error.code().message(), "");
  } catch (const std::bad_alloc&) {
    raise_error("DeviceError", "out of memory", "");
  } catch (const c10::Error& error) {
    const std::string what = error.what_without_backtrace();
    const bool is_memory =
        what.find("allocate memory") != what.npos || what.find("out of memory") != what.npos;
    raise_error(is_memory ? "DeviceError" : "InternalError", what, "");
  }
}

}  // namespace

std::string as_keyword(std::string_view key) {
  return std::string(key) + "=";
}

std::string in_python(const std::string& marked) {
  const std::size_t command = marked.find("protogcd ");
  if (command != std::string::npos) {
    const auto flag = [](std::string_view key) { return "--" + kebab_case(key); };
    return in_python(marked.substr(0, command)) + spelled(marked.substr(command), flag);
  }
  const std::string text = spelled(marked, as_keyword);
  const auto is_of_flag = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 2;
    std::string key;
    if (text.compare(i, 2, "--") == 0)
      for (; end < text.size() && is_of_flag(text[end]); ++end)
        key += text[end] == '-' ? '_' : text[end];
    if (key.empty() || !is_option(key)) {
      result += text[i++];
      continue;
    }
    result += as_keyword(key);
    i = end < text.size() && text[end] == '=' ? end + 1 : end;
  }
  return result;
}

nb::object text_of(const std::string& text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

nb::object path_of(const std::string& path) {
  return nb::steal(
      PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
}

Context host_context(nb::object log, nb::object progress) {
  Context context;
  if (!log.is_none())
    context.log = Logger(std::make_shared<PythonLog>(std::move(log)), LogLevel::kDebug);
  if (!progress.is_none())
    context.progress_sink = std::make_shared<PythonProgress>(std::move(progress));
  return context;
}

CallGuard::CallGuard(const StopToken& stop, bool is_main_thread)
    : guards_(is_main_thread), stop_(stop) {
  if (!guards_) return;
  outer_ = token_of_signals.exchange(&stop_);
  struct sigaction action {};
  action.sa_handler = protogcd_python_interrupt;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, nullptr, &previous_);
  if (previous_.sa_handler != SIG_IGN) ::sigaction(SIGINT, &action, nullptr);
}

CallGuard::~CallGuard() {
  if (!guards_) return;
  ::sigaction(SIGINT, &previous_, nullptr);
  token_of_signals = outer_;
  if (!stop_.stop_requested()) return;
  if (outer_ != nullptr) outer_->request_stop();
  // Work that ended all the same: the signal is Python's again.
  if (std::uncaught_exceptions() == 0) PyErr_SetInterrupt();
}

CallUnderWay::CallUnderWay(const StopToken& stop) : stop_(stop) {
  CallsUnderWay& calls = calls_under_way();
  const std::lock_guard lock(calls.mutex);
  calls.stops.insert(&stop_);
}

CallUnderWay::~CallUnderWay() {
  CallsUnderWay& calls = calls_under_way();
  const std::lock_guard lock(calls.mutex);
  calls.stops.erase(&stop_);
  calls.one_ended.notify_all();
}

void stop_all_calls() {
  CallsUnderWay& calls = calls_under_way();
  std::unique_lock lock(calls.mutex);
  for (const StopToken* stop : calls.stops) stop->request_stop();
  calls.one_ended.wait_for(lock, std::chrono::seconds(20), [&] { return calls.stops.empty(); });
}

void register_errors() {
  nb::register_exception_translator(translate, nullptr);
}

}  // namespace protogcd::python
