// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What mneme-capture gets of device memory: digests, and of blocks whose digests are new to it, the bytes.
#include "base/error.h"
#include "recorder/cuda_devices.h"
#include "recorder/cuda_runtime.h"

namespace mneme::record::cuda {
namespace {

// Asking for digests of less than that takes longer than fetching it all.
constexpr uint64_t kWorthDigests = 16 << 20;

constinit Next<Error(void*, const void*, size_t, int, Stream)> next_copy(kLibrary, "cudaMemcpyAsync");
constinit Next<Error(Event*, unsigned)> next_make_event(kLibrary, "cudaEventCreateWithFlags");
constinit Next<Error(Event, Stream)> next_record_event(kLibrary, "cudaEventRecord");
constinit Next<Error(Event)> next_await_event(kLibrary, "cudaEventSynchronize");
constexpr unsigned kNoTiming = 2;

void check(Error status) {
  if (status != kSuccess) throw mneme::Error("device memory cannot be read: " + runtime().error_text(status));
}

}  // namespace

void CudaRuntime::digests(const std::vector<Piece>& pieces, const TakeDigests& take) {
  uint64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.size;
  if (bytes < kWorthDigests) return;
  std::lock_guard lock(digesting_);
  for (const Piece& piece : pieces) {
    OnDevice there(static_cast<int>(piece.device));
    digested_.address = piece.address;
    digested_.blocks.resize(piece.size / bundle::kBlockSize);
    if (digests_.of(static_cast<int>(piece.device), piece.address, digested_.blocks)) take(digested_);
  }
}

void CudaRuntime::fetch(const std::vector<Piece>& pieces, std::byte* to) {
  Marks& marks = fetched_.emplace_back();
  for (size_t i = 0; i < pieces.size();) {
    const int device = static_cast<int>(pieces[i].device);
    OnDevice there(device);
    std::vector<Event>& unused = unused_events_[device];
    Event event = nullptr;
    if (unused.empty()) {
      check(next_make_event.call_or(kNotSupported, &event, kNoTiming));
    } else {
      event = unused.back();
      unused.pop_back();
    }
    marks.emplace_back(device, event);
    for (; i < pieces.size() && pieces[i].device == static_cast<uint32_t>(device); ++i) {
      const void* from = reinterpret_cast<const void*>(pieces[i].address);
      check(next_copy.call_or(kNotSupported, to, from, pieces[i].size, kDeviceToHost, nullptr));
      to += pieces[i].size;
    }
    check(next_record_event.call_or(kNotSupported, event, nullptr));
  }
}

void CudaRuntime::await_fetched() {
  if (fetched_.empty()) return;
  Marks marks = std::move(fetched_.front());
  fetched_.pop_front();
  for (auto [device, event] : marks) {
    OnDevice there(device);
    check(next_await_event.call_or(kNotSupported, event));
    unused_events_[device].push_back(event);
  }
}

}  // namespace mneme::record::cuda
