// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <cstddef>

namespace mneme::record {

// A vendor's devices, and what the recorder itself asks of them, past its own hooks. Results are the vendor's status,
// of which 0 is success. A thread that has no device yet has the first one's.
class Devices {
 public:
  virtual int get_count(int* count) const = 0;
  virtual int get(int* device) const = 0;
  virtual int synchronize() const = 0;
  virtual const char* error_string(int error) const = 0;
  virtual int create_event(void** event, unsigned flags) const = 0;
  virtual int record_event(void* event, void* stream) const = 0;
  virtual int synchronize_event(void* event) const = 0;
  virtual int query_event(void* event) const = 0;
  virtual int elapsed(float* milliseconds, void* start, void* stop) const = 0;
  virtual int destroy_event(void* event) const = 0;
  virtual int copy_async(void* to, const void* from, size_t size, int kind, void* stream) const = 0;
  virtual int set_async(void* at, int value, size_t size, void* stream) const = 0;
  virtual int create_stream(void** stream, unsigned flags) const = 0;
  virtual int destroy_stream(void* stream) const = 0;
  virtual int synchronize_stream(void* stream) const = 0;
  virtual int wait_for_event(void* stream, void* event) const = 0;
  virtual int is_capturing(void* stream, int* capturing) const = 0;
  virtual int exchange_capture_mode(int* mode) const = 0;
  virtual int get_limit(size_t* value, int limit) const = 0;
  virtual int register_host(void* memory, size_t size, unsigned flags) const = 0;
  virtual int unregister_host(void* memory) const = 0;
  // What failed was an attempt of the recorder's, which the application is not to find as its own last error.
  virtual void forget_error() const = 0;
  // Makes a device the thread's, until leave() is called with the result.
  virtual int enter(int device) const = 0;
  virtual void leave(int entered) const = 0;

  // Whether a call went well; if not, its error is forgotten.
  bool succeeds(int status) const;
  int count() const;  // at least one
  bool several() const { return count() > 1; }
  int current() const;  // the calling thread's

 protected:
  constexpr Devices() = default;
  ~Devices() = default;

 private:
  mutable std::atomic<int> count_{0};  // 0: not asked yet
};

// Makes a device the thread's for as long as it lives.
class Entered {
 public:
  Entered(const Devices& devices, int device) : devices_(devices), entered_(devices.enter(device)) {}
  ~Entered() { devices_.leave(entered_); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  const Devices& devices_;
  int entered_;
};

}  // namespace mneme::record
