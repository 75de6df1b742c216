// `protogcd info`: what this build can do on this machine; the first thing to paste into a bug
// report.
#include <fmt/core.h>

#include "protogcd/cli/verbs.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/core/version.h"
#include "protogcd/image/decode.h"
#ifdef PROTOGCD_WITH_TORCH
#include "protogcd/cli/terminal.h"
#include "protogcd/nn/device.h"
#endif

namespace protogcd::cli {
namespace {

void print_info(Session& session) {
  nlohmann::json info = {{"version", kVersion},
                         {"threads", session.context.threads},
                         {"image_formats", supported_image_formats()}};
#ifdef PROTOGCD_WITH_TORCH
  const ComputeDevice device = resolve_device(session.context.device);
  info["torch"] = torch_version();
  info["cpu"] = cpu_capability();
  info["cuda_devices"] = cuda_device_names();
  info["device"] = device.name();
#endif
  if (session.json()) {
    session.print_json(info);
    return;
  }
  for (const auto& [key, value] : info.items()) {
    say("{:14} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

}  // namespace

Verb info_verb() {
  return {.name = "info",
          .summary = "version, libraries and devices this build sees",
          .example = "protogcd info --json",
          .declare = [](OptionTable&) -> Action { return print_info; }};
}

}  // namespace protogcd::cli
