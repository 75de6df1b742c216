// What needs no images: clustering, maps, counting and matching of plain arrays.
#include <ATen/ATen.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "host.h"
#include "numbers.h"
#include "parts.h"
#include "protogcd/analysis/accuracy.h"
#include "protogcd/analysis/tsne.h"
#include "protogcd/cluster/kmeans.h"
#include "protogcd/cluster/semi_supervised_kmeans.h"
#include "protogcd/core/json.h"
#include "protogcd/discovery/class_number_search.h"
#include "protogcd/discovery/neighbour_count.h"
#include "protogcd/nn/device.h"
#include "protogcd/nn/head.h"
#include "protogcd/run/class_number.h"

namespace protogcd::python {
namespace {

using Rows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ClassNumbers = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

at::Tensor tensor_of(const Rows& rows) {
  return at::from_blob(
      const_cast<float*>(rows.data()),
      {static_cast<std::int64_t>(rows.shape(0)), static_cast<std::int64_t>(rows.shape(1))},
      at::kFloat);
}

at::Tensor tensor_of(const Numbers& numbers) {
  return at::from_blob(const_cast<std::int64_t*>(numbers.data()),
                       {static_cast<std::int64_t>(numbers.shape(0))}, at::kLong);
}

template <class Number>
std::vector<Number> values_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous().view(-1);
  const auto* first = flat.const_data_ptr<Number>();
  return {first, first + flat.numel()};
}

nb::tuple to_tuple(const Clustering& found) {
  const auto n = static_cast<std::size_t>(found.labels.size(0)),
             k = static_cast<std::size_t>(found.centroids.size(0)),
             width = static_cast<std::size_t>(found.centroids.size(1));
  return nb::make_tuple(array_of(values_of<std::int64_t>(found.labels), {n}),
                        array_of(values_of<float>(found.centroids), {k, width}), found.inertia,
                        found.iterations);
}

/// What every function of arrays does around its work.
template <class Work>
auto compute(std::size_t threads, bool is_main_thread, const Work& work) {
  const StopToken stop;
  const CallUnderWay under_way(stop);
  const nb::gil_scoped_release unlocked;
  const CallGuard guard(stop, is_main_thread);
  const ComputeThreads compute_threads(threads);
  return work(stop);
}

nb::tuple cluster(const Rows& rows, const Numbers& labels, std::int64_t k, std::int64_t starts,
                  std::int64_t max_iterations, double tolerance, std::uint64_t seed,
                  std::size_t threads, bool is_main_thread) {
  return to_tuple(compute(threads, is_main_thread, [&](const StopToken& stop) {
    const KMeansOptions options{.k = k,
                                .starts = starts,
                                .max_iterations = max_iterations,
                                .tolerance = tolerance,
                                .seed = seed,
                                .stop = stop};
    const Points points(tensor_of(rows), "X");
    return labels.shape(0) == 0 ? kmeans(points, options)
                                : semi_supervised_kmeans(points, tensor_of(labels), options);
  }));
}

nb::object map_of(const Rows& rows, double perplexity, int iterations, std::uint64_t seed,
                  std::size_t threads, bool is_main_thread) {
  std::vector<float> points = compute(threads, is_main_thread, [&](const StopToken& stop) {
    return tsne({rows.data(), rows.size()}, rows.shape(1),
                {.perplexity = perplexity,
                 .iterations = iterations,
                 .seed = seed,
                 .threads = threads,
                 .keep_going = [&](int) { return !stop.stop_requested(); }});
  });
  return array_of(std::move(points), {rows.shape(0), std::size_t{2}});
}

/// JSON as `estimate-k --json` has it; null where neighbours say nothing.
std::string count_classes(const Rows& labelled, const Numbers& labels, const Rows& unlabelled,
                          std::int64_t k_max, std::size_t threads, bool is_main_thread) {
  return compute(threads, is_main_thread, [&](const StopToken& stop) -> std::string {
    const auto found = count_by_neighbours(unit_rows(tensor_of(labelled)), tensor_of(labels),
                                           unit_rows(tensor_of(unlabelled)), stop);
    if (!found) return "null";
    const ClassNumberPeak peak = likely_numbers(*found, k_max);
    ClassNumber result{.k = peak.k,
                       .k_old = found->old_classes,
                       .low = peak.low,
                       .high = peak.high,
                       .sureness = peak.k == k_max ? Sureness::kUnsure : peak.sureness,
                       .basis = ClassNumberBasis::kNeighbours,
                       .is_largest = peak.k == k_max};
    result.neighbours = {.purity = found->purity,
                         .labelled_share = found->labelled_share,
                         .class_size = found->class_size};
    return result.to_json().dump();
  });
}

/// class_of_cluster, NMI, ARI.
nb::tuple match(const ClassNumbers& predictions, const ClassNumbers& truths) {
  const Confusion confusion({predictions.data(), predictions.size()},
                            {truths.data(), truths.size()});
  ClusterMapping mapping = match_clusters(confusion);
  const std::size_t clusters = mapping.class_of_cluster.size();
  return nb::make_tuple(array_of(std::move(mapping.class_of_cluster), {clusters}),
                        normalized_mutual_information(confusion), adjusted_rand_index(confusion));
}

}  // namespace

void define_arrays(nb::module_& module) {
  module.def("cluster", cluster, nb::arg("rows"), nb::arg("labels"), nb::arg("k"),
             nb::arg("starts"), nb::arg("max_iterations"), nb::arg("tolerance"), nb::arg("seed"),
             nb::arg("threads"), nb::arg("is_main_thread"));
  module.def("tsne", map_of, nb::arg("rows"), nb::arg("perplexity"), nb::arg("iterations"),
             nb::arg("seed"), nb::arg("threads"), nb::arg("is_main_thread"));
  module.def("count_classes", count_classes, nb::arg("labelled"), nb::arg("labels"),
             nb::arg("unlabelled"), nb::arg("k_max"), nb::arg("threads"),
             nb::arg("is_main_thread"));
  module.def("match", match, nb::arg("predictions"), nb::arg("truths"));
}

}  // namespace protogcd::python
