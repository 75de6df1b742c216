#include "protogcd/report/report.h"

#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/report/page.h"
#include "protogcd/report/report_data.h"

namespace protogcd {

void write_report(const RunContents& run, const FeatureMap& map, const std::filesystem::path& out,
                  const Context& context) {
  if (!has_report_page()) fill_page("");  // says what is missing before the work is done
  const nlohmann::json data = report_data(run, map, context);
  write_file_atomically(
      out, fill_page(data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
}

void write_report(const std::filesystem::path& run, const std::filesystem::path& out,
                  const Context& context) {
  if (!has_report_page()) fill_page("");
  const RunContents contents = read_run(run);
  write_report(contents, feature_map(contents, context), out, context);
}

}  // namespace protogcd
