// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/grid/workspace.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "device/host/launch.h"
#include "memory/of_thread.h"
#include "memory/own_region.h"

namespace mneme::device::host {
namespace {

constexpr uint64_t kGuard = 64 * 1024;  // on both sides of shared memory
constexpr uint64_t kUsualShared = 64 * 1024;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kReserved = kMaxSharedBytes + 2 * kGuard + codegen::host::kLeastSharedAddress;

void* reserve(uint64_t size, int protection) {
  void* address = memory::map_own(size, protection, MAP_PRIVATE | MAP_NORESERVE);
  return address == MAP_FAILED ? nullptr : address;
}

}  // namespace

Workspace& Workspace::of_this_thread() { return memory::of_this_thread<Workspace>(); }

Workspace::~Workspace() {
  if (reserved_) ::munmap(reserved_, kReserved);
  if (frames_) ::munmap(frames_, frames_size_);
}

void* Workspace::shared(uint64_t size) {
  if (!shared_) {
    reserved_ = reserve(kReserved, PROT_NONE);
    if (!reserved_) throw system_error("cannot reserve shared memory");
    shared_ = static_cast<std::byte*>(reserved_) + kGuard;
    constexpr uint32_t kLeast = codegen::host::kLeastSharedAddress;
    if (uint32_t lower_half = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(shared_)); lower_half < kLeast) {
      shared_ += kLeast - lower_half;
    }
  }
  map_shared(std::max(kUsualShared, (size + kPage - 1) / kPage * kPage));
  // Vectorised kernels make masked accesses beyond the variable at hand; on pages that are not there yet
  // each costs hundreds of cycles, though nothing is accessed.
  if (uint64_t end = std::min(size + kPage, shared_mapped_); end > shared_touched_) {
    std::memset(shared_ + shared_touched_, 0, end - shared_touched_);
    shared_touched_ = end;
  }
  return shared_;
}

// No more than is asked for, or most kernels need, so that what reaches beyond it is found out, whatever ran before.
void Workspace::map_shared(uint64_t size) {
  std::byte* begin = shared_;
  if (size == shared_mapped_) return;
  bool mapped = size > shared_mapped_ ? ::mprotect(begin, size, PROT_READ | PROT_WRITE) == 0
                                      : ::mprotect(begin + size, shared_mapped_ - size, PROT_NONE) == 0;
  if (!mapped) throw system_error("cannot map shared memory");
  shared_mapped_ = size;
}

void* Workspace::frames() {
  // A limit on address space (ulimit -v) may leave less than the usual.
  for (uint64_t size = frames_most_; !frames_ && size >= kFramesLeast; size /= 2) {
    frames_ = reserve(size, PROT_READ | PROT_WRITE);
    frames_size_ = size;
  }
  if (!frames_) throw system_error("cannot reserve room for the work-items' frames");
  return frames_;
}

}  // namespace mneme::device::host
