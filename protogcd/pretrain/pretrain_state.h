// What an unfinished pre-training is kept in: one file beside its output, replaced atomically.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "protogcd/nn/adamw.h"
#include "protogcd/nn/flat_parameters.h"
#include "protogcd/nn/state_file.h"

namespace protogcd {

class PretrainState {
 public:
  /// `identity` says what the numbers depend on, by name.
  PretrainState(std::filesystem::path file, std::map<std::string, std::string> identity);

  /// `step` is the next one to do; `sums` is what the steps since the last report gave.
  void save(std::int64_t step, const at::Tensor& sums, const FlatParameters& parameters,
            const AdamW& optimiser) const;
  /// Sets parameters, optimiser and sums, and returns the next step. ModelFileError where the file
  /// is damaged, UsageError (naming what differs) where it is another run's.
  std::int64_t load(at::Tensor& sums, FlatParameters& parameters, AdamW& optimiser) const;

 private:
  std::filesystem::path file_;
  StateFileKind kind_;
};

}  // namespace protogcd
