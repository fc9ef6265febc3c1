// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How one launch is recorded.
#include "recorder/core/core.h"
#include "recorder/memory/own_memory.h"

namespace mneme::record {

int Core::launch(const LaunchRequest& request, const Real& real) noexcept {
  Nested nested;
  if (!nested.outermost()) return real();
  Applier::Hit* hit = applier_ ? find_variant(request) : nullptr;
  if (!hit) return record(request, real, real);
  return applier_->takes_check(*hit) ? check_variant(*hit, request, real) : launch_variant(*hit, request, real);
}

int Core::check_variant(Applier::Hit& hit, const LaunchRequest& request, const Real& real) noexcept {
  Uncancelled uncancelled;
  std::unique_lock alone(launches_);
  std::optional<Chosen> chosen;
  if (recording()) chosen = choose_to_check(applier_->choice_of(hit), request);
  Hold hold(runtime_);
  if (!chosen || !begin(request, *chosen)) {
    applier_->refuse(hit, "a launch that was to be checked could not be recorded" +
                              (chosen && !chosen->trouble.empty() ? ": " + chosen->trouble : std::string()));
    applier_->launched_own(hit, "the launch could not be checked");
    return real();
  }
  const int status = end(request, *chosen, real());
  applier_->checked(hit, !chosen->same, chosen->trouble);
  return status;
}

std::optional<Core::Chosen> Core::choose_to_check(const Digest& choice, const LaunchRequest& request) noexcept try {
  Chosen chosen;
  chosen.index = connection_->counters().add(Counters::kLaunches);
  chosen.device = runtime_.device_of(request.stream);
  chosen.stub = kernels_.find(request.function, chosen.device);
  chosen.arguments = gather_arguments(*chosen.stub->info, request.arguments);
  chosen.check = choice;
  std::lock_guard lock(mutex_);
  if (is_recorded(chosen.device)) heaps_.give(*chosen.stub, chosen.device);
  return chosen;
} catch (const std::exception&) {
  return std::nullopt;
}

int Core::launch_variant(Applier::Hit& hit, const LaunchRequest& request, const Real& real) noexcept {
  const auto variant = [&] { return applier_->launch(hit, request, real); };
  const auto own = [&] {
    applier_->launched_own(hit, "the launch was recorded");
    return real();
  };
  return applier_->records_variants() ? record(request, variant, variant) : record(request, own, variant);
}

Applier::Hit* Core::find_variant(const LaunchRequest& request) noexcept {
  const int device = runtime_.device_of(request.stream);
  return applier_->find(request, device, [&] { return launched_kernel(request, device); });
}

Applier::InGraph Core::find_in_graph(const LaunchRequest& request) noexcept {
  const int device = runtime_.device_of(request.stream);
  return applier_->find_in_graph(request, device, [&] { return launched_kernel(request, device); });
}

std::optional<LaunchedKernel> Core::launched_kernel(const LaunchRequest& request, int device) {
  std::shared_ptr<const Stub> stub = kernels_.find(request.function, device);
  if (stub && stub->asks_for_code) stub = take_code(request, *stub, device);
  if (!stub || !stub->info) return std::nullopt;
  return LaunchedKernel{stub->info, stub->demangled, stub->code, stub};
}

int Core::record(const LaunchRequest& request, const Real& recorded, const Real& other) noexcept {
  if (!recording()) {
    if (heaps_.any()) give_heap(request);
    count_unrecorded();
    return other();
  }
  std::optional<Chosen> chosen;
  std::optional<Uncancelled> uncancelled;  // it takes time to make
  {
    std::shared_lock ordinary(launches_);
    if (count_if_settled(request)) return other();
    uncancelled.emplace();
    chosen = choose(request);
    if (!chosen) return other();
  }
  std::unique_lock alone(launches_);
  Hold hold(runtime_);
  if (!begin(request, *chosen)) return other();
  return end(request, *chosen, recorded());
}

int Core::pass(const std::string& kernel, const char* reason, const Real& real) noexcept {
  Nested nested;
  if (!nested.outermost()) return real();
  if (!recording()) {
    count_unrecorded();
    return real();
  }
  std::shared_lock ordinary(launches_);
  try {
    std::lock_guard lock(mutex_);
    connection_->counters().add(Counters::kLaunches);
    Recording& passed = passed_.try_emplace(kernel, limits_).first->second;
    count_launch(passed, kernel);
    count(passed, kernel, reason, true);
  } catch (...) {
    connection_->counters().add(Counters::kUnrecorded);
    stop();
  }
  return real();
}

void Core::give_heap(const LaunchRequest& request) noexcept try {
  std::shared_ptr<const Stub> stub = kernels_.find(request.function);
  const int device = runtime_.device_of(request.stream);
  if (stub && is_recorded(device)) heaps_.give(*stub, device);
} catch (...) {  // the vendor's heap serves
}

bool Core::begin(const LaunchRequest& request, Chosen& chosen) noexcept try {
  if (!recording()) {
    connection_->counters().add(Counters::kUnrecorded);
    return false;
  }
  if (runtime_.is_capturing(request.stream)) {
    drop(chosen, "it was launched during stream capture: the kernels of a graph are recorded when it is launched");
    return false;
  }
  if (!runtime_.prepare(request.function, chosen.device)) {
    drop(chosen, "it cannot run on this device");
    return false;
  }
  uint64_t mark = allocations_.mark();
  if (int error = settle(request.stream, kPatience)) {
    drop(chosen, error == kStillRunning ? "a launch before it waits for the application, or takes too long"
                                        : "a launch before it failed: " + runtime_.error_text(error));
    return false;
  }
  allocations_.reclaim(mark);
  const bundle::KernelInfo& info = *chosen.stub->info;
  const ProgramCode& code = chosen.stub->code;
  std::vector<std::string> missing;
  std::vector<uint64_t> functions = runtime_.function_addresses(code, info, chosen.device, missing);
  // Any kernel may use what others have allocated from the device's heap.
  std::set<std::string> names = {bundle::kDeviceHeap};
  for (const bundle::Global& global : info.globals) names.insert(global.name);
  std::vector<Allocations::Symbol> symbols;
  for (const std::string& name : names) {
    if (auto range = runtime_.global(code, name, chosen.device)) {
      symbols.push_back({name, *range});
    } else if (std::string reason = runtime_.why_missing(code, info, name); !reason.empty()) {
      missing.push_back(std::move(reason));
    }
  }
  if (uses(info, bundle::kTextures) || !has_ir(info)) {
    chosen.arrays = std::make_unique<ArrayCopies>(allocations_, runtime_, chosen.device);
    chosen.arrays->take(info, chosen.arguments, missing);
    symbols.insert(symbols.end(), chosen.arrays->symbols().begin(), chosen.arrays->symbols().end());
  }
  Prologue prologue;
  prologue.kernel = send_kernel(chosen, functions);
  prologue.index = chosen.index;
  prologue.grid = request.grid;
  prologue.block = request.block;
  prologue.shared_bytes = request.shared_bytes;
  prologue.stack_bytes = runtime_.stack_bytes(chosen.device);
  prologue.cooperative = request.cooperative;
  prologue.cluster =
      request.cluster.count() > 1 ? request.cluster : runtime_.required_cluster(request.function, chosen.device);
  runtime_.attributes(request, prologue.attributes, missing);
  prologue.slot = chosen.slot;
  prologue.check = chosen.check;
  prologue.device = static_cast<uint32_t>(chosen.device);
  prologue.arguments = chosen.arguments;
  for (const Allocations::Symbol& symbol : symbols) allocations_.add_variable(symbol.range, chosen.device);
  if (!info.pointers.empty() && runtime_.fetches()) add_variables_of_others(chosen, names);
  allocations_.hold();
  std::set<std::string> annotated_in_part;
  prologue.segments = allocations_.segments(symbols, &annotated_in_part);
  for (const std::string& variable : annotated_in_part) {
    if (!warned_of_.insert(variable).second) continue;
    std::fprintf(stderr,
                 "mneme-capture: warning: annotations of parts of the variable '%.80s' ignored: it is annotated "
                 "from its beginning to its end, or not at all\n",
                 variable.c_str());
  }
  prologue.outside = outside_.list();
  if (!info.pointers.empty()) prologue.ordinary = ordinary_memory(connection_->welcome().range_size);
  prologue.missing = missing_of(info, prologue.arguments, prologue.segments, prologue.outside);
  prologue.missing.insert(prologue.missing.end(), missing.begin(), missing.end());
  if (chosen.arrays) {
    std::vector<std::string> of_textures = chosen.arrays->missing_in(prologue.segments);
    prologue.missing.insert(prologue.missing.end(), of_textures.begin(), of_textures.end());
    prologue.textures = chosen.arrays->json();
  }
  if (uses(info, bundle::kDeviceHeap) &&
      std::ranges::find(symbols, bundle::kDeviceHeap, &Allocations::Symbol::name) == symbols.end() &&
      !heaps_.serves(*chosen.stub, chosen.device)) {
    prologue.missing.push_back("the heap from which kernels allocate is out of the recorder's reach on a GPU");
  }
  allocations_.refresh();
  Prepared prepared = ask_about_memory<Prepared>(prologue);
  chosen.polls = prepared.polls;
  if (prepared.ready) return true;
  allocations_.let_go();
  if (chosen.check.empty()) refuse(*chosen.stub->recording, prepared.reason);
  drop(chosen, prepared.reason);
  return false;
} catch (...) {
  connection_->counters().add(Counters::kUnrecorded);
  stop();
  allocations_.let_go();
  return false;
}

int Core::end(const LaunchRequest& request, Chosen& chosen, int status) noexcept try {
  // After a launch that failed nothing more is called: the application asks the runtime for its last error.
  bool launched = status == 0;
  if (launched) status = settle(request.stream, chosen.polls ? kLittlePatience : kPatience);
  bool copied = true;
  if (launched && status == 0) {
    copied = !chosen.arrays || chosen.arrays->take_again();
    allocations_.refresh();
  }
  Recorded recorded = ask_about_memory<Recorded>(Epilogue{status == 0 && copied});
  chosen.same = recorded.same;
  chosen.trouble = recorded.reason;
  if (!copied) drop(chosen, "the array of a surface that it wrote cannot be copied");
  allocations_.let_go();
  if (status != 0) {
    // The application waited long enough for one.
    if (status == kStillRunning)
      refuse(*chosen.stub->recording, "a launch of it waited for the application, or took too long");
    drop(chosen, status == kStillRunning ? "it, or another launch, waits for the application, or takes too long"
                                         : "the launch failed: " + runtime_.error_text(status));
  }
  if (!recorded.go_on) state_.store(State::kEnded);
  return status;
} catch (...) {
  connection_->counters().add(Counters::kUnrecorded);
  stop();
  allocations_.let_go();
  return status;
}

}  // namespace mneme::record
