// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "recorder/runtime/devices.h"
#include "recorder/runtime/next.h"
#include "vendor/cuda/api.h"

namespace mneme::record::cuda {

using namespace vendor::cuda;
using vendor::cuda::Kernel;  // the message to the parent has the name, too

inline constexpr char kLibrary[] = "libcudart.so.13";
inline constexpr char kDriver[] = "libcuda.so.1";
// The driver's functions are cuMemAlloc, …, the runtime's cudaMalloc and __cudaLaunchKernel.
consteval const char* library_of(const char* name) {
  return name[0] == 'c' && name[1] == 'u' && name[2] < 'a' ? kDriver : kLibrary;
}

using Context = void*;  // CUcontext

// By CUDA's driver, which every application has, whatever runtime it has. What is done is done in the thread's context
// if that is of the device, as what the application uses lies there; else in the device's primary context, which is
// that of every runtime.
class CudaDevices final : public Devices {
 public:
  constexpr CudaDevices() = default;

  int get_count(int* count) const override;
  int get(int* device) const override;
  int synchronize() const override;
  const char* error_string(int error) const override;
  int create_event(void** event, unsigned flags) const override;
  int record_event(void* event, void* stream) const override;
  int synchronize_event(void* event) const override;
  int query_event(void* event) const override;
  int elapsed(float* milliseconds, void* start, void* stop) const override;
  int destroy_event(void* event) const override;
  int copy_async(void* to, const void* from, size_t size, int kind, void* stream) const override;
  int set_async(void* at, int value, size_t size, void* stream) const override;
  int create_stream(void** stream, unsigned flags) const override;
  int destroy_stream(void* stream) const override;
  int synchronize_stream(void* stream) const override;
  int wait_for_event(void* stream, void* event) const override;
  int is_capturing(void* stream, int* capturing) const override;
  int exchange_capture_mode(int* mode) const override;
  int get_limit(size_t* value, int limit) const override;
  int register_host(void* memory, size_t size, unsigned flags) const override;
  int unregister_host(void* memory) const override;
  void forget_error() const override {}  // the driver keeps none
  int enter(int device) const override;
  void leave(int entered) const override;

  Context context() const;                // the thread's; null: it has none
  Context primary_of(int device) const;   // kept from then on; null: the device gives none
  void forget_primary(int device) const;  // it was reset
  // One that is gone already, with all holds on it.
  void drop_primary(int device) const;

 private:
  static constexpr int kMost = 64;
  mutable std::atomic<Context> primaries_[kMost] = {};
};

inline constinit const CudaDevices devices;

inline bool succeeds(int status) { return devices.succeeds(status); }

// A context is the thread's, if the driver knows it.
class Pushed {
 public:
  explicit Pushed(Context context);
  ~Pushed();
  Pushed(const Pushed&) = delete;
  Pushed& operator=(const Pushed&) = delete;
  explicit operator bool() const { return pushed_; }

 private:
  bool pushed_;
};

// A device is the thread's, and the thread has a context.
struct OnDevice : Entered {
  explicit OnDevice(int device) : Entered(devices, device) {}
  OnDevice() : OnDevice(devices.current()) {}
};

}  // namespace mneme::record::cuda
