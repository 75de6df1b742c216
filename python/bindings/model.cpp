// A trained model: images in files or in memory to classes and features.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <span>
#include <thread>

#include "host.h"
#include "numbers.h"
#include "parts.h"
#include "protogcd/api/model.h"
#include "protogcd/data/user_data.h"

namespace protogcd::python {
namespace {

/// A call changes who the model speaks to, so calls of several threads take turns.
struct PythonModel {
  Model model;
  std::mutex turn = {};
  std::atomic<std::thread::id> whose = {};  ///< turn it is
};

using Pixels = nb::ndarray<const std::uint8_t, nb::shape<-1, -1, 3>, nb::c_contig, nb::device::cpu>;

/// Paths, or images in memory that the list keeps alive.
struct Images {
  std::vector<std::filesystem::path> paths;
  std::vector<ImageInMemory> in_memory;
  std::vector<Pixels> arrays;
  bool has_paths = false;
};

Images images_of(const nb::list& items) {
  Images images;
  std::size_t place = 0;
  for (const nb::handle item : items) {
    const std::string name = "image " + std::to_string(place++);
    if (nb::isinstance<nb::bytes>(item)) {
      const auto bytes = nb::borrow<nb::bytes>(item);
      images.in_memory.push_back({.name = name,
                                  .encoded = std::as_bytes(std::span(
                                      static_cast<const char*>(bytes.data()), bytes.size()))});
    } else if (nb::isinstance<nb::str>(item)) {
      images.paths.push_back(nb::cast<std::filesystem::path>(item));
    } else {
      const Pixels array = nb::cast<Pixels>(item);
      images.arrays.push_back(array);
      images.in_memory.push_back({.name = name,
                                  .pixels = {array.data(), array.size()},
                                  .width = static_cast<int>(array.shape(1)),
                                  .height = static_cast<int>(array.shape(0))});
    }
  }
  if (!images.paths.empty() && !images.in_memory.empty())
    throw UsageError("images: some are paths and some are in memory; ask for each kind by itself");
  images.has_paths = images.in_memory.empty();
  return images;
}

nb::list unread_of(const std::vector<UnreadImage>& unread) {
  nb::list rows;
  for (const UnreadImage& image : unread)
    rows.append(nb::make_tuple(path_of(image.path), text_of(image.reason)));
  return rows;
}

/// A call's context: the model's own, speaking to this caller.
template <class Work>
auto work_with(PythonModel& self, nb::object log, nb::object progress, bool is_main_thread,
               const Work& work) {
  if (self.whose == std::this_thread::get_id())
    throw UsageError("progress=: what a model calls while it works cannot use the model");
  const Context host = host_context(std::move(log), std::move(progress));
  const CallUnderWay under_way(host.stop);
  const nb::gil_scoped_release unlocked;
  const std::lock_guard turn(self.turn);
  const CallGuard guard(host.stop, is_main_thread);
  self.whose = std::this_thread::get_id();
  self.model.speak_to(host);
  const auto end = [&] {
    self.model.speak_to({});
    self.whose = std::thread::id();
  };
  try {
    auto result = work(self.model);
    end();
    return result;
  } catch (...) {
    end();
    throw;
  }
}

/// Python owns what it gets.
PythonModel* load(const std::filesystem::path& run, const std::filesystem::path& backbone,
                  const std::string& device, const std::string& dtype, std::size_t threads) {
  const nb::gil_scoped_release unlocked;
  Context context;
  context.device = device;
  context.dtype = dtype;
  context.threads = threads;
  return new PythonModel{Model::load(run, context, backbone)};
}

nb::dict to_dict(PredictedImages&& found, std::size_t classes) {
  const std::size_t n = found.images.size();
  std::vector<float> typicality(n), confidence(n);
  std::vector<double> outlier_score(n), stability(n);
  std::vector<std::int8_t> is_outlier(n);
  nb::list paths, labels;
  std::vector<std::int8_t> is_new(n);
  for (std::size_t i = 0; i < n; ++i) {
    const PredictedImage& image = found.images[i];
    paths.append(path_of(image.path));
    labels.append(text_of(image.class_name));
    is_new[i] = image.is_new ? 1 : 0;
    confidence[i] = static_cast<float>(image.confidence);
    typicality[i] = static_cast<float>(image.typicality);
    outlier_score[i] = image.outlier_score;
    is_outlier[i] = static_cast<std::int8_t>(image.is_outlier ? (*image.is_outlier ? 1 : 0) : -1);
    stability[i] = image.stability.value_or(std::numeric_limits<double>::quiet_NaN());
  }
  nb::dict result;
  result["path"] = paths;
  result["label"] = labels;
  result["position"] =
      array_of(std::vector<std::int64_t>(found.positions.begin(), found.positions.end()), {n});
  result["is_new"] = array_of(std::move(is_new), {n});
  result["confidence"] = array_of(std::move(confidence), {n});
  result["typicality"] = array_of(std::move(typicality), {n});
  result["outlier_score"] = array_of(std::move(outlier_score), {n});
  result["is_outlier"] = array_of(std::move(is_outlier), {n});
  result["stability"] = array_of(std::move(stability), {n});
  if (!found.probabilities.empty())
    result["probabilities"] = array_of(std::move(found.probabilities), {n, classes});
  result["unread"] = unread_of(found.unread);
  return result;
}

nb::dict predict(PythonModel& self, const nb::list& items, bool probabilities, nb::object log,
                 nb::object progress, bool is_main_thread) {
  const Images images = images_of(items);
  return to_dict(work_with(self, std::move(log), std::move(progress), is_main_thread,
                           [&](const Model& model) {
                             return images.has_paths
                                        ? model.predict(images.paths, probabilities)
                                        : model.predict(images.in_memory, probabilities);
                           }),
                 self.model.classes().size());
}

nb::dict predict_folder(PythonModel& self, const std::filesystem::path& folder, bool probabilities,
                        nb::object log, nb::object progress, bool is_main_thread) {
  return to_dict(
      work_with(self, std::move(log), std::move(progress), is_main_thread,
                [&](const Model& model) { return model.predict_folder(folder, probabilities); }),
      self.model.classes().size());
}

nb::tuple embed(PythonModel& self, const nb::list& items, nb::object log, nb::object progress,
                bool is_main_thread) {
  const Images images = images_of(items);
  EmbeddedImages found =
      work_with(self, std::move(log), std::move(progress), is_main_thread, [&](const Model& model) {
        return images.has_paths ? model.embed(images.paths) : model.embed(images.in_memory);
      });
  const std::size_t n = found.positions.size();
  return nb::make_tuple(
      array_of(std::vector<std::int64_t>(found.positions.begin(), found.positions.end()), {n}),
      array_of(std::move(found.values), {n, static_cast<std::size_t>(found.width)}),
      unread_of(found.unread));
}

}  // namespace

void define_model(nb::module_& module) {
  module.def(
      "list_images",
      [](const std::filesystem::path& folder) {
        nb::list paths;
        const SourceTable sources = load_images(folder).sources;
        for (std::size_t i = 0; i < sources.size(); ++i) paths.append(path_of(sources.path(i)));
        return paths;
      },
      nb::arg("folder"));
  nb::class_<PythonModel>(module, "Model")
      .def_static("load", load, nb::arg("run"), nb::arg("backbone"), nb::arg("device"),
                  nb::arg("dtype"), nb::arg("threads"), nb::rv_policy::take_ownership)
      .def_prop_ro("classes", [](const PythonModel& self) { return self.model.classes(); })
      .def_prop_ro("old_classes", [](const PythonModel& self) { return self.model.old_classes(); })
      .def("predict", predict, nb::arg("images"), nb::arg("probabilities"), nb::arg("log").none(),
           nb::arg("progress").none(), nb::arg("is_main_thread"))
      .def("predict_folder", predict_folder, nb::arg("folder"), nb::arg("probabilities"),
           nb::arg("log").none(), nb::arg("progress").none(), nb::arg("is_main_thread"))
      .def("embed", embed, nb::arg("images"), nb::arg("log").none(), nb::arg("progress").none(),
           nb::arg("is_main_thread"));
}

}  // namespace protogcd::python
