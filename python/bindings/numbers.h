// Numbers to numpy arrays without a copy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace protogcd::python {

/// A numpy array of this shape that owns the numbers.
template <class Number>
nanobind::object array_of(std::vector<Number>&& values, std::initializer_list<std::size_t> shape) {
  auto owned = std::make_unique<std::vector<Number>>(std::move(values));
  Number* first = owned->data();
  const nanobind::capsule owner(owned.release(), [](void* numbers) noexcept {
    delete static_cast<std::vector<Number>*>(numbers);
  });
  return nanobind::cast(nanobind::ndarray<nanobind::numpy, Number>(first, shape, owner));
}

}  // namespace protogcd::python
