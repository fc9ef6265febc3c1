// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/grid/grid_launch.h"

#include <cstring>

#include "base/error.h"

namespace mneme::device::host {
namespace {

constexpr size_t kArgumentsAlign = 256;  // of vectors and structures among them, whose offsets are multiples of theirs
constexpr size_t kSpare = 64;            // behind them: a vectorised load may take in more than it needs

template <typename T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

std::string describe_thread(const RunningBlock& block, uint32_t thread) {
  return fmt::format("({}, {}, {})", thread % block.block[0], thread / block.block[0] % block.block[1],
                     thread / block.block[0] / block.block[1]);
}

}  // namespace

GridLaunch::GridLaunch(const HostCode& code, bundle::Dim3 grid, bundle::Dim3 block, uint32_t shared_bytes, Bytes bytes,
                       const RunOptions& options)
    : code_(code.object()),
      grid_(grid),
      block_(block),
      room_(kArgumentsAlign + bytes.size() + kSpare),
      services_{options, code.object().kernel} {
  auto begin = reinterpret_cast<uintptr_t>(room_.data());
  std::byte* arguments = room_.data() + (kArgumentsAlign - begin % kArgumentsAlign);
  if (!bytes.empty()) std::memcpy(arguments, bytes.data(), bytes.size());
  services_.checks = LaunchChecks::make(code.object(), options);
  shared_size_ = (code_.shared_static + 15) / 16 * 16 + shared_bytes;

  const uint32_t blocks[3] = {grid.x, grid.y, grid.z}, threads[3] = {block.x, block.y, block.z};
  for (int i = 0; i < 3; ++i) {
    put(implicit_ + 4 * i, blocks[i]);
    put(implicit_ + 12 + 2 * i, static_cast<uint16_t>(threads[i]));
    put(implicit_ + 18 + 2 * i, uint16_t{0});  // HIP grids are whole blocks: no remainder
    put(implicit_ + 40 + 8 * i, uint64_t{0});  // global offset
    put(dispatch_ + 4 + 2 * i, static_cast<uint16_t>(threads[i]));
    put(dispatch_ + 12 + 4 * i, blocks[i] * threads[i]);
    any_block_.block[i] = threads[i];
    any_block_.grid[i] = blocks[i];
  }
  put(implicit_ + 64, uint16_t{3});  // dimensions, always three under HIP
  put(implicit_ + 120, shared_bytes);
  put(dispatch_ + 2, uint16_t{3});
  put(dispatch_ + 28, static_cast<uint32_t>(shared_size_));
  put(dispatch_ + 40, arguments);
  any_block_.arguments = arguments;
  any_block_.implicit = implicit_;
  any_block_.dispatch = dispatch_;
  any_block_.shared_dynamic = shared_bytes;
  any_block_.services = &host::services();
  any_block_.launch = &services_;
}

RunningBlock GridLaunch::make_block(Workspace& workspace, ItemFibers* items) const {
  RunningBlock block = any_block_;
  block.shared = workspace.shared(shared_size_);
  if (code_.keeps & codegen::host::kKeepsFrames) {
    block.frames = workspace.frames();
    block.frames_size = workspace.frames_size();
  }
  block.items = items;
  return block;
}

void GridLaunch::prepare(RunningBlock& block, uint64_t number) const {
  block.group[0] = static_cast<uint32_t>(number % grid_.x);
  block.group[1] = static_cast<uint32_t>(number / grid_.x % grid_.y);
  block.group[2] = static_cast<uint32_t>(number / grid_.x / grid_.y);
  freshen_shared(block);
}

// Without divisions, which take longer than small blocks.
void GridLaunch::prepare_next(RunningBlock& block) const {
  if (++block.group[0] == grid_.x) {
    block.group[0] = 0;
    if (++block.group[1] == grid_.y) {
      block.group[1] = 0;
      ++block.group[2];
    }
  }
  freshen_shared(block);
}

void GridLaunch::freshen_shared(RunningBlock& block) const {
  if (shared_size_) std::memset(block.shared, services_.options.poison_shared ? kPoison : 0, shared_size_);
}

void GridLaunch::fail(const RunningBlock& block, int signal, const FaultGuard& guard) {
  std::optional<uint32_t> running;
  if (block.items) running = block.items->take_running();
  if (!running) running = block.checked_thread;
  const Stacks* full = nullptr;
  for (const Stacks* stacks : {block.items ? &block.items->stacks() : nullptr, block.stacks}) {
    if (stacks && guard.has_address && stacks->guards(guard.address)) full = stacks;
  }
  std::string thread = running ? describe_thread(block, *running) : "";
  if (signal == FaultGuard::kStopped) {
    fail(block, describe_thread(block, block.fault_thread), stop_reason(), block.refused_address);
  } else if (full) {
    fail(block, thread, fmt::format("has used up its stack of {} KiB", full->size() >> 10));
  } else {
    std::optional<uint64_t> address;
    if (guard.has_address && !guard.stack_full) address = reinterpret_cast<uint64_t>(guard.address);
    fail(block, thread, describe_fault(signal, guard), address);
  }
}

bool GridLaunch::failed(const RunningBlock& block) {
  switch (block.fault) {
    case codegen::host::kNoFault:
      return false;
    case codegen::host::kFramesExhausted:
      fail(block, "", fmt::format("needs more than {} MiB for its threads' variables", block.frames_size >> 20));
      return true;
    default:
      fail(block, "",
           fmt::format("failed (fault {}) at thread {}", block.fault, describe_thread(block, block.fault_thread)));
      return true;
  }
}

void GridLaunch::fail(const RunningBlock& block, const std::string& thread, const std::string& what,
                      std::optional<uint64_t> address) {
  std::lock_guard lock(mutex_);
  if (fault_.empty()) {
    fault_ = fmt::format("kernel '{}', block ({}, {}, {}){}: {}", code_.kernel, block.group[0], block.group[1],
                         block.group[2], thread.empty() ? "" : ", thread " + thread, what);
    fault_kind_ = block.fault;
    fault_block_ = {block.group[0], block.group[1], block.group[2]};
    fault_is_exact_ = !thread.empty();
    fault_address_ = address;
  }
  failed_ = true;
}

void GridLaunch::fail(std::exception_ptr trouble) {
  std::lock_guard lock(mutex_);
  if (!trouble_) trouble_ = std::move(trouble);
  failed_ = true;
}

void GridLaunch::begin_to_wait() {
  std::atomic<int>* waiting = services_.options.waiting;
  if (waiting && !waits_.exchange(true)) ++*waiting;
}

void GridLaunch::cease_to_wait() {
  if (waits_ && waits_.exchange(false)) --*services_.options.waiting;
}

void GridLaunch::warn_of_wait(const RunningBlock& block, std::chrono::seconds time) {
  if (!services_.options.warn || told_of_wait_.exchange(true)) return;
  std::string text = fmt::format(
      "kernel '{}', block ({}, {}, {}): for {} seconds its threads, and all others that have not ended, have waited "
      "for "
      "memory that none of them changes",
      code_.kernel, block.group[0], block.group[1], block.group[2], time.count());
  std::lock_guard lock(services_.output);
  services_.options.warn(text);
}

void GridLaunch::finish() const {
  if (trouble_ && fault_.empty()) std::rethrow_exception(trouble_);
  if (failed_) throw KernelFault(fault_, fault_kind_, fault_block_, fault_is_exact_, fault_address_);
}

}  // namespace mneme::device::host
