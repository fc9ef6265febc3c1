// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/services/services.h"

#include <fmt/format.h>

#include <chrono>

#include "device/host/checks/unwritten.h"
#include "device/host/grid/fault_guard.h"
#include "device/host/grid/running_block.h"
#include "device/host/heap/device_heap.h"
#include "device/host/heap/gpu_heap.h"
#include "device/host/services/diverged.h"
#include "device/host/services/images.h"
#include "device/host/services/memory_check.h"

namespace mneme::device::host {
namespace {

using codegen::host::BlockContext;

std::string& reason() {
  thread_local std::string text;
  return text;
}

ServiceState& state_of(BlockContext* context) { return *static_cast<ServiceState*>(context->launch); }

void stop(BlockContext* context, uint32_t thread, uint32_t fault, const char* text) {
  const char* more = text ? text : "";
  switch (fault) {
    case codegen::host::kTrapped:
      stop_block(context, thread, "trapped", fault);
    case codegen::host::kAborted:
      stop_block(context, thread, "called abort()", fault);
    case codegen::host::kAssertionFailed:
      stop_block(context, thread, std::string("failed an assertion: ") + more, fault);
    case codegen::host::kWildCall:
      stop_block(context, thread, "called a function through a pointer that leads to none", fault);
    default:
      stop_block(context, thread, more, fault);
  }
}

// ---- printf ------------------------------------------------------------------------------------------------------

uint64_t print_begin(BlockContext* context, uint32_t, uint32_t stream) {
  ServiceState& state = state_of(context);
  std::lock_guard lock(state.output);
  state.messages[++state.last_message].stream = static_cast<int>(stream);
  return state.last_message;
}

// Null for what is no message: one that has ended.
PrintMessage* find(ServiceState& state, uint64_t message) {
  std::lock_guard lock(state.output);
  auto found = state.messages.find(message);
  return found == state.messages.end() ? nullptr : &found->second;
}

// Only the work-item that began a message adds to it: it needs no lock.
uint64_t add_part(ServiceState& state, uint64_t message, PrintPart part) {
  if (PrintMessage* found = find(state, message)) found->parts.push_back(std::move(part));
  return message;
}

uint64_t print_end(BlockContext* context, uint64_t message) {
  ServiceState& state = state_of(context);
  PrintMessage* found = find(state, message);
  if (!found) return 0;
  touch_strings(found->parts);
  std::string text = formatted(found->parts);
  std::lock_guard lock(state.output);
  if (state.options.print) state.options.print(found->stream, text);
  state.messages.erase(message);
  return text.size();
}

// `length` bytes can be read, or the thread faults here, where nothing is held.
void touch(const char* bytes, uint64_t length) {
  constexpr uint64_t kPage = 4096;
  for (uint64_t i = 0; i < length; i += kPage) static_cast<void>(*static_cast<const volatile char*>(bytes + i));
  if (length) static_cast<void>(*static_cast<const volatile char*>(bytes + length - 1));
}

uint64_t print_string(BlockContext* context, uint32_t, uint64_t message, const char* bytes, uint64_t length,
                      uint32_t last) {
  if (bytes) {
    touch(bytes, length);
    add_part(state_of(context), message, {PrintPart::kText, 0, std::string(bytes, length ? length - 1 : 0)});
  } else {
    add_part(state_of(context), message, {PrintPart::kNullText, 0, {}});
  }
  return last ? print_end(context, message) : message;
}

uint64_t print_words(BlockContext* context, uint32_t, uint64_t message, uint32_t count, uint64_t a, uint64_t b,
                     uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint32_t last) {
  const uint64_t words[] = {a, b, c, d, e, f, g};
  for (uint32_t i = 0; i < count && i < 7; ++i) add_part(state_of(context), message, {PrintPart::kWord, words[i], {}});
  return last ? print_end(context, message) : message;
}

uint32_t print_count(BlockContext*, uint32_t, const char* format) { return count_of_arguments(format); }

void fail_assertion(BlockContext* context, uint32_t thread, const char* assertion, const char* file, uint32_t line,
                    const char* function) {
  {
    ServiceState& state = state_of(context);
    std::string text = fmt::format("{}:{}: {}: Device-side assertion `{}' failed.\n", file, line, function, assertion);
    std::lock_guard lock(state.output);
    if (state.options.print) state.options.print(2, text);
  }
  stop(context, thread, codegen::host::kAssertionFailed, assertion);
}

// ---- the heap ----------------------------------------------------------------------------------------------------

void* allocate(BlockContext* context, uint32_t thread, uint64_t size) {
  DeviceHeap* heap = state_of(context).options.heap;
  if (!heap) return nullptr;
  HeapAnswer answer = heap->allocate(size);
  if (answer.trouble == HeapTrouble::kNone) {
    if (LaunchChecks* checks = state_of(context).checks.get()) checks->forget(answer.address, size);
    return answer.address;
  }
  stop_block(context, thread, "finds the device's heap damaged: something wrote to memory that was not its own");
}

void release(BlockContext* context, uint32_t thread, void* address) {
  if (!address) return;
  DeviceHeap* heap = state_of(context).options.heap;
  switch (heap ? heap->release(address) : HeapTrouble::kNotAllocated) {
    case HeapTrouble::kNone:
      return;
    case HeapTrouble::kReleased:
      stop_block(context, thread, fmt::format("frees {} a second time", fmt::ptr(address)));
    case HeapTrouble::kNotAllocated:
      stop_block(context, thread, fmt::format("frees {}, which no kernel allocated", fmt::ptr(address)));
    case HeapTrouble::kDamaged:
      stop_block(context, thread, "finds the device's heap damaged: something wrote to memory that was not its own");
  }
}

const objects::HeapVariable& heap_at(const void* variable) {
  return *static_cast<const objects::HeapVariable*>(variable);
}

void* allocate_in(BlockContext* context, uint32_t thread, const void* variable, uint64_t size) {
  const objects::HeapVariable& heap = heap_at(variable);
  if (heap.base == 0) return allocate(context, thread, size);
  auto product = [](const uint32_t(&of)[3]) { return uint64_t{of[0]} * of[1] * of[2]; };
  const auto& [x, y, z] = context->group;
  const uint64_t group = (uint64_t{z} * context->grid[1] + y) * context->grid[0] + x;
  return gpu_heap_allocate(heap, size, {group, product(context->grid), thread, product(context->block)});
}

void release_in(BlockContext* context, uint32_t thread, const void* variable, void* address) {
  const objects::HeapVariable& heap = heap_at(variable);
  if (gpu_heap_holds(heap, address)) return gpu_heap_release(heap, address);
  release(context, thread, address);
}

uint64_t wall_clock(BlockContext*, uint32_t) {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  constexpr uint64_t kNanosecondsPerTick = 1'000'000 / codegen::host::kWallClockRate;
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count()) / kNanosecondsPerTick;
}

// ---- checks ------------------------------------------------------------------------------------------------------

void track(BlockContext* context, uint32_t thread, const void* address, uint64_t size, uint64_t value,
           const codegen::host::Site* site) {
  if (LaunchChecks* checks = state_of(context).checks.get())
    checks->track(*context, thread, address, size, value, *site);
}

void track_sync(BlockContext* context, uint32_t thread, uint32_t kind, const codegen::host::Site* site) {
  if (LaunchChecks* checks = state_of(context).checks.get()) checks->track_sync(*context, thread, kind, *site);
}

void track_mask(BlockContext* context, uint32_t thread, uint64_t mask, uint64_t here, const codegen::host::Site* site) {
  if (LaunchChecks* checks = state_of(context).checks.get()) checks->track_mask(*context, thread, mask, here, *site);
}

Unwritten* unwritten_of(BlockContext* context) {
  LaunchChecks* checks = state_of(context).checks.get();
  return checks ? checks->unwritten() : nullptr;
}

uint32_t unwritten_read(BlockContext* context, uint32_t thread, const void* address, uint64_t size,
                        const codegen::host::Site* site) {
  Unwritten* unwritten = unwritten_of(context);
  return unwritten ? unwritten->read(*context, thread, reinterpret_cast<uint64_t>(address), size, *site) : 0;
}

void unwritten_use(BlockContext* context, uint32_t, uint32_t number, uint32_t how, const void* address,
                   const codegen::host::Site* site) {
  if (!(number & ~codegen::host::kComputedRead)) return;  // the checks are off
  unwritten_of(context)->use(*context, number, static_cast<codegen::host::UseOfUnwritten>(how),
                             reinterpret_cast<uint64_t>(address), *site);
}

void unwritten_keep(BlockContext* context, uint32_t, uint32_t number, const void* address, uint64_t size) {
  if (!(number & ~codegen::host::kComputedRead)) return;
  unwritten_of(context)->keep(*context, number, reinterpret_cast<uint64_t>(address), size);
}

void written(BlockContext* context, uint32_t, const void* to, const void* from, uint64_t size) {
  if (Unwritten* unwritten = unwritten_of(context)) {
    unwritten->write(*context, reinterpret_cast<uint64_t>(to), reinterpret_cast<uint64_t>(from), size);
  }
}

void found_number(BlockContext* context, uint32_t thread, const char* operation, uint32_t count, double result,
                  double a, double b, double c, const codegen::host::Site* site) {
  const double operands[] = {a, b, c};
  LaunchChecks* checks = state_of(context).checks.get();
  if (checks) checks->found_number(*context, thread, operation, result, std::span(operands).first(count), *site);
}

}  // namespace

void stop_block(BlockContext* context, uint32_t thread, std::string why, uint32_t fault) {
  reason() = std::move(why);
  context->fault = fault;
  context->fault_thread = thread;
  FaultGuard::leave();
}

const std::string& stop_reason() { return reason(); }

const codegen::host::Services& services() {
  static const codegen::host::Services kServices = {
      .stop = stop,
      .print_begin = print_begin,
      .print_string = print_string,
      .print_words = print_words,
      .allocate = allocate,
      .release = release,
      .check = check_access,
      .converge_grid = converge_grid,
      .fail_assertion = fail_assertion,
      .wall_clock = wall_clock,
      .run_items = run_items,
      .converge = converge,
      .enter = enter,
      .leave = leave,
      .diverged = diverged,
      .image_load = load_texel,
      .image_store = store_texel,
      .image_sample = sample_image,
      .image_gather = gather_texels,
      .image_query = query_image,
      .image_level = level_of_slopes,
      .surface_load = load_surface,
      .surface_store = store_surface,
      .yield = yield,
      .print_count = print_count,
      .allocate_in = allocate_in,
      .release_in = release_in,
      .track = track,
      .track_sync = track_sync,
      .track_mask = track_mask,
      .unwritten_read = unwritten_read,
      .unwritten_use = unwritten_use,
      .unwritten_keep = unwritten_keep,
      .written = written,
      .found_number = found_number,
  };
  return kServices;
}

}  // namespace mneme::device::host
