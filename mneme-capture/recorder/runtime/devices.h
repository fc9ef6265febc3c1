// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>

#include "recorder/runtime/next.h"

namespace mneme::record {

inline constexpr int kHostToDevice = 1, kDeviceToHost = 2;  // …MemcpyKind, of both vendors

inline constexpr int kNotThere = 801;  // "not supported", both vendors'

// The devices of one vendor's runtime, and what the recorder itself asks of them, by calls that are both vendors' but
// for their names. 0 is success.
class Devices {
 public:
  struct Calls {
    Next<int(int*)> get_count, get;
    Next<int(int)> set;
    Next<int()> get_last_error;
    Next<const char*(int error)> error_string;
    Next<int(void** event, unsigned flags)> create_event;
    Next<int(void* event, void* stream)> record_event;
    Next<int(void* event)> synchronize_event;
    Next<int(void* to, const void* from, size_t, int kind, void* stream)> copy_async;
    Next<int(void* at, int value, size_t, void* stream)> set_async;
    Next<int(void** stream, unsigned flags)> create_stream;
    Next<int(void* stream)> destroy_stream, synchronize_stream;
    Next<int(int* mode)> exchange_capture_mode;
    Next<int(size_t* value, int limit)> get_limit;
  };

  explicit constexpr Devices(const Calls& calls) : calls(calls) {}

  // Whether a call went well. What fails is an attempt of the recorder's, which the application is not to find as its
  // own last error.
  bool succeeds(int status) const;
  int count() const;  // at least one
  bool several() const { return count() > 1; }
  int current() const;  // the calling thread's

  const Calls& calls;

 private:
  mutable std::atomic<int> count_{0};  // 0: not asked yet
};

// Makes a device the thread's for as long as it lives.
class Entered {
 public:
  Entered(const Devices& devices, int device);
  ~Entered();
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  const Devices& devices_;
  int before_ = -1;
};

}  // namespace mneme::record
