// A Python interpreter that runs a script of ours beside the program: a line goes in, a line comes
// back.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace protogcd::cli {

class PythonProcess {
 public:
  /// `python -c script arguments...`. `needs` says what the interpreter must be able to import.
  PythonProcess(const std::string& python, const std::string& script,
                const std::vector<std::string>& arguments, std::string needs);
  ~PythonProcess();  ///< the script sees the end of its input
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  /// The next line that the script prints. Throws UsageError naming --python where it has ended.
  std::string read_line();
  /// Sends a line and waits for the answer.
  std::string ask(const std::string& line);

 private:
  std::string python_, needs_;
  pid_t process_ = 0;
  std::FILE* input_ = nullptr;   ///< what the script reads
  std::FILE* output_ = nullptr;  ///< what the script prints
};

}  // namespace protogcd::cli
