// `protogcd weights export`: the network of a trained model, for other programs.
#include <fmt/core.h>

#include <memory>

#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/model/onnx_export.h"
#include "protogcd/model/stored_model.h"

namespace protogcd::cli {
namespace {

struct ExportOptions {
  std::filesystem::path model, backbone, out;
  bool overwrite = false;
};

void export_weights(const ExportOptions& options, Session& session) {
  const std::string ending = options.out.extension().string();
  if (ending != ".safetensors" && ending != ".onnx") {
    throw UsageError(
        fmt::format("--out: '{}' ends in neither .safetensors nor .onnx", options.out.string()));
  }
  check_output_file(options.out, options.overwrite, "out");
  const StoredModel model = open_stored_model(options.model, options.backbone);
  if (ending == ".onnx") {
    write_onnx(options.out, model);
  } else {
    save_backbone(options.out, model.backbone.vit, model.info.preprocessing, ElementType::kFloat32);
  }
  const auto bytes = std::filesystem::file_size(options.out);
  if (session.json()) {
    session.print_json({{"out", options.out.string()},
                        {"bytes", bytes},
                        {"width", model.info.width},
                        {"k", model.info.k()},
                        {"image_size", model.info.preprocessing.size}});
    return;
  }
  say("{}: {}\n", options.out.string(), human_bytes(bytes));
}

}  // namespace

Verb weights_export_verb() {
  return {
      .name = "weights export",
      .summary = "the trained network of a run as a backbone (safetensors) or for ONNX",
      .example =
          "protogcd weights export --model run --out trained.safetensors\n"
          "  protogcd weights export --model run --out trained.onnx",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<ExportOptions>();
        table.add("model", &options->model, "the folder of a finished run")
            .value_name("RUN")
            .required();
        table
            .add("backbone", &options->backbone,
                 "where the model's backbone is now, if it was moved")
            .value_name("FILE");
        table
            .add("out", &options->out,
                 "a backbone if it ends in .safetensors; backbone and classes if in .onnx")
            .value_name("FILE")
            .required();
        table.add("overwrite", &options->overwrite, "replace the file if it exists").flag_only();
        return [options](Session& session) { export_weights(*options, session); };
      }};
}

}  // namespace protogcd::cli
