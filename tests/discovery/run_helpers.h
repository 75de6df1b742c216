// A tiny collection of drawn images, a tiny random backbone, and the command that trains on them.
#pragma once

#include <string>
#include <vector>

#include "protogcd/core/json.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd::testing {

/// Leaves out the flags of heads that a method does not have, and makes wide projections narrow.
std::vector<std::string> fit_to_method(std::vector<std::string> words, const std::string& method);

struct TinyRun {
  /// `per_class` images of each of 16 drawn categories; 10 of those are old.
  explicit TinyRun(int per_class = 6);

  /// `train` or `discover` into folder/NAME, three short epochs in float32.
  std::vector<std::string> command(const std::string& verb, const std::string& name,
                                   const std::vector<std::string>& more = {}) const;
  std::vector<std::string> train(const std::string& name,
                                 const std::vector<std::string>& more = {}) const {
    return command("train", name, more);
  }

  std::string read(const std::string& name) const;
  /// metrics.jsonl without the times.
  std::vector<nlohmann::json> metrics(const std::string& run) const;
  /// Model, predictions and metrics of two runs, bit for bit.
  void expect_same(const std::string& run, const std::string& other) const;

  TemporaryFolder folder;
};

/// The program's answer to `--json`; fails the test with its errors if there is none.
nlohmann::json json_of(const ProgramResult& result);

}  // namespace protogcd::testing
