// What work that several processes share needs of the others. One process needs nothing: training
// is written against this interface so that several can share it (process_group.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "protogcd/core/context.h"

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
  /// Rows [S, ...] for the others: the first sent[0] for process 0, the next sent[1] for process 1,
  /// ... Returns the rows that they sent, received[r] of process r, in the order of processes.
  virtual at::Tensor exchange(const at::Tensor& rows, std::span<const std::int64_t> sent,
                              std::span<const std::int64_t> received) = 0;
};

class SingleProcess : public Communicator {
 public:
  std::int64_t rank() const override { return 0; }
  std::int64_t size() const override { return 1; }
  void all_reduce(at::Tensor&) override {}
  at::Tensor all_gather(const at::Tensor& tensor) override { return tensor; }
  void broadcast(at::Tensor&) override {}
  at::Tensor exchange(const at::Tensor& rows, std::span<const std::int64_t>,
                      std::span<const std::int64_t>) override {
    return rows;
  }
};

/// The processes that share this context's work.
std::shared_ptr<Communicator> communicator_of(const Context& context);

/// Whether any process says so: what one finds is then done by all. All must ask, each time.
bool any_process(const Context& context, bool says);
/// The largest of all processes' numbers, for what all must decide alike.
std::int64_t largest_of_processes(const Context& context, std::int64_t own);
/// Work that each process does without the others: where one is told to stop in it, all throw
/// InterruptedError, once they have done theirs.
void stop_together(const Context& context, const std::function<void()>& work);
/// UsageError in every process unless all were given the same: `words` names it and its value
/// ("seed" -> "1"), and a process whose value is not the first one's says which.
void check_same_work(const Context& context, const std::map<std::string, std::string>& words);

/// all_reduce and all_gather that gradients pass through. The loss of a step is the sum of the
/// processes' losses: a gradient that comes back is summed over all of them.
at::Tensor sum_over_processes(const at::Tensor& local, Communicator& communicator);
at::Tensor gather_rows(const at::Tensor& local, Communicator& communicator);

}  // namespace protogcd
