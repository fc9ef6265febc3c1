// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams that are being captured: what they are asked to do becomes nodes of a graph.
#pragma once
#include <memory>
#include <vector>

#include "hostgpu/graphs/calls.h"

namespace mneme::hostgpu {

struct Capture;

// What an event recorded in a capture stands for.
struct CapturedMoment {
  std::shared_ptr<Capture> capture;
  std::vector<hipGraphNode_t> nodes;
};

// False: the stream is not being captured, and nothing was done. The others throw HipError and invalidate the capture
// when the call is not allowed in it; they are cheap while nothing is captured.
bool capture_call(const std::shared_ptr<Queue>& queue, Call& call);
// Null: it is not captured.
CapturedMoment moment_of(const std::shared_ptr<Queue>& queue);
// The stream's next nodes come after `moment`'s, so that it becomes part of that capture.
void join_capture(const std::shared_ptr<Queue>& queue, const CapturedMoment& moment);
bool is_captured(const std::shared_ptr<Queue>& queue);

// For what is queued or waited for in a stream: captured blocking streams forbid the legacy stream.
void check_legacy(const std::shared_ptr<Queue>& queue);
// For waiting for a stream, and what else cannot be part of a graph.
void check_not_captured(const std::shared_ptr<Queue>& queue);
// For an event that was recorded in a capture, and is asked about.
void check_moment(const CapturedMoment& moment);
// For calls that may wait for the device (hipMalloc, hipDeviceSynchronize).
void check_unsafe_call();
// What was captured is of no use any more; ending the capture says so.
void invalidate_capture(const std::shared_ptr<Queue>& queue);

// While one lives, this thread's calls are the library's own, and always allowed.
class AllowUnsafeCalls {
 public:
  AllowUnsafeCalls();
  ~AllowUnsafeCalls();
  AllowUnsafeCalls(const AllowUnsafeCalls&) = delete;
  AllowUnsafeCalls& operator=(const AllowUnsafeCalls&) = delete;

 private:
  hipStreamCaptureMode before_;
};

}  // namespace mneme::hostgpu
