#include "protogcd/cli/verbs.h"

namespace protogcd::cli {

std::vector<Verb> all_verbs() {
  return {
#ifdef PROTOGCD_WITH_TORCH
      discover_verb(),
      train_verb(),
      methods_verb(),
      estimate_k_verb(),
      evaluate_verb(),
      predict_verb(),
      ood_verb(),
      retrieve_verb(),
      attention_verb(),
      sweep_verb(),
      pretrain_verb(),
#endif
      datasets_list_verb(),
      datasets_info_verb(),
      datasets_verify_verb(),
      datasets_split_verb(),
      datasets_make_demo_verb(),
      datasets_make_shapes_verb(),
      report_verb(),
      labels_verb(),
      sort_verb(),
      compare_verb(),
      corrupt_verb(),
      gather_verb(),
#ifdef PROTOGCD_WITH_TORCH
      embed_verb(),
      cluster_verb(),
      weights_list_verb(),
      weights_get_verb(),
      weights_inspect_verb(),
      weights_convert_verb(),
      weights_export_verb(),
      weights_import_verb(),
      bench_backbone_verb(),
      bench_cluster_verb(),
      bench_embed_verb(),
      bench_train_verb(),
      bench_processes_verb(),
      bench_tsne_verb(),
#endif
      bench_images_verb(),
      info_verb(),
      completion_verb()};
}

}  // namespace protogcd::cli
