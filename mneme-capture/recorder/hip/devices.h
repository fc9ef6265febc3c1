// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "recorder/runtime/devices.h"
#include "recorder/runtime/next.h"
#include "vendor/hip/api.h"

namespace mneme::record::hip {

using namespace vendor::hip;

inline constexpr char kLibrary[] = "libamdhip64.so.5";
consteval const char* library_of(const char*) { return kLibrary; }

// By HIP's runtime.
class HipDevices final : public Devices {
 public:
  constexpr HipDevices() = default;

  int set(int device) const;

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
  void forget_error() const override;
  int enter(int device) const override;
  void leave(int entered) const override;
};

inline constinit const HipDevices devices;

inline bool succeeds(int status) { return devices.succeeds(status); }

struct OnDevice : Entered {
  explicit OnDevice(int device) : Entered(devices, device) {}
};

}  // namespace mneme::record::hip
