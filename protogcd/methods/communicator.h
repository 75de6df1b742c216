// What a training step needs of the other processes that train with it. One process needs nothing:
// the step is written against this interface so that several can share the work.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace protogcd {

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual std::int64_t rank() const = 0;
  virtual std::int64_t size() const = 0;
  /// Sum over all processes, in place.
  virtual void all_reduce(at::Tensor& tensor) = 0;
  /// [B, ...] of each process -> [size * B, ...], by rank.
  virtual at::Tensor all_gather(const at::Tensor& tensor) = 0;
  /// The first process's values, in place.
  virtual void broadcast(at::Tensor& tensor) = 0;
};

class SingleProcess : public Communicator {
 public:
  std::int64_t rank() const override { return 0; }
  std::int64_t size() const override { return 1; }
  void all_reduce(at::Tensor&) override {}
  at::Tensor all_gather(const at::Tensor& tensor) override { return tensor; }
  void broadcast(at::Tensor&) override {}
};

/// all_reduce and all_gather that gradients pass through. The loss of a step is the sum of the
/// processes' losses: a gradient that comes back is summed over all of them.
at::Tensor sum_over_processes(const at::Tensor& local, Communicator& communicator);
at::Tensor gather_rows(const at::Tensor& local, Communicator& communicator);

}  // namespace protogcd
