// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/core.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "annotate/mneme/annotate.h"
#include "recorder/core/annotation.h"
#include "recorder/memory/own_memory.h"

namespace mneme::record {
namespace {

constexpr char kUnknown[] = "(unknown kernel)";

Limits limits_of(const Welcome& welcome) {
  return {welcome.max_instances, welcome.occurrences, welcome.skip, welcome.every, welcome.only_config};
}

std::string_view reason_of(Policy::Verdict verdict) {
  switch (verdict) {
    case Policy::Verdict::kSkipped:
      return "among the first ones, which --skip leaves out";
    case Policy::Verdict::kBetween:
      return "between those that --every chooses";
    default:
      return "the kernel has its --max-instances";
  }
}

}  // namespace

constinit thread_local bool Core::Nested::inside_ = false;

Core::Core(Runtime& runtime, std::unique_ptr<Connection> connection, std::unique_ptr<Applier> applier)
    : runtime_(runtime),
      connection_(connection ? std::move(connection) : Connection::closed()),
      applier_(std::move(applier)),
      allocations_(runtime, connection_->welcome().range_size,
                   {[this](const Chunk& chunk, int descriptor) {
                      connection_->tell(chunk, descriptor);
                      if (chunk.fetched) fetched_bytes_ += chunk.size;
                    },
                    [this](const Drop& drop) { connection_->tell(drop); },
                    [this](const Digests& digests) { connection_->tell(digests); },
                    [this] { connection_->tell(Digesting{}); }, [this] { return connection_->welcome().reads_memory; },
                    [this](const Reserved& reserved) { connection_->tell(reserved); },
                    [this](const Unwritten& unwritten) { connection_->tell(unwritten); }}),
      delivery_(runtime),
      limits_(limits_of(connection_->welcome())),
      kernels_(
          limits_, [this] { return runtime_.processor(0); },
          [this](void* handle) { return runtime_.lifted_records(handle); }),
      state_(connection_->is_closed() ? State::kEnded : State::kRecording) {}

void Core::stop() noexcept {
  std::string reason;
  try {
    if (std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    reason = error.what();
  } catch (...) {
  }
  if (state_.exchange(State::kEnded) != State::kRecording) return;
  try {
    connection_->tell(Stopped{reason});
  } catch (...) {  // the parent is gone: nobody is left to tell
  }
  allocations_.abandon();
}

void Core::count_unrecorded() noexcept {
  Counters& counters = connection_->counters();
  if (forked_.load(std::memory_order_relaxed)) {
    if (!connection_->welcome().children) counters.add(Counters::kOfChildren);
    return;
  }
  counters.add(Counters::kLaunches);
  counters.add(Counters::kUnrecorded);
}

// ---- what is registered and allocated ----------------------------------------------------------------------------

void Core::add_fat_binary(void* handle, const std::byte* image) noexcept try {
  kernels_.add_fat_binary(handle, image);
} catch (...) {
  stop();
}

void Core::add_module(void* handle, std::string image) noexcept try {
  kernels_.add_module(handle, std::move(image));
} catch (...) {
  stop();
}

void Core::add_stub(void* handle, const void* function, const char* name) noexcept try {
  const bool known = knows(function);
  kernels_.add_stub(handle, function, name);
  std::lock_guard lock(mutex_);
  if (!known && passed_.contains(kUnknown)) settled_.forget();  // it was perhaps among those
} catch (...) {
  stop();
}

void Core::remove_fat_binary(void* handle) noexcept try {
  kernels_.remove_fat_binary(handle);
  heaps_.forget(handle);
  if (applier_) applier_->forget(handle);
  std::lock_guard lock(mutex_);
  settled_.forget();  // other functions may come to lie where its were
} catch (...) {
  stop();
}

void* Core::allocate(Space space, uint64_t size, uint64_t flags, int device) noexcept {
  if (!recording()) return nullptr;
  try {
    void* allocated = allocations_.allocate(space, size, flags, device);
    if (fetched_bytes_ > Much::kBytes && !is_ready_) get_ready();
    return allocated;
  } catch (...) {
    stop();
    return nullptr;
  }
}

// Whatever comes of it, the memory that was just given to the application stays its own.
void Core::get_ready() noexcept try {
  if (runtime_.is_capturing(nullptr) || is_ready_.exchange(true)) return;
  connection_->ask_if_idle<Ready>(Much{}, begins_to_fetch(), finishes_fetching());
} catch (...) {
  stop();
}

void* Core::allocate_in(void* stream, uint64_t size, int device) noexcept {
  if (!recording()) return nullptr;
  if (void* again = allocations_.allocate_again(size, device, stream)) return again;
  // More would keep from others what is long done.
  constexpr uint64_t kMostWaiting = 256 << 20;
  uint64_t mark = allocations_.mark();
  if (allocations_.waiting_bytes() > kMostWaiting && runtime_.synchronize(kPatience) == 0) allocations_.reclaim(mark);
  return allocate(Space::kDevice, size, 0, device);
}

std::optional<int> Core::release(const void* pointer) noexcept try {
  if (!allocations_.find(pointer)) return std::nullopt;
  uint64_t mark = allocations_.mark();
  int status = runtime_.wait();
  if (status == kNotWhileCapturing) return status;
  if (status == 0) allocations_.reclaim(mark);
  if (!allocations_.release(pointer)) return std::nullopt;
  pools_.remove(reinterpret_cast<uint64_t>(pointer));
  return status;
} catch (...) {
  stop();
  return std::nullopt;
}

bool Core::release_in(void* stream, const void* pointer) noexcept try {
  if (!allocations_.release_later(pointer, stream)) return false;
  pools_.remove(reinterpret_cast<uint64_t>(pointer));
  return true;
} catch (...) {
  stop();
  return false;
}

std::optional<Allocations::Known> Core::find(const void* pointer) const noexcept { return allocations_.find(pointer); }

void Core::add_registered(const void* pointer, uint64_t size) noexcept try {
  if (recording()) allocations_.add_registered(pointer, size);
} catch (...) {
  stop();
}

void Core::remove_registered(const void* pointer) noexcept try {
  if (recording()) allocations_.remove_registered(pointer);
} catch (...) {
  stop();
}

bool Core::add_mapped(const void* pointer, uint64_t size, int descriptor, int device) noexcept try {
  return allocations_.add_mapped(pointer, size, descriptor, device);
} catch (...) {
  stop();
  return false;
}

void Core::remove_mapped(const void* pointer, uint64_t size) noexcept try {
  outside_.remove_all_in(reinterpret_cast<uint64_t>(pointer), size);
  if (recording()) allocations_.remove_mapped(pointer, size);
} catch (...) {
  stop();
}

void Core::add_outside(const void* pointer, uint64_t size, std::string reason) noexcept try {
  if (recording()) outside_.add(reinterpret_cast<uint64_t>(pointer), size, std::move(reason));
} catch (...) {
  stop();
}

void Core::remove_outside(const void* pointer) noexcept { outside_.remove(reinterpret_cast<uint64_t>(pointer)); }

void Core::annotate(const void* pointer, const mneme_annotation_v1* annotation) noexcept try {
  if (!recording()) return;
  std::string trouble;
  std::optional<std::string> json = annotation ? annotation_json(*annotation, trouble) : std::string();
  uint64_t bytes = annotation && json ? annotated_bytes(*annotation) : 0;
  uint64_t runs = annotation && json ? ignored_runs(*annotation) : 0;
  if (runs > 0 && !allocations_.takes_mask(pointer, runs)) {
    trouble = "with it, masks have more than " + std::to_string(Allocations::kMostRuns) + " runs of elements to ignore";
    json.reset();
  }
  if (json && !allocations_.annotate(pointer, std::move(*json), bytes)) trouble = "it is no pointer to device memory";
  if (trouble.empty()) return;
  bool has_tag = annotation && annotation->size >= sizeof *annotation && annotation->tag;
  std::string tag = has_tag ? " '" + std::string(annotation->tag) + "'" : "";
  std::fprintf(stderr, "mneme-capture: warning: annotation%.80s of %p ignored: %s\n", tag.c_str(), pointer,
               trouble.c_str());
} catch (...) {
  stop();
}

// ---- launches ----------------------------------------------------------------------------------------------------

std::string Core::kernel_name(const void* function) noexcept try {
  std::shared_ptr<const Stub> stub = kernels_.find(function);
  return stub ? stub->demangled : kUnknown;
} catch (...) {
  return {};
}

bool Core::knows(const void* function) noexcept try { return kernels_.find(function) != nullptr; } catch (...) {
  return false;
}

bool Core::count_settled(const std::vector<LaunchRequest>& requests) noexcept try {
  if (!recording()) return false;
  std::vector<const Settled::Slots*> found;
  for (const LaunchRequest& request : requests) {
    found.push_back(settled_.find(request, runtime_.device_of(request.stream)));
    if (!found.back()) return false;
  }
  for (const Settled::Slots* slots : found) count(*slots);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

bool Core::count_if_settled(const LaunchRequest& request) noexcept {
  const Settled::Slots* slots = settled_.find(request, runtime_.device_of(request.stream));
  if (slots) count(*slots);
  return slots != nullptr;
}

void Core::count(const Settled::Slots& slots) noexcept {
  Counters& counters = connection_->counters();
  counters.add(Counters::kLaunches);
  counters.add(slots.launches);
  counters.add(slots.reason);
}

void Core::count_launch(Recording& recording, const std::string& kernel) {
  if (recording.launches == 0) {
    recording.launches = next_slot_++;
    connection_->tell(Counter{recording.launches, false, kernel, {}});
  }
  connection_->counters().add(recording.launches);
}

uint32_t Core::count(Recording& recording, const std::string& kernel, std::string_view reason, bool wanted) {
  auto known = recording.slots.find(reason);
  if (known == recording.slots.end()) {
    known = recording.slots.emplace(reason, next_slot_++).first;
    connection_->tell(Counter{known->second, wanted, kernel, known->first});
  }
  connection_->counters().add(known->second);
  return known->second;
}

// Values with padding may be alike without being the same.
void Core::note_recorded(Recording& recording, const LaunchRequest& request, const Chosen& chosen,
                         Settled::Slots slots) {
  constexpr size_t kFew = 32;
  const bundle::KernelInfo& info = *chosen.stub->info;
  auto launch = settled_launch(request, chosen.device, info, limits_.only_config, slots);
  bool padded = std::ranges::any_of(info.arguments, [](const auto& argument) { return !argument.padding.empty(); });
  recording.tells_recorded = recording.tells_recorded && launch && !padded && recording.recorded.size() < kFew;
  if (recording.tells_recorded) recording.recorded.push_back(std::move(launch));
}

std::optional<Core::Chosen> Core::choose(const LaunchRequest& request) noexcept try {
  Counters& counters = connection_->counters();
  Chosen chosen;
  chosen.index = counters.add(Counters::kLaunches);
  chosen.device = runtime_.device_of(request.stream);
  chosen.stub = kernels_.find(request.function, chosen.device);
  if (chosen.stub && chosen.stub->asks_for_code) {
    if (auto with_code = take_code(request, *chosen.stub, chosen.device)) chosen.stub = std::move(with_code);
  }
  std::lock_guard lock(mutex_);
  if (!chosen.stub) {
    Recording& unknown = passed_.try_emplace(kUnknown, limits_).first->second;
    count_launch(unknown, kUnknown);
    uint32_t reason = count(unknown, kUnknown, "it was never registered", true);
    settled_.remember_all(request.function, chosen.device, {unknown.launches, reason});
    return std::nullopt;
  }
  const Stub& stub = *chosen.stub;
  if (is_recorded(chosen.device)) heaps_.give(stub, chosen.device);
  Recording& recording = *stub.recording;
  count_launch(recording, stub.demangled);
  if (!recording.asked) {
    recording.selected = connection_->ask<Selected>(Query{stub.demangled}).selected;
    recording.asked = true;
  }
  if (!recording.selected) {
    uint32_t reason = count(recording, stub.demangled, "not selected by --kernel", false);
    settled_.remember_all(request.function, chosen.device, {recording.launches, reason});
    return std::nullopt;
  }
  if (!is_recorded(chosen.device)) {
    count(recording, stub.demangled,
          "it ran on device " + std::to_string(chosen.device) + ", and the first eight are recorded", true);
    return std::nullopt;
  }
  if (!stub.info || !recording.refused.empty()) {
    uint32_t reason = count(recording, stub.demangled, stub.info ? recording.refused : stub.trouble, true);
    settled_.remember_all(request.function, chosen.device, {recording.launches, reason});
    return std::nullopt;
  }
  const bundle::KernelInfo& info = *stub.info;
  try {
    chosen.arguments = gather_arguments(info, request.arguments);
  } catch (const Error& error) {
    count(recording, stub.demangled, error.what(), true);
    return std::nullopt;
  }
  chosen.key = launch_key(limits_, info, request.grid, request.block, request.shared_bytes, chosen.arguments,
                          chosen.device, request.cluster);
  Policy::Choice choice = recording.policy.choose(chosen.key);
  if (choice.slot) {
    if (*choice.slot == 0) *choice.slot = next_slot_++;
    chosen.slot = *choice.slot;
    counters.add(chosen.slot);
  } else {
    chosen.slot = count(recording, stub.demangled, reason_of(choice.verdict), false);
  }
  const Settled::Slots slots{recording.launches, chosen.slot};
  if (choice.verdict == Policy::Verdict::kRecord) {
    note_recorded(recording, request, chosen, slots);
    return chosen;
  }
  if (choice.verdict == Policy::Verdict::kEnough && choice.settled && recording.tells_recorded) {
    settled_.remember_all(request.function, chosen.device, slots, recording.recorded);
  } else if (choice.settled) {
    settled_.remember_alike(request, chosen.device, info, limits_.only_config, slots);
  }
  return std::nullopt;
} catch (...) {
  connection_->counters().add(Counters::kUnrecorded);
  stop();
  return std::nullopt;
}

std::shared_ptr<const Stub> Core::take_code(const LaunchRequest& request, const Stub& stub, int device) {
  const std::string processor = runtime_.processor(device);
  if (processor.empty()) return nullptr;
  const auto ask = [&] { return runtime_.parameters(request.function, device); };
  const auto is_recorded = [&](uint64_t address) {
    return allocations_.find(reinterpret_cast<const void*>(address)).has_value();
  };
  return kernels_.take_code(stub, device, processor, ask, request.arguments, is_recorded);
}

// The launch's own stream may belong to another device than the current one.
int Core::settle(void* stream, std::chrono::milliseconds patience) {
  int status = stream ? runtime_.synchronize(stream, patience) : 0;
  return status ? status : runtime_.synchronize(patience);
}

void Core::drop(Chosen& chosen, const std::string& reason) {
  chosen.trouble = reason;
  if (!chosen.check.empty()) return;  // the application's report says so
  std::lock_guard lock(mutex_);
  Recording& recording = *chosen.stub->recording;
  recording.policy.withdraw(chosen.key);
  recording.tells_recorded = false;
  settled_.forget();
  count(recording, chosen.stub->demangled, reason, true);
}

void Core::refuse(Recording& recording, const std::string& reason) {
  std::lock_guard lock(mutex_);
  recording.refused = reason;
}

Digest Core::send_kernel(const Chosen& chosen, const std::vector<uint64_t>& function_addresses) {
  auto [known, fresh] = chosen.stub->recording->sent.try_emplace(function_addresses);
  if (!fresh) return known->second;
  const Stub& stub = *chosen.stub;
  bundle::KernelInfo info = *stub.info;
  std::string json = stub.json.empty() ? bundle::write(info) : std::string(stub.json);
  if (!function_addresses.empty()) {
    info.id = bundle::kernel_id(info.id, function_addresses);
    info.function_addresses = function_addresses;
    json = bundle::write(info);
  }
  if (has_ir(info)) {
    if (!stub.source.empty()) send_code(info.source_text, stub.source, /*source=*/true);
    connection_->tell(Kernel{std::move(json), std::string(text_of(stub.bytes))});
  } else {
    send_code(info.code_digest, stub.bytes);
    if (!info.ptx.empty()) send_code(info.ptx, stub.ptx);
    connection_->tell(Kernel{std::move(json), {}});
  }
  return known->second = info.id;
}

void Core::send_code(const Digest& digest, Bytes code, bool source) {
  if (codes_sent_.insert(digest).second) connection_->tell(Code{std::string(text_of(code)), source});
}

// Pointers may lead to variables that the kernel itself does not know: to tables of virtual functions, of objects that
// another one made.
void Core::add_variables_of_others(const Chosen& chosen, const std::set<std::string>& known) {
  for (const std::string& name : *chosen.stub->variables) {
    if (known.contains(name)) continue;
    std::optional<MemoryRange> range = runtime_.global(chosen.stub->code, name, chosen.device);
    if (range) allocations_.add_variable(*range, chosen.device);
  }
}

}  // namespace mneme::record
