// Text as result.json: refused with a ModelFileError, or a result that can be told in words and
// is the same after it is written.
#include <cstdint>
#include <string_view>

#include "fuzz/structured.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/scratch_folder.h"
#include "protogcd/run/run_result.h"

PROTOGCD_MUTATED_BY(mutate_json)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  static const ScratchFolder folder;
  const auto file = folder / "result.json", again = folder / "again.json";
  write_file_atomically(file, {reinterpret_cast<const char*>(data), size});
  try {
    const RunResult result = read_result(file);
    in_words(result.on_unlabelled);
    in_words_with_intervals(result.on_unlabelled);
    outliers_in_words(result);
    suspect_in_words(result);
    if (result.estimate) result.estimate->in_words();
    if (result.tuning) result.tuning->in_words();
    if (result.from) result.from->in_words();
    if (result.confidence) result.confidence->in_words();
    if (result.by_epoch) in_words(*result.by_epoch);
    if (result.findings) in_words(*result.findings);
    write_result(again, result);
    const std::string text = read_text_file(again);
    write_result(again, read_result(again));
    if (read_text_file(again) != text) __builtin_trap();
    const RunResult runs[] = {result, result};
    write_result(again, runs);
  } catch (const ModelFileError&) {
  }
  return 0;
}
