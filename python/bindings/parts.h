// The parts of the module, each in a file of its own.
#pragma once

#include <nanobind/nanobind.h>

namespace protogcd::python {

void define_verbs(nanobind::module_& module);
void define_model(nanobind::module_& module);
void define_arrays(nanobind::module_& module);

}  // namespace protogcd::python
