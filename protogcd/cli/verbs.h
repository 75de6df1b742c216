// Every verb of the program, in the order `protogcd --help` lists them.
#pragma once

#include <vector>

#include "protogcd/cli/verb.h"

namespace protogcd::cli {

std::vector<Verb> all_verbs();

// One file each: verb_<name>.cpp.
Verb bench_backbone_verb();
Verb bench_cluster_verb();
Verb bench_embed_verb();
Verb bench_images_verb();
Verb bench_processes_verb();
Verb bench_train_verb();
Verb bench_tsne_verb();
Verb cluster_verb();
Verb completion_verb();
Verb corrupt_verb();
Verb datasets_info_verb();
Verb datasets_list_verb();
Verb datasets_make_demo_verb();
Verb datasets_make_shapes_verb();
Verb datasets_split_verb();
Verb datasets_verify_verb();
Verb discover_verb();
Verb embed_verb();
Verb estimate_k_verb();
Verb evaluate_verb();
Verb gather_verb();
Verb info_verb();
Verb methods_verb();
Verb ood_verb();
Verb report_verb();
Verb labels_verb();
Verb sort_verb();
Verb compare_verb();
Verb predict_verb();
Verb retrieve_verb();
Verb attention_verb();
Verb pretrain_verb();
Verb sweep_verb();
Verb train_verb();
Verb weights_convert_verb();
Verb weights_export_verb();
Verb weights_get_verb();
Verb weights_import_verb();
Verb weights_inspect_verb();
Verb weights_list_verb();

}  // namespace protogcd::cli
