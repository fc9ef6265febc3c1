// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several host threads, each with its streams and errors of its own. They take turns to launch, so that every run
// launches in the same order; what they launch may overlap.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "check.h"

__global__ void advance(unsigned* data, unsigned n, unsigned salt) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = (data[i] ^ salt) * 2654435761u + i;
}

class Turns {
 public:
  template <class Body>
  void take(unsigned number, const Body& body) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return next_ == number; });
    body();
    ++next_;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned next_ = 0;
};

int main() {
  Test test("multi_thread_streams");
  constexpr unsigned kThreads = 4, kRounds = 6, kCount = 3000;
  Turns turns;
  std::vector<std::vector<unsigned>> results(kThreads);
  std::vector<int> errors(kThreads, 0);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      unsigned* data = nullptr;
      hipStream_t stream = hipStreamPerThread;
      turns.take(t, [&] {
        data = device_array<unsigned>(kCount);
        if (t % 2) check(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
        check(hipMemsetAsync(data, 0, kCount * sizeof(unsigned), stream));
        if (t == 1) errors[t] += hipSetDevice(99) != hipErrorInvalidDevice;
      });
      for (unsigned round = 0; round < kRounds; ++round) {
        turns.take(kThreads * (round + 1) + t,
                   [&] { advance<<<blocks_for(kCount, 64), 64, 0, stream>>>(data, kCount, 100 * t + round); });
      }
      check(hipStreamSynchronize(stream));
      // An error is the thread's that made it.
      errors[t] += hipGetLastError() != (t == 1 ? hipErrorInvalidDevice : hipSuccess);
      errors[t] += hipGetLastError() != hipSuccess;
      turns.take(kThreads * (kRounds + 1) + t, [&] {
        results[t] = to_host(data, kCount);
        check(hipFree(data));
        if (t % 2) check(hipStreamDestroy(stream));
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (unsigned t = 0; t < kThreads; ++t) {
    std::vector<unsigned> want(kCount, 0);
    for (unsigned round = 0; round < kRounds; ++round) {
      for (unsigned i = 0; i < kCount; ++i) want[i] = (want[i] ^ (100 * t + round)) * 2654435761u + i;
    }
    test.equal("result of a thread", results[t], want);
    test.equal("errors of a thread", errors[t], 0);
  }
  return test.finish();
}
