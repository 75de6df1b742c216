// `protogcd report`: a run as one HTML page.
#include <fmt/core.h>

#include <memory>

#include "protogcd/cli/interrupt.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/report/page.h"
#include "protogcd/report/report.h"
#include "protogcd/report/run_export.h"
#include "protogcd/run/run_files.h"

namespace protogcd::cli {
namespace {

struct ReportVerbOptions {
  std::filesystem::path run, out, exports, images_root;
  bool overwrite = false;
};

/// How many images were found below --images-root, and how many nowhere.
void tell_located(const RunContents& run, const std::filesystem::path& root, const Logger& log) {
  const LocatedImages& located = run.located;
  if (root.empty() || located.moved + located.missing == 0) return;
  const std::string found = fmt::format("{} of {} images were found below {}", located.moved,
                                        located.files.size(), root.string());
  if (located.missing == 0) {
    log.info(found);
  } else {
    log.warning(fmt::format("{}; {} {} missing, there and where the run saw them", found,
                            located.missing, located.missing == 1 ? "is" : "are"));
  }
}

/// An error of the page does not hide that an export was written before it.
void write_page(const RunContents& run, const FeatureMap& map, const std::filesystem::path& out,
                const std::filesystem::path& exports, const Context& context) {
  try {
    write_report(run, map, out, context);
  } catch (const Error& error) {
    if (exports.empty()) throw;
    throw Error(error.kind(),
                fmt::format("{} (no page was written, but the export in {} is complete)",
                            error.marked(), exports.string()),
                error.marked_hint());
  }
}

void report(const ReportVerbOptions& options, Session& session) {
  if (!std::filesystem::is_directory(options.run))
    throw UsageError(fmt::format("RUN: there is no folder '{}'", options.run.string()));
  if (!options.images_root.empty() && !std::filesystem::is_directory(options.images_root)) {
    throw UsageError(
        fmt::format("--images-root: there is no folder '{}'", options.images_root.string()));
  }
  const auto out = options.out.empty() ? options.run / run_files::kReport : options.out;
  // The run's own page is made again without asking: nothing else is lost by it.
  check_output_file(out, options.overwrite || options.out.empty(), "out");
  if (!options.exports.empty()) check_output_path(options.exports, options.overwrite, "export");
  const InterruptGuard interrupt(session.host_stop);
  Context context = session.context;
  context.stop = interrupt.token();
  const RunContents run = read_run(options.run, options.images_root);
  tell_located(run, options.images_root, context.log);
  const FeatureMap map = feature_map(run, context);
  nlohmann::json json;
  if (!options.exports.empty()) {
    export_run(run, map, options.exports, context);
    json["export"] = options.exports.string();
    if (!session.json())
      say("{}: images.csv, and for tensorboard --logdir\n", options.exports.string());
  }
  if (has_report_page() || options.exports.empty()) {
    write_page(run, map, out, options.exports, context);
    json["out"] = out.string();
    if (!session.json()) say("{}: open it in a browser\n", out.string());
  } else {
    context.log.warning("this build of protogcd has no report page: only exports are written");
  }
  if (session.json()) session.print_json(json);
}

}  // namespace

Verb report_verb() {
  return {.name = "report",
          .summary = "a run as one HTML page: classes, map, outliers, training",
          .example = "protogcd report run --export run-export",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<ReportVerbOptions>();
            table.add("run", &options->run, "the folder of a finished run")
                .value_name("RUN")
                .positional()
                .required();
            table
                .add("out", &options->out, "the page; report.html in the run's folder if not given")
                .value_name("FILE.html");
            table
                .add("images_root", &options->images_root,
                     "where the images are now, if they were moved")
                .value_name("DIR");
            table
                .add("export", &options->exports,
                     "a folder for other tools: images.csv (Spotlight, FiftyOne) and the files of "
                     "TensorBoard's projector")
                .value_name("DIR");
            table.add("overwrite", &options->overwrite, "replace what is there").flag_only();
            return [options](Session& session) { report(*options, session); };
          }};
}

}  // namespace protogcd::cli
