#include "protogcd/nn/communicator.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace protogcd {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Communicator* saved_communicator(AutogradContext* context) {
  return reinterpret_cast<Communicator*>(context->saved_data["communicator"].toInt());
}

void save_communicator(AutogradContext* context, Communicator& communicator) {
  context->saved_data["communicator"] =
      static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&communicator));
}

struct SumOverProcesses : torch::autograd::Function<SumOverProcesses> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& local,
                            Communicator& communicator) {
    save_communicator(context, communicator);
    at::Tensor total = local.clone();
    communicator.all_reduce(total);
    return total;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    at::Tensor total = gradients[0].clone();
    saved_communicator(context)->all_reduce(total);
    return {total, at::Tensor()};
  }
};

struct GatherRows : torch::autograd::Function<GatherRows> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& local,
                            Communicator& communicator) {
    save_communicator(context, communicator);
    return communicator.all_gather(local);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    Communicator& communicator = *saved_communicator(context);
    at::Tensor total = gradients[0].clone();
    communicator.all_reduce(total);
    const std::int64_t rows = total.size(0) / communicator.size();
    return {total.narrow(0, communicator.rank() * rows, rows), at::Tensor()};
  }
};

}  // namespace

std::shared_ptr<Communicator> communicator_of(const Context& context) {
  return context.team ? context.team : std::make_shared<SingleProcess>();
}

bool any_process(const Context& context, bool says) {
  if (!context.team) return says;
  at::Tensor count = at::full({}, says ? 1 : 0, at::kLong);
  context.team->all_reduce(count);
  return count.item<std::int64_t>() > 0;
}

at::Tensor sum_over_processes(const at::Tensor& local, Communicator& communicator) {
  return communicator.size() == 1 ? local : SumOverProcesses::apply(local, communicator);
}

at::Tensor gather_rows(const at::Tensor& local, Communicator& communicator) {
  return communicator.size() == 1 ? local : GatherRows::apply(local, communicator);
}

}  // namespace protogcd
