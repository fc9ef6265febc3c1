// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/kernels/kept_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "hostgpu/held_over_forks.h"
#include "hostgpu/memory/known_memory.h"
#include "hostgpu/memory/memory.h"
#include "hostgpu/memory/vmm.h"

namespace mneme::hostgpu {
namespace {

constexpr char kOthers[] = "other work was under way at the same time";

std::span<std::byte> memory_at(uint64_t address, uint64_t size) {
  return {reinterpret_cast<std::byte*>(address), size};
}

// The memory of the last copy, so that it need not be made present again.
struct Idle {
  HeldOverForks<std::mutex> mutex;
  std::unique_ptr<std::byte[]> memory;
  uint64_t capacity = 0;
};
Idle& idle() {  // never destroyed
  static auto* only = new Idle;
  return *only;
}

}  // namespace

uint64_t KeepingCost::at_first() {
  const char* timed = std::getenv("MNEME_APPLY_MEASURE");  // kApplyMeasureVariable of the recorder's
  return timed && *timed ? 0 : 2'000'000;
}

KeptMemory::KeptMemory(const Kernel& kernel, Bytes arguments, bool is_worth_it) {
  const Activity activity = current_activity();
  begun_ = activity.begun;
  if (!is_worth_it) {
    why_not_ = "keeping it before each launch takes more than a twentieth of the launches' time";
  } else if (activity.running > 1 && !operations_take_turns()) {
    why_not_ = kOthers;
  } else {
    try {
      copy(written_by(kernel, arguments));
    } catch (const std::exception& error) {
      error_ = error.what();
    }
  }
}

KeptMemory::~KeptMemory() {
  std::lock_guard lock(idle().mutex);
  if (capacity_ <= idle().capacity) return;
  std::swap(copy_, idle().memory);
  std::swap(capacity_, idle().capacity);
}

KeptMemory::Pieces KeptMemory::written_by(const Kernel& kernel, Bytes arguments) {
  const std::span<const codegen::host::GlobalSlot> variables = kernel.code()->globals();
  Pieces pieces;
  auto add_all = [&] {
    for (const device::host::KnownMemory& memory : known_memory(variables).live) {
      const auto mapping = find_mapping(reinterpret_cast<const void*>(memory.address));
      if (!mapping || mapping->writable) pieces.push_back(memory_at(memory.address, memory.size));
    }
  };
  auto add_argument = [&](uint64_t offset) {
    uint64_t pointer = 0;
    std::memcpy(&pointer, arguments.subspan(offset, sizeof pointer).data(), sizeof pointer);
    if (pointer == 0) return;
    const auto found = find_memory(reinterpret_cast<const void*>(pointer));
    if (!found) throw Error("the kernel may write memory that is no allocation");
    pieces.push_back(memory_at(found->address, found->size));
  };
  auto add_variable = [&](const std::string& name) {
    for (const codegen::host::GlobalSlot& variable : variables) {
      if (name == variable.name) pieces.push_back({static_cast<std::byte*>(variable.address), variable.size});
    }
  };
  const bundle::KernelInfo& info = kernel.info();
  const bool is_known = info.stores && !kernel.uses_heap() &&
                        std::ranges::none_of(info.handles, [](const bundle::Handle& handle) { return handle.surface; });
  const bool is_listed = is_known && std::ranges::none_of(*info.stores, [&](const bundle::StoreType& store) {
                           return store.argument < 0
                                      ? store.symbol.empty()
                                      : static_cast<uint64_t>(store.argument) + sizeof(uint64_t) > arguments.size();
                         });
  if (!is_listed) {
    add_all();
    return pieces;
  }
  for (const bundle::StoreType& store : *info.stores) {
    store.argument < 0 ? add_variable(store.symbol) : add_argument(static_cast<uint64_t>(store.argument));
  }
  return pieces;
}

// Pieces may be there twice, or have parts of each other: all hold the same.
void KeptMemory::copy(const Pieces& pieces) {
  uint64_t size = 0;
  for (const auto& piece : pieces) size += piece.size();
  if (size > kMostBytes && !operations_take_turns())
    throw Error::of("the kernel may write more than {} MiB", kMostBytes >> 20);
  {
    std::lock_guard lock(idle().mutex);
    copy_ = std::move(idle().memory);
    capacity_ = std::exchange(idle().capacity, 0);
  }
  if (capacity_ < size) {
    copy_.reset();
    copy_ = std::make_unique_for_overwrite<std::byte[]>(size);
    capacity_ = size;
  }
  std::byte* to = copy_.get();
  for (const auto& piece : pieces) {
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  }
  pieces_ = pieces;
}

std::string KeptMemory::why_not() const {
  if (why_not_) return why_not_;
  if (!error_.empty()) return error_;
  return operations_take_turns() || current_activity().begun == begun_ ? "" : kOthers;
}

void KeptMemory::put_back() const {
  const std::byte* from = copy_.get();
  for (const auto& piece : pieces_) {
    std::memcpy(piece.data(), from, piece.size());
    from += piece.size();
  }
}

}  // namespace mneme::hostgpu
