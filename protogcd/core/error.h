// Public. Errors that reach the user. Each names the input at fault (file and line where there is
// one) and may say what to do. Options in them are named through option_name.h.
#pragma once

#include <stdexcept>
#include <string>

#include "protogcd/core/option_name.h"

namespace protogcd {

/// What went wrong, and the exit code the program leaves with (docs/exit-codes.md).
enum class ErrorKind : int {
  kInternal = 1,      ///< a bug of ours
  kUsage = 2,         ///< a flag or argument
  kConfig = 3,        ///< a configuration file
  kData = 4,          ///< images, manifests, datasets
  kModelFile = 5,     ///< weight files, checkpoints, run folders
  kDevice = 6,        ///< a device that is absent or out of memory
  kFile = 7,          ///< reading or writing files: permissions, full disk
  kTraining = 8,      ///< numbers that training made: it diverged
  kInterrupted = 130  ///< Ctrl-C
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::string hint = {})
      : std::runtime_error(protogcd::spelled(message)),
        kind_(kind),
        hint_(protogcd::spelled(hint)),
        marked_(message),
        marked_hint_(std::move(hint)) {}

  ErrorKind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }
  /// What the user can do about it; may be empty.
  const std::string& hint() const { return hint_; }

  // `what` and `hint` name options by their keys; a host that spells them otherwise asks for these.
  std::string spelled(const OptionSpelling& spelling) const {
    return protogcd::spelled(marked_, spelling);
  }
  std::string spelled_hint(const OptionSpelling& spelling) const {
    return protogcd::spelled(marked_hint_, spelling);
  }
  /// The message and hint with their options still marked, to become part of another.
  const std::string& marked() const { return marked_; }
  const std::string& marked_hint() const { return marked_hint_; }

 private:
  ErrorKind kind_;
  std::string hint_, marked_, marked_hint_;
};

/// One type per kind, so that callers catch what they can handle.
template <ErrorKind kKind>
class ErrorOf : public Error {
 public:
  explicit ErrorOf(const std::string& message, std::string hint = {})
      : Error(kKind, message, std::move(hint)) {}
};

using InternalError = ErrorOf<ErrorKind::kInternal>;
using UsageError = ErrorOf<ErrorKind::kUsage>;
using ConfigError = ErrorOf<ErrorKind::kConfig>;
using DataError = ErrorOf<ErrorKind::kData>;
using ModelFileError = ErrorOf<ErrorKind::kModelFile>;
using DeviceError = ErrorOf<ErrorKind::kDevice>;
using FileError = ErrorOf<ErrorKind::kFile>;
using TrainingError = ErrorOf<ErrorKind::kTraining>;
using InterruptedError = ErrorOf<ErrorKind::kInterrupted>;

}  // namespace protogcd
