#include "protogcd/core/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <vector>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

TEST(ThreadPool, RunsEveryTaskOnce) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> runs(1000);
  pool.for_each(runs.size(), [&](std::size_t i) { ++runs[i]; });
  for (const auto& count : runs) EXPECT_EQ(count, 1);
}

TEST(ThreadPool, TheFirstErrorReachesTheCallerAndThePoolGoesOn) {
  ThreadPool pool(3);
  EXPECT_THROW(pool.for_each(100,
                             [](std::size_t i) {
                               if (i == 17) throw DataError("image 17");
                             }),
               DataError);
  std::atomic<int> count{0};
  pool.for_each(10, [&](std::size_t) { ++count; });
  EXPECT_EQ(count, 10);
}

TEST(ThreadPool, AnErrorStopsTasksThatHaveNotBegun) {
  ThreadPool pool(1, 100);
  std::atomic<int> ran{0};
  pool.submit([] { throw std::runtime_error("first"); });
  for (int i = 0; i < 50; ++i) pool.submit([&] { ++ran; });
  EXPECT_THROW(pool.wait(), std::runtime_error);
  EXPECT_EQ(ran, 0);
}

TEST(ThreadPool, SubmitWaitsWhileTheQueueIsFull) {
  ThreadPool pool(1, 2);
  std::promise<void> gate;
  auto opened = gate.get_future().share();
  pool.submit([opened] { opened.wait(); });
  std::atomic<int> submitted{0};
  std::thread producer([&] {
    for (int i = 0; i < 10; ++i) {
      pool.submit([] {});
      ++submitted;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(submitted,
            3);  // two in the queue, and one more if the worker had not yet taken the gate
  gate.set_value();
  producer.join();
  pool.wait();
  EXPECT_EQ(submitted, 10);
}

TEST(ThreadPool, DestructionFinishesWhatWasSubmitted) {
  std::atomic<int> ran{0};
  {
    ThreadPool pool(2, 64);
    for (int i = 0; i < 40; ++i) pool.submit([&] { ++ran; });
  }
  EXPECT_EQ(ran, 40);
}

TEST(ThreadPool, NoThreadsIsAMistakeOfOurs) {
  EXPECT_THROW(ThreadPool(0), InternalError);
}

}  // namespace
}  // namespace protogcd
