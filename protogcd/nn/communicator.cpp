#include "protogcd/nn/communicator.h"

#include <ATen/ATen.h>
#include <fmt/core.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

using namespace std::string_view_literals;
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

/// The first process's text.
std::string text_of_first(std::string text, Communicator& team) {
  at::Tensor length = at::full({}, static_cast<std::int64_t>(text.size()), at::kLong);
  team.broadcast(length);
  text.resize(static_cast<std::size_t>(length.item<std::int64_t>()));
  at::Tensor bytes = at::empty({length.item<std::int64_t>()}, at::kByte);
  std::memcpy(bytes.data_ptr(), text.data(), text.size());
  team.broadcast(bytes);
  std::memcpy(text.data(), bytes.const_data_ptr(), text.size());
  return text;
}

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

std::int64_t largest_of_processes(const Context& context, std::int64_t own) {
  if (!context.team) return own;
  return context.team->all_gather(at::full({1}, own, at::kLong)).max().item<std::int64_t>();
}

void stop_together(const Context& context, const std::function<void()>& work) {
  try {
    work();
  } catch (const InterruptedError&) {
    any_process(context, true);
    throw;
  }
  if (any_process(context, false)) {
    throw InterruptedError(
        "another process was told to stop",
        fmt::format("repeat the command, with {} where it has begun", option_name("resume")));
  }
}

void check_same_work(const Context& context, const std::map<std::string, std::string>& words) {
  if (!context.team) return;
  std::string own;
  for (const auto& [name, value] : words)
    own += fmt::format("{}{} {}", own.empty() ? ""sv : "\0"sv, name, value);
  const std::string first = text_of_first(own, *context.team);
  const bool differs = own != first;
  if (!any_process(context, differs)) return;
  std::string problem = "another process was given other work than the first";
  if (differs) {
    const std::vector<std::string> ours = split(own, '\0'), theirs = split(first, '\0');
    const auto [mine, its] = std::ranges::mismatch(ours, theirs);
    problem =
        fmt::format("process {} of {} was given other work than the first: {}, not {}",
                    context.process.rank + 1, context.process.size,
                    mine == ours.end() ? "nothing" : *mine, its == theirs.end() ? "nothing" : *its);
  }
  throw UsageError(problem, "start all processes with the same command, on the same files");
}

at::Tensor sum_over_processes(const at::Tensor& local, Communicator& communicator) {
  return communicator.size() == 1 ? local : SumOverProcesses::apply(local, communicator);
}

at::Tensor gather_rows(const at::Tensor& local, Communicator& communicator) {
  return communicator.size() == 1 ? local : GatherRows::apply(local, communicator);
}

}  // namespace protogcd
