// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: something that a stream does not get past until the test lets it.
#pragma once
#include <gtest/gtest.h>

#include <future>

#include "hostgpu/hip.h"

namespace mneme::hostgpu {

class Gate {
 public:
  explicit Gate(hipStream_t stream) {
    EXPECT_EQ(
        hipLaunchHostFunc(stream, [](void* gate) { static_cast<Gate*>(gate)->opened_.wait(); }, this), hipSuccess);
  }
  ~Gate() {
    open();
    EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open() {
    if (!std::exchange(is_open_, true)) promise_.set_value();
  }

 private:
  std::promise<void> promise_;
  std::shared_future<void> opened_ = promise_.get_future().share();
  bool is_open_ = false;
};

// Memory that a stream can write without the host waiting.
class Words {
 public:
  Words() {
    EXPECT_EQ(hipHostMalloc(reinterpret_cast<void**>(&words_), 64 * sizeof(unsigned), 0), hipSuccess);
    for (int i = 0; i < 64; ++i) words_[i] = 0;
  }
  ~Words() { EXPECT_EQ(hipHostFree(words_), hipSuccess); }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  volatile unsigned& operator[](int i) { return const_cast<volatile unsigned&>(words_[i]); }
  unsigned* at(int i) { return words_ + i; }
  // Queued.
  void set(int i, int value, hipStream_t stream) {
    EXPECT_EQ(hipMemsetD32Async(words_ + i, value, 1, stream), hipSuccess);
  }

 private:
  unsigned* words_ = nullptr;
};

class Stream {
 public:
  explicit Stream(unsigned flags = hipStreamDefault) {
    EXPECT_EQ(hipStreamCreateWithFlags(&stream_, flags), hipSuccess);
  }
  ~Stream() { EXPECT_EQ(hipStreamDestroy(stream_), hipSuccess); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator hipStream_t() const { return stream_; }

 private:
  hipStream_t stream_ = nullptr;
};

class Event {
 public:
  explicit Event(unsigned flags = hipEventDefault) { EXPECT_EQ(hipEventCreateWithFlags(&event_, flags), hipSuccess); }
  ~Event() { EXPECT_EQ(hipEventDestroy(event_), hipSuccess); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator hipEvent_t() const { return event_; }

 private:
  hipEvent_t event_ = nullptr;
};

}  // namespace mneme::hostgpu
