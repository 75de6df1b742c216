// `protogcd report`: a run as one HTML page.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/report/report.h"

namespace protogcd::cli {
namespace {

struct ReportVerbOptions {
  std::filesystem::path run, out;
  bool overwrite = false;
};

void report(const ReportVerbOptions& options, Session& session) {
  if (!std::filesystem::is_directory(options.run))
    throw UsageError(fmt::format("RUN: there is no folder '{}'", options.run.string()));
  const auto out = options.out.empty() ? options.run / "report.html" : options.out;
  // The run's own page is made again without asking: nothing else is lost by it.
  check_output_file(out, options.overwrite || options.out.empty(), "--out");
  const InterruptGuard interrupt;
  Context context = session.context;
  context.interrupt = &interrupt;
  write_report(options.run, out, context);
  if (session.json()) return session.print_json({{"out", out.string()}});
  fmt::print("{}: open it in a browser\n", out.string());
}

}  // namespace

Verb report_verb() {
  return {.name = "report",
          .summary = "a run as one HTML page: classes, map, outliers, training",
          .example = "protogcd report run",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<ReportVerbOptions>();
            table.add("run", &options->run, "the folder of a finished run")
                .value_name("RUN")
                .positional()
                .required();
            table
                .add("out", &options->out, "the page; report.html in the run's folder if not given")
                .value_name("FILE.html");
            table.add("overwrite", &options->overwrite, "replace the file").flag_only();
            return [options](Session& session) { report(*options, session); };
          }};
}

}  // namespace protogcd::cli
