// A run's folder (sections.h) as its page reads it: refused with an error of ours, or data that can
// be written.
#include <cstdint>

#include "fuzz/sections.h"
#include "fuzz/structured.h"
#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/report/report_data.h"
#include "protogcd/run/run_files.h"

PROTOGCD_MUTATED_BY(mutate_sections)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  constexpr const char* kFiles[] = {
      run_files::kResult,  run_files::kRun,        run_files::kPredictions, "model/model.json",
      run_files::kMetrics, run_files::kLabelNext,  run_files::kFindings,    run_files::kSkipped,
      run_files::kConfig,  run_files::kEmbeddings, run_files::kAttention};
  const fuzz::SectionFolder folder(data, size, kFiles);
  try {
    const RunContents run = read_run(folder.path(), folder / "moved");
    report_data(run, {}, {}).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInternal) __builtin_trap();
  }
  return 0;
}
