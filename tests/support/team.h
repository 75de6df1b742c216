// Processes that train together, as threads that meet at a barrier.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include "protogcd/nn/communicator.h"

namespace protogcd::testing {

class Team {
 public:
  explicit Team(std::int64_t size) : tensors_(static_cast<std::size_t>(size)), barrier_(size) {}

  class Member : public Communicator {
   public:
    Member(Team& team, std::int64_t rank) : team_(team), rank_(rank) {}
    std::int64_t rank() const override { return rank_; }
    std::int64_t size() const override { return static_cast<std::int64_t>(team_.tensors_.size()); }
    void all_reduce(at::Tensor& tensor) override {
      const at::NoGradGuard no_grad;
      tensor.copy_(at::stack(exchange(tensor)).sum(0));
    }
    at::Tensor all_gather(const at::Tensor& tensor) override { return at::cat(exchange(tensor)); }
    void broadcast(at::Tensor& tensor) override { tensor.copy_(exchange(tensor)[0]); }
    at::Tensor exchange(const at::Tensor& rows, std::span<const std::int64_t> sent,
                        std::span<const std::int64_t>) override {
      const at::Tensor ends =
          at::tensor(at::ArrayRef<std::int64_t>(sent.data(), sent.size())).cumsum(0);
      const std::vector<at::Tensor> all = exchange(rows), until = exchange(ends);
      std::vector<at::Tensor> mine;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto begin = rank_ == 0 ? 0 : until[i][rank_ - 1].item<std::int64_t>();
        mine.push_back(all[i].slice(0, begin, until[i][rank_].item<std::int64_t>()));
      }
      return at::cat(mine);
    }

   private:
    std::vector<at::Tensor> exchange(const at::Tensor& mine) {
      team_.tensors_[static_cast<std::size_t>(rank_)] = mine.detach().clone();
      team_.barrier_.arrive_and_wait();
      std::vector<at::Tensor> all = team_.tensors_;
      team_.barrier_.arrive_and_wait();
      return all;
    }
    Team& team_;
    std::int64_t rank_;
  };

  /// Runs `work` once for every member, each in a thread of its own.
  void run(const std::function<void(Member&)>& work) {
    std::vector<std::thread> others;
    for (std::int64_t rank = 1; rank < std::ssize(tensors_); ++rank) {
      others.emplace_back([this, rank, &work] {
        Member member(*this, rank);
        work(member);
      });
    }
    Member first(*this, 0);
    work(first);
    for (std::thread& other : others) other.join();
  }

 private:
  std::vector<at::Tensor> tensors_;
  std::barrier<> barrier_;
};

}  // namespace protogcd::testing
