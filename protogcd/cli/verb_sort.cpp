// `protogcd sort`: images into a folder for each class that a model found.
#include <fmt/core.h>

#include <memory>

#include "protogcd/cli/interrupt.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/data/skipped.h"
#include "protogcd/report/sorted_folders.h"

namespace protogcd::cli {
namespace {

void sort_images(const SortOptions& options, Session& session) {
  if (!std::filesystem::exists(options.from))
    throw UsageError(fmt::format("FROM: there is no '{}'", options.from.string()));
  const InterruptGuard interrupt(session.host_stop);
  Context context = session.context;
  context.stop = interrupt.token();
  const SortSummary summary = sort_into_folders(options, context);
  if (session.json()) {
    return session.print_json({{"out", options.out.string()},
                               {"images", summary.images},
                               {"classes", summary.classes},
                               {"missing", summary.missing}});
  }
  say("{}: {} images {} into {} folders, a sheet of each in contact-sheets\n", options.out.string(),
      summary.images, options.link ? "linked" : "copied", summary.classes);
  if (summary.missing > 0) {
    say("{} images are no longer there or cannot be read, see {}\n", summary.missing,
        (options.out / kSkippedFile).string());
  }
}

}  // namespace

Verb sort_verb() {
  return {.name = "sort",
          .summary = "copy or link images into a folder for each class, with a sheet of each",
          .example = "protogcd sort run --out sorted",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<SortOptions>();
            table.add("from", &options->from, "a run's folder, or a table of predictions")
                .value_name("RUN|FILE.csv")
                .positional()
                .required();
            table.add("out", &options->out, "the folder of folders").value_name("DIR").required();
            table.add("link", &options->link, "symbolic links instead of copies: no room is taken")
                .flag_only();
            table
                .add("with_labelled", &options->with_labelled,
                     "of a run: also the images that were labelled")
                .flag_only();
            table
                .add("images_root", &options->images_root,
                     "where the images are now, if they were moved")
                .value_name("DIR");
            table.add("overwrite", &options->overwrite, "replace an earlier folder of this kind")
                .flag_only();
            return [options](Session& session) { sort_images(*options, session); };
          }};
}

}  // namespace protogcd::cli
