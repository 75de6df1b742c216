// A program that answers line by line: what a benchmark compares itself with, kept waiting in
// between.
#pragma once

#include <string>
#include <vector>

namespace protogcd::cli {

class ChildProcess {
 public:
  /// Starts it, found as a shell would; its errors go to ours. UsageError if that fails.
  explicit ChildProcess(std::vector<std::string> command);
  /// Its input is closed, and its end awaited.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void say(const std::string& line);
  /// The next line without its end; UsageError if the program has ended.
  std::string answer();

 private:
  std::string name_;
  int process_ = 0, socket_ = -1;
  std::string received_;
};

}  // namespace protogcd::cli
