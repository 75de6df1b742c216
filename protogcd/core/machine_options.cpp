#include "protogcd/core/machine_options.h"

#include "protogcd/core/text.h"

namespace protogcd {
namespace {

/// Whether there is such a device is found out by the verbs that compute on it.
bool is_device_choice(std::string_view text) {
  if (!text.starts_with("cuda:")) return text == "auto" || text == "cpu" || text == "cuda";
  return parse_unsigned(text.substr(5)).has_value();
}

}  // namespace

void declare_machine_options(OptionTable& table, MachineOptions& options) {
  table.begin_group("Machine");
  table.add("device", &options.device, "where to compute: auto, cpu, cuda or cuda:N")
      .matching(is_device_choice, "auto, cpu, cuda or cuda:N")
      .value_name("DEVICE")
      .usual();
  // A verb that writes numbers may have a --dtype of its own, for them.
  if (table.find("dtype") == nullptr) {
    table
        .add(
            "dtype", &options.dtype,
            "arithmetic of the frozen backbone; tf32: float32, and on CUDA products of 10 bits, as "
            "the published runs")
        .one_of({"auto", "float32", "tf32", "bfloat16", "float64"});
  }
  table.add("threads", &options.threads, "CPU threads, 0 = all").at_least(0).at_most(4096);
  table.add("seed", &options.seed, "seed of everything random").usual();
  table.add("bad_images", &options.bad_images, "what to do with an image that cannot be read")
      .one_of({"skip", "fail"});
  table
      .add("max_bad", &options.max_bad,
           "more images than this that cannot be read are an error: a share (1%), a number, or "
           "auto: 1%, but at least 5")
      .matching(BadImagePolicy::is_limit, BadImagePolicy::kLimitWords)
      .value_name("LIMIT");
}

}  // namespace protogcd
