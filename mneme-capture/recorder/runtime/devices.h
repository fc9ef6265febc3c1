// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "recorder/runtime/next.h"

namespace mneme::record {

// The devices of one vendor's runtime, and what the recorder itself asks of it, by calls that are both vendors' but
// for how their names begin. 0 is success.
class Devices {
 public:
  struct Calls {
    constexpr Calls(const char* library, const char* prefix) : library(library), prefix(prefix) {}
    const char* library;
    const char* prefix;
    Next<int(int*)> get_count{library, prefix, "GetDeviceCount"}, get{library, prefix, "GetDevice"};
    Next<int(int)> set{library, prefix, "SetDevice"};
    Next<int()> synchronize{library, prefix, "DeviceSynchronize"};
    Next<int()> get_last_error{library, prefix, "GetLastError"};
    Next<const char*(int error)> error_string{library, prefix, "GetErrorString"};
    Next<int(void** event, unsigned flags)> create_event{library, prefix, "EventCreateWithFlags"};
    Next<int(void* event, void* stream)> record_event{library, prefix, "EventRecord"};
    Next<int(void* event)> synchronize_event{library, prefix, "EventSynchronize"};
    Next<int(void* event)> destroy_event{library, prefix, "EventDestroy"};
    Next<int(void* to, const void* from, size_t, int kind, void* stream)> copy_async{library, prefix, "MemcpyAsync"};
    Next<int(void* at, int value, size_t, void* stream)> set_async{library, prefix, "MemsetAsync"};
    Next<int(void** stream, unsigned flags)> create_stream{library, prefix, "StreamCreateWithFlags"};
    Next<int(void* stream)> destroy_stream{library, prefix, "StreamDestroy"};
    Next<int(void* stream)> synchronize_stream{library, prefix, "StreamSynchronize"};
    Next<int(void* stream, void* event, unsigned flags)> wait_for_event{library, prefix, "StreamWaitEvent"};
    Next<int(void* stream, int* capturing)> is_capturing{library, prefix, "StreamIsCapturing"};
    Next<int(int* mode)> exchange_capture_mode{library, prefix, "ThreadExchangeStreamCaptureMode"};
    Next<int(size_t* value, int limit)> get_limit{library, prefix, "DeviceGetLimit"};
    Next<int(void*, size_t, unsigned flags)> register_host{library, prefix, "HostRegister"};
    Next<int(void*)> unregister_host{library, prefix, "HostUnregister"};
    Next<int(void** address, const void* variable)> symbol_address{library, prefix, "GetSymbolAddress"};
    Next<int(size_t* bytes, const void* variable)> symbol_size{library, prefix, "GetSymbolSize"};
  };

  constexpr Devices(const char* library, const char* prefix) : calls(library, prefix) {}

  // Whether a call went well. What fails is an attempt of the recorder's, which the application is not to find as its
  // own last error.
  bool succeeds(int status) const;
  int count() const;  // at least one
  bool several() const { return count() > 1; }
  int current() const;  // the calling thread's

  const Calls calls;

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
