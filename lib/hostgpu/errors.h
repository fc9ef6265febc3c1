// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <exception>
#include <functional>
#include <new>
#include <string>

#include "base/error.h"
#include "base/uncancelled.h"
#include "hostgpu/api_call.h"
#include "hostgpu/device/devices.h"
#include "hostgpu/hip.h"

namespace mneme::hostgpu {

// An error with HIP's number for it. what() is for standard error; empty: the number says it all.
class HipError : public std::exception {
 public:
  explicit HipError(hipError_t code, std::string message = {}) : code_(code), message_(std::move(message)) {}
  hipError_t code() const { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  hipError_t code_;
  std::string message_;
};

// "mneme: …" on standard error, in one write.
void say(const std::string& message);
// The same, once in a process for each text.
void say_once(const std::string& message);

// A kernel has failed: from now on every call that touches the device answers `code`, until hipDeviceReset.
void break_device(int device, hipError_t code);
void mend_device();  // the thread's
hipError_t device_state(int device = current_device());

// Keeps what hipGetLastError gives on this thread, and returns it.
hipError_t note_error(hipError_t code);

// Throws HipError unless the condition holds.
inline void require(bool condition, hipError_t otherwise = hipErrorInvalidValue) {
  if (!condition) throw HipError(otherwise);
}

// The body of an API function: no exception leaves it; it returns the error's number or hipSuccess.
template <typename Body>
hipError_t answer(Body&& body) noexcept {
  if (ApiCall::is_refused()) return note_error(hipErrorDeinitialized);
  ApiCall call;
  Uncancelled uncancelled;
  try {
    body();
    return hipSuccess;
  } catch (const HipError& error) {
    if (*error.what()) say(error.what());
    return note_error(error.code());
  } catch (const std::bad_alloc&) {
    return note_error(hipErrorOutOfMemory);
  } catch (const std::exception& error) {
    say(error.what());
    return note_error(hipErrorUnknown);
  }
}

// The same for what touches the device: a broken one answers at once.
template <typename Body>
hipError_t answer_on_device(Body&& body) noexcept {
  if (hipError_t broken = device_state(); broken != hipSuccess) return note_error(broken);
  return answer(std::forward<Body>(body));
}

}  // namespace mneme::hostgpu
