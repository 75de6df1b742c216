#include "host.h"

#include <nanobind/stl/string.h>

#include <array>
#include <atomic>
#include <exception>
#include <filesystem>
#include <new>

#include "protogcd/core/text.h"

namespace protogcd::python {
namespace {

/// Calls into Python from any thread. An exception there has nobody to go to but the interpreter's
/// hook: the work goes on.
class Callback {
 public:
  explicit Callback(nb::object function) : function_(std::move(function)) {}
  ~Callback() {
    const nb::gil_scoped_acquire lock;
    function_.reset();
  }
  template <class... Arguments>
  void operator()(Arguments&&... arguments) const {
    const nb::gil_scoped_acquire lock;
    try {
      function_(std::forward<Arguments>(arguments)...);
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
    write_(static_cast<int>(level), as_keywords(std::string(message)));
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
  void say(const std::string& line) override { show_(line, 0, 0, "", true); }

 private:
  Callback show_;
};

// A handler can reach nothing but globals.
std::atomic<const StopToken*> token_of_signals = nullptr;

extern "C" void protogcd_python_interrupt(int /*number*/) {
  if (const StopToken* token = token_of_signals) token->request_stop();
}

void raise(const char* type, const std::string& message, const std::string& hint) {
  const nb::object made =
      nb::module_::import_("protogcd.errors")
          .attr(type)(nb::str(message.c_str(), message.size()), nb::str(hint.c_str(), hint.size()));
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

/// Options of a command to paste are flags, all others keywords.
std::string in_python(const std::string& marked) {
  const bool is_command = marked.find("protogcd ") != std::string::npos;
  return is_command
             ? spelled(marked,
                       [](std::string_view key) { return "--" + kebab_case(std::string(key)); })
             : as_keywords(spelled(marked, as_keyword));
}

void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    raise(type_of(error.kind()), in_python(error.marked()), in_python(error.marked_hint()));
  } catch (const std::filesystem::filesystem_error& error) {
    raise("FileError", "'" + error.path1().string() + "': " + error.code().message(), "");
  }
}

}  // namespace

std::string as_keyword(std::string_view key) {
  return std::string(key) + "=";
}

std::string as_keywords(const std::string& text) {
  // Commands to paste stay as they are.
  if (text.find("protogcd ") != std::string::npos) return text;
  const auto is_of_flag = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  std::string spelled;
  for (std::size_t i = 0; i < text.size();) {
    const bool begins = text.compare(i, 2, "--") == 0 && i + 2 < text.size() &&
                        text[i + 2] != '-' && is_of_flag(text[i + 2]) &&
                        (i == 0 || text[i - 1] == ' ' || text[i - 1] == '(');
    if (!begins) {
      spelled += text[i++];
      continue;
    }
    for (i += 2; i < text.size() && is_of_flag(text[i]); ++i)
      spelled += text[i] == '-' ? '_' : text[i];
    if (i == text.size() || text[i] != '=') spelled += '=';
  }
  return spelled;
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
  token_of_signals = &stop_;
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
  token_of_signals = nullptr;
}

void register_errors() {
  nb::register_exception_translator(translate, nullptr);
}

}  // namespace protogcd::python
