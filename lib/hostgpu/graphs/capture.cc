// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/graphs/capture.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <unordered_map>

#include "hostgpu/errors.h"
#include "hostgpu/graphs/graph.h"

namespace mneme::hostgpu {

// From hipStreamBeginCapture to hipStreamEndCapture.
struct Capture {
  std::shared_ptr<ihipGraph> graph;
  hipStreamCaptureMode mode = hipStreamCaptureModeGlobal;
  unsigned long long id = 0;
  const Queue* origin = nullptr;
  std::thread::id thread;
  bool invalid = false;
  bool ended = false;
};

namespace {

struct Captured {
  std::shared_ptr<Queue> queue;
  std::shared_ptr<Capture> capture;
  std::vector<hipGraphNode_t> after;  // what the stream's next node comes after
};

// Under graph_lock().
struct Captures {
  std::unordered_map<const Queue*, Captured> streams;
  std::atomic<size_t> count{0};  // of `streams`, to be looked at without the lock
  unsigned long long last_id = 0;
};
Captures& captures() {
  static auto* all = new Captures;
  return *all;
}

thread_local hipStreamCaptureMode thread_mode = hipStreamCaptureModeGlobal;

bool nothing_captured() { return captures().count.load(std::memory_order_acquire) == 0; }

Captured* find(const std::shared_ptr<Queue>& queue) {
  auto found = captures().streams.find(queue.get());
  return found == captures().streams.end() ? nullptr : &found->second;
}

void end(Capture& capture) {
  capture.ended = true;
  std::erase_if(captures().streams, [&](const auto& entry) { return entry.second.capture.get() == &capture; });
  captures().count = captures().streams.size();
}

void join(const std::shared_ptr<Queue>& queue, const std::shared_ptr<Capture>& capture,
          std::vector<hipGraphNode_t> after) {
  captures().streams[queue.get()] = {queue, capture, std::move(after)};
  captures().count = captures().streams.size();
}

[[noreturn]] void refuse(Capture& capture, hipError_t code) {
  capture.invalid = true;
  throw HipError(code);
}

// Whether all that was captured leads up to what the origin comes after now.
bool is_joined(const Capture& capture, const Captured& origin) {
  for (const auto& [queue, other] : captures().streams) {
    if (other.capture.get() != &capture) continue;
    for (hipGraphNode_t last : other.after) {
      auto leads = [&](hipGraphNode_t node) { return is_at_or_after(*node, *last); };
      if (std::none_of(origin.after.begin(), origin.after.end(), leads)) return false;
    }
  }
  return true;
}

// For questions about a capture, which a forbidden stream does not harm.
Captured* ask(hipStream_t stream) {
  auto queue = queue_of(stream);
  if (queue->legacy) {
    for (const auto& [other, captured] : captures().streams) {
      require(other->flags & hipStreamNonBlocking, hipErrorStreamCaptureImplicit);
    }
  }
  return find(queue);
}

hipStreamCaptureStatus status_of(const Captured* captured) {
  if (!captured) return hipStreamCaptureStatusNone;
  return captured->capture->invalid ? hipStreamCaptureStatusInvalidated : hipStreamCaptureStatusActive;
}

hipError_t info(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id, hipGraph_t* graph,
                const hipGraphNode_t** after, size_t* count) {
  return answer([&] {
    require(status);
    auto lock = graph_lock();
    const Captured* captured = ask(stream);
    *status = status_of(captured);
    if (*status != hipStreamCaptureStatusActive) return;
    if (id) *id = captured->capture->id;
    if (graph) *graph = captured->capture->graph.get();
    if (after) *after = captured->after.data();
    if (count) *count = captured->after.size();
  });
}

}  // namespace

bool capture_call(const std::shared_ptr<Queue>& queue, Call& call) {
  if (nothing_captured()) return false;
  auto lock = graph_lock();
  Captured* captured = find(queue);
  if (!captured) return false;
  require(!captured->capture->invalid, hipErrorStreamCaptureInvalidated);
  captured->after = {add_node(*captured->capture->graph, captured->after, std::move(call))};
  return true;
}

CapturedMoment moment_of(const std::shared_ptr<Queue>& queue) {
  if (nothing_captured()) return {};
  auto lock = graph_lock();
  const Captured* captured = find(queue);
  if (!captured) return {};
  require(!captured->capture->invalid, hipErrorStreamCaptureInvalidated);
  return {captured->capture, captured->after};
}

void join_capture(const std::shared_ptr<Queue>& queue, const CapturedMoment& moment) {
  auto lock = graph_lock();
  require(!moment.capture->ended, hipErrorCapturedEvent);
  require(!moment.capture->invalid, hipErrorStreamCaptureInvalidated);
  Captured* captured = find(queue);
  if (!captured) {
    if (queue->legacy) refuse(*moment.capture, hipErrorStreamCaptureImplicit);
    join(queue, moment.capture, moment.nodes);
    return;
  }
  if (captured->capture != moment.capture) {
    moment.capture->invalid = true;
    refuse(*captured->capture, hipErrorStreamCaptureMerge);
  }
  for (hipGraphNode_t node : moment.nodes) {
    if (std::ranges::find(captured->after, node) == captured->after.end()) captured->after.push_back(node);
  }
}

bool is_captured(const std::shared_ptr<Queue>& queue) {
  if (nothing_captured()) return false;
  auto lock = graph_lock();
  return find(queue);
}

void invalidate_capture(const std::shared_ptr<Queue>& queue) {
  auto lock = graph_lock();
  if (Captured* captured = find(queue)) captured->capture->invalid = true;
}

void check_legacy(const std::shared_ptr<Queue>& queue) {
  if (!queue->legacy || nothing_captured()) return;
  auto lock = graph_lock();
  bool forbidden = false;
  for (auto& [other, captured] : captures().streams) {
    if (other->flags & hipStreamNonBlocking) continue;
    captured.capture->invalid = forbidden = true;
  }
  require(!forbidden, hipErrorStreamCaptureImplicit);
}

void check_not_captured(const std::shared_ptr<Queue>& queue) {
  if (nothing_captured()) return;
  check_legacy(queue);
  auto lock = graph_lock();
  if (Captured* captured = find(queue)) refuse(*captured->capture, hipErrorStreamCaptureUnsupported);
}

void check_moment(const CapturedMoment& moment) {
  if (!moment.capture) return;
  auto lock = graph_lock();
  refuse(*moment.capture, hipErrorCapturedEvent);
}

void check_unsafe_call() {
  if (nothing_captured() || thread_mode == hipStreamCaptureModeRelaxed) return;
  auto lock = graph_lock();
  bool forbidden = false;
  for (auto& [queue, captured] : captures().streams) {
    Capture& capture = *captured.capture;
    bool own = capture.thread == std::this_thread::get_id() && capture.mode != hipStreamCaptureModeRelaxed;
    bool others = thread_mode == hipStreamCaptureModeGlobal && capture.mode == hipStreamCaptureModeGlobal;
    if (own || others) capture.invalid = forbidden = true;
  }
  require(!forbidden, hipErrorStreamCaptureUnsupported);
}

AllowUnsafeCalls::AllowUnsafeCalls() : before_(std::exchange(thread_mode, hipStreamCaptureModeRelaxed)) {}
AllowUnsafeCalls::~AllowUnsafeCalls() { thread_mode = before_; }

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return answer_on_device([&] {
    require(mode >= hipStreamCaptureModeGlobal && mode <= hipStreamCaptureModeRelaxed);
    auto queue = queue_of(stream);
    require(!queue->legacy, hipErrorStreamCaptureUnsupported);
    auto lock = graph_lock();
    require(!find(queue), hipErrorIllegalState);
    auto capture = std::make_shared<Capture>();
    capture->graph = make_graph();
    capture->mode = mode;
    capture->id = ++captures().last_id;
    capture->origin = queue.get();
    capture->thread = std::this_thread::get_id();
    join(queue, capture, {});
  });
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return answer([&] {
    require(graph);
    *graph = nullptr;
    auto queue = queue_of(stream);
    auto lock = graph_lock();
    Captured* captured = find(queue);
    require(captured, hipErrorIllegalState);
    std::shared_ptr<Capture> capture = captured->capture;
    if (capture->origin != queue.get()) refuse(*capture, hipErrorStreamCaptureUnmatched);
    bool wrong = capture->mode != hipStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id();
    require(!wrong, hipErrorStreamCaptureWrongThread);
    bool joined = is_joined(*capture, *captured);
    end(*capture);
    require(!capture->invalid, hipErrorStreamCaptureInvalidated);
    require(joined, hipErrorStreamCaptureUnjoined);
    give_out(capture->graph);
    *graph = capture->graph.get();
  });
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return answer([&] {
    require(status);
    auto lock = graph_lock();
    *status = status_of(ask(stream));
  });
}

hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id) {
  return info(stream, status, id, nullptr, nullptr, nullptr);
}

hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id,
                                      hipGraph_t* graph, const hipGraphNode_t** after, size_t* count) {
  return info(stream, status, id, graph, after, count);
}

hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream, hipGraphNode_t* nodes, size_t count, unsigned flags) {
  return answer([&] {
    require(flags <= hipStreamSetCaptureDependencies && (nodes || !count));
    auto lock = graph_lock();
    Captured* captured = find(queue_of(stream));
    require(captured && !captured->capture->invalid, hipErrorIllegalState);
    for (hipGraphNode_t node : std::span(nodes, count)) {
      require(checked(node).graph == captured->capture->graph.get());
    }
    std::vector<hipGraphNode_t> after;
    if (flags == hipStreamAddCaptureDependencies) after = captured->after;
    for (hipGraphNode_t node : std::span(nodes, count)) {
      if (std::ranges::find(after, node) == after.end()) after.push_back(node);
    }
    captured->after = std::move(after);
  });
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return answer([&] {
    require(mode && *mode >= hipStreamCaptureModeGlobal && *mode <= hipStreamCaptureModeRelaxed);
    std::swap(*mode, thread_mode);
  });
}

}  // extern "C"
