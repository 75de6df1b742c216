#include "protogcd/api/discover.h"

#include <fmt/core.h>

#include "protogcd/api/request_options.h"
#include "protogcd/core/error.h"
#include "protogcd/core/machine_options.h"
#include "protogcd/core/text.h"
#include "protogcd/discovery/as_published.h"
#include "protogcd/methods/registry.h"

namespace protogcd {

DiscoverOptions options_of(const DiscoverRequest& request, const Context& context) {
  DiscoverOptions options;
  if (!request.method.empty()) options.train.method = find_method(request.method);
  MachineOptions machine;
  OptionTable table;
  declare_discover_options(table, options);
  declare_machine_options(table, machine);
  for (const auto& [key, value] : request.settings) {
    for (const char* field : {"labelled", "unlabelled", "manifest", "out", "overwrite", "resume",
                              "backbone", "k", "method", "epochs"}) {
      if (key == field)
        throw UsageError(fmt::format("settings: '{}' is a field of the request", key));
    }
    for (const char* field : {"device", "dtype", "threads", "seed"}) {
      if (key == field) throw UsageError(fmt::format("settings: '{}' is the context's", key));
    }
    if (key == "runs") throw UsageError("settings: a request is one run; ask for each");
    Option* option = table.find(key);
    if (option == nullptr) {
      throw UsageError(fmt::format("settings: there is no option '{}'{}", key,
                                   did_you_mean(key, table.file_keys())));
    }
    if (const auto problem = option->assign(std::vector<std::string>{value}, OptionSource::kFlag))
      throw UsageError(fmt::format("{}: {}", option_name(key), *problem));
  }
  table.finish_reading();
  options.bad_images = machine.bad_images;
  options.max_bad = machine.max_bad;
  options.data.labelled = request.labelled;
  options.data.unlabelled = request.unlabelled;
  options.data.manifest = request.manifest;
  options.train.out = request.out;
  options.train.overwrite = request.overwrite;
  options.train.resume = request.resume;
  options.backbone.backbone = request.backbone;
  options.train.k = request.k;
  options.train.loop.schedule.epochs = request.epochs;
  resolve(options, context.log);
  return options;
}

Context context_for(const DiscoverOptions& options, Context context) {
  if (!options.train.as_published.value_or(false) || context.dtype != "auto") return context;
  for (auto& [key, value] : published_settings(*options.train.method, options.data.dataset))
    if (key == "dtype") context.dtype = std::move(value);
  return context;
}

RunResult discover(const DiscoverRequest& request, const Context& context) {
  if (request.out.empty()) throw UsageError(option_name("out") + " is needed: the run's folder");
  const DiscoverOptions options = options_of(request, context);
  return discover(options, context_for(options, context)).result;
}

}  // namespace protogcd
