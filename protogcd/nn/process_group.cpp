#include "protogcd/nn/process_group.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#ifdef PROTOGCD_WITH_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include <cstdlib>
#include <numeric>
#include <random>

#include "protogcd/core/error.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"
#include "protogcd/core/thread_pool.h"

namespace protogcd {
namespace {

using std::chrono::milliseconds;

/// Where the processes tell each other their addresses.
c10::intrusive_ptr<c10d::Store> meeting_place(const LaunchedProcess& process,
                                              milliseconds patience) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(process.port);
  options.isServer = process.rank == 0 && !process.is_met;
  options.numWorkers = static_cast<std::size_t>(process.size);
  options.waitWorkers = false;  // the group waits by itself
  options.timeout = patience;
  return c10::make_intrusive<c10d::TCPStore>(process.address, options);
}

/// The first that any process proposes, also before all of them were begun again where the launcher
/// keeps the store. Run ids may be used for several jobs, and are taken only where nobody keeps it.
std::string name_of_job(const LaunchedProcess& process, c10d::Store& store) {
  if (!process.is_met && !process.run_id.empty()) return process.run_id;
  std::random_device draw;
  const std::string proposed = fmt::format("{:08x}{:08x}", draw(), draw());
  return store.compareSet("protogcd/job", std::string(), proposed);
}

std::shared_ptr<gloo::transport::Device> gloo_device() {
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");  // as in PyTorch
  return interface != nullptr ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
                              : c10d::ProcessGroupGloo::createDefaultDevice();
}

class ProcessGroup : public Communicator {
 public:
  ProcessGroup(const LaunchedProcess& process, const std::string& gpu, milliseconds patience)
      : process_(process), patience_(patience) {
    guarded([&] {
      const auto place = meeting_place(process, patience);
      job_ = name_of_job(process, *place);
      // What was said before all processes were begun again stands in the same store.
      const auto store = c10::make_intrusive<c10d::PrefixStore>(
          fmt::format("protogcd/{}", process.restarts), place);
      const auto options = c10d::ProcessGroupGloo::Options::create(patience);
      options->devices = {gloo_device()};
      gloo_ = c10::make_intrusive<c10d::ProcessGroupGloo>(
          c10::make_intrusive<c10d::PrefixStore>("gloo", store), process.rank, process.size,
          options);
      on_cores_ = sharing_of(identity_of_cores()).sharers;
      const Sharing of_gpu = sharing_of(gpu);
      on_gpu_ = of_gpu.sharers;
#ifdef PROTOGCD_WITH_NCCL
      if (of_gpu.each_has_its_own) {
        const auto nccl = c10d::ProcessGroupNCCL::Options::create();
        nccl->timeout = patience;
        nccl_ = c10::make_intrusive<c10d::ProcessGroupNCCL>(
            c10::make_intrusive<c10d::PrefixStore>("nccl", store), process.rank, process.size,
            nccl);
      }
#endif
    });
  }

  int on_gpu() const { return on_gpu_; }
  int on_cores() const { return on_cores_; }
  const std::string& job() const { return job_; }

  std::int64_t rank() const override { return process_.rank; }
  std::int64_t size() const override { return process_.size; }

  void all_reduce(at::Tensor& tensor) override {
    const at::NoGradGuard no_grad;
    at::Tensor whole = tensor.contiguous();
    std::vector<at::Tensor> tensors = {whole};
    guarded([&] { finish(backend_of(whole).allreduce(tensors), whole); });
    if (!whole.is_same(tensor)) tensor.copy_(whole);
  }

  at::Tensor all_gather(const at::Tensor& tensor) override {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> mine = {tensor.contiguous()};
    std::vector<std::vector<at::Tensor>> all(1);
    for (int i = 0; i < process_.size; ++i) all[0].push_back(at::empty_like(mine[0]));
    guarded([&] { finish(backend_of(tensor).allgather(all, mine), tensor); });
    return at::cat(all[0]);
  }

  void broadcast(at::Tensor& tensor) override {
    const at::NoGradGuard no_grad;
    at::Tensor whole = tensor.contiguous();
    std::vector<at::Tensor> tensors = {whole};
    guarded([&] { finish(backend_of(whole).broadcast(tensors), whole); });
    if (!whole.is_same(tensor)) tensor.copy_(whole);
  }

  at::Tensor exchange(const at::Tensor& rows, std::span<const std::int64_t> sent,
                      std::span<const std::int64_t> received) override {
    const at::NoGradGuard no_grad;
    std::vector<std::int64_t> in(sent.begin(), sent.end()), out(received.begin(), received.end());
    std::vector<std::int64_t> shape = rows.sizes().vec();
    shape[0] = std::accumulate(out.begin(), out.end(), std::int64_t{0});
    at::Tensor mine = rows.contiguous(), others = at::empty(shape, rows.options());
    guarded([&] { finish(backend_of(rows).alltoall_base(others, mine, out, in), rows); });
    return others;
  }

 private:
  struct Sharing {
    int sharers;            ///< processes that name the same, this one included
    bool each_has_its_own;  ///< no two processes name the same, and none names nothing
  };

  /// Who shares what this process names `own`.
  Sharing sharing_of(const std::string& own) {
    constexpr std::int64_t kBytes = 32;
    Sha256 name;
    name.update(own);
    const Sha256::Digest digest = name.finish();
    at::Tensor mine = at::empty({1, kBytes + 1}, at::kByte);
    std::copy(digest.begin(), digest.end(), mine.data_ptr<std::uint8_t>());
    mine[0][kBytes] = own.empty() ? 0 : 1;
    const at::Tensor all = all_gather(mine),  // [size, 33]
        equal = all.unsqueeze(0).eq(all.unsqueeze(1)).all(2).sum(1);
    return {equal[process_.rank].item<int>(),
            all.select(1, kBytes).all().item<bool>() && equal.max().item<std::int64_t>() == 1};
  }

  c10d::Backend& backend_of(const at::Tensor& tensor) {
    return nccl_ && tensor.is_cuda() ? *nccl_ : *gloo_;
  }

  /// NCCL has its time limit in its own watchdog; here it waits on the stream, not on the host.
  void finish(const c10::intrusive_ptr<c10d::Work>& work, const at::Tensor& tensor) const {
    if (nccl_ && tensor.is_cuda()) {
      work->wait();
    } else {
      work->wait(patience_);
    }
  }

  /// What c10d throws tells of sockets; who waited for whom, and what to do, is said here.
  template <class Action>
  void guarded(Action action) const {
    try {
      action();
    } catch (const DeviceError&) {
      throw;  // said already
    } catch (const std::exception& error) {
      const std::string text = error.what();
      throw DeviceError(
          fmt::format("process {} of {}: another process has ended, or did not answer for {}: {}",
                      process_.rank + 1, process_.size,
                      human_seconds(std::chrono::duration<double>(patience_).count()),
                      one_line(text.substr(0, text.find('\n')))),
          fmt::format("the first error of all processes says why; a machine that is only slow is "
                      "waited for longer with {}",
                      option_name("process_timeout")));
    }
  }

  const LaunchedProcess process_;
  const milliseconds patience_;
  int on_gpu_ = 1, on_cores_ = 1;
  std::string job_;
  c10::intrusive_ptr<c10d::Backend> gloo_, nccl_;
};

}  // namespace

std::string job_of(const LaunchedProcess& process) {
  constexpr milliseconds kPatience{10'000};
  if (!process.is_met) return process.run_id;
  try {
    return name_of_job(process, *meeting_place(process, kPatience));
  } catch (const std::exception&) {
    return "";
  }
}

JoinedProcesses join_processes(const LaunchedProcess& process, const std::string& gpu,
                               milliseconds patience) {
  const auto group = std::make_shared<ProcessGroup>(process, gpu, patience);
  return {
      .team = group, .on_gpu = group->on_gpu(), .on_cores = group->on_cores(), .job = group->job()};
}

}  // namespace protogcd
