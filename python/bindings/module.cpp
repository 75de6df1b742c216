// protogcd._core: what the Python package stands on. Every call lets other Python threads run while
// it computes; everything a person sees is made in Python (python/protogcd).
#include <nanobind/nanobind.h>

#include "host.h"
#include "parts.h"
#include "protogcd/core/version.h"

NB_MODULE(_core, module) {
  nanobind::set_leak_warnings(false);  // the interpreter may end while a model is alive
  module.attr("version") = protogcd::kVersion;
  module.def("torch_came_first", [] { protogcd::python::CalmThreads::needed = true; });
  module.def("stop_all_calls", protogcd::python::stop_all_calls,
             nanobind::call_guard<nanobind::gil_scoped_release>());
  protogcd::python::register_errors();
  protogcd::python::define_verbs(module);
  protogcd::python::define_model(module);
  protogcd::python::define_arrays(module);
}
