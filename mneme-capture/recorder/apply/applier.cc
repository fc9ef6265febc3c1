// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/apply/applier.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/long_names.h"

namespace mneme::record {
namespace {

constexpr size_t kMostPending = 4096;

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

// Of a choice, on all devices and in all code that has its kernel.
struct Applier::State {
  std::atomic<uint64_t> turns{0};
  std::atomic<uint64_t> to_check{0};
  std::atomic<bool> differs{false};
};

// A choice that fits a kernel on a device; it fits a launch that has its key.
class Applier::Hit {
 public:
  Launched* kernel = nullptr;
  const Choices::One* one = nullptr;
  State* state = nullptr;
  std::once_flag loading;
  std::unique_ptr<LoadedVariant> loaded;
  std::atomic<bool> is_loaded{false};
  std::atomic<bool> refused{false};

  bool fits(const LaunchRequest& request) const {
    const bundle::Choice& key = one->choice;
    return key.grid == request.grid && key.block == request.block && key.shared_bytes == request.shared_bytes &&
           key.cooperative == request.cooperative && key.cluster == request.cluster;
  }
};

// A kernel on a device. One that the bundle does not have has no hits.
struct Applier::Launched {
  LaunchedKernel kernel;
  const void* function = nullptr;
  int device = 0;
  std::vector<std::unique_ptr<Hit>> hits;
  const char* why = nullptr;  // there are none, although the bundle has the kernel
  std::mutex mutex;
  std::map<std::string_view, std::atomic<uint64_t>*> misses;  // by reason
};

std::unique_ptr<Applier> Applier::open(Runtime& runtime, const Devices& devices) {
  const std::string path = variable(kApplyVariable);
  return path.empty() ? nullptr : std::unique_ptr<Applier>(new Applier(runtime, devices, path));
}

Applier::Applier(Runtime& runtime, const Devices& devices, const std::string& path)
    : runtime_(runtime),
      devices_(devices),
      choices_(path),
      folder_(variable(kApplyReportVariable)),
      report_(std::make_unique<Report>(folder_, choices_.size())),
      measures_(variable(kApplyMeasureVariable) == std::string("1")),
      records_variants_(variable(kApplyRecordVariable) == std::string("variant")),
      checks_(std::strtoull(variable(kApplyCheckVariable), nullptr, 10)),
      states_(std::make_unique<State[]>(choices_.size())) {
  for (State& state : std::span(states_.get(), choices_.size())) state.to_check = checks_;
}

Applier::~Applier() = default;

// ---- which variant ----

std::unique_ptr<Applier::Launched> Applier::make(const LaunchedKernel& kernel, int device) {
  auto made = std::make_unique<Launched>();
  made->kernel = kernel;
  made->device = device;
  const auto* choices = choices_.of(kernel.info->id);
  if (!choices) {
    if (choices_.knows(kernel.info->name)) made->why = "its code differs from the code that was tuned";
    return made;
  }
  for (const Choices::One* one : *choices) {
    if (!runtime_.runs(one->choice.target, device)) continue;
    auto& hit = made->hits.emplace_back(std::make_unique<Hit>());
    hit->kernel = made.get();
    hit->one = one;
    hit->state = &states_[one->number];
  }
  // One that is specialised is there only where it is faster than one that is not.
  std::ranges::stable_sort(made->hits, std::greater(), [](const std::unique_ptr<Hit>& hit) {
    size_t bytes = 0;
    for (const bundle::Guard& guard : hit->one->choice.guards) bytes += guard.bytes.size();
    return bytes;
  });
  if (made->hits.empty()) made->why = "no choice is for this device";
  return made;
}

Applier::Launched* Applier::kernel_of(const LaunchRequest& request, int device, const Find& find) {
  for (size_t i = 0, place = first_place(request.function); i < kWays; ++i) {
    Launched* there = places_[place + i].load(std::memory_order_acquire);
    if (!there) break;
    if (there->function == request.function && there->device == device) return there;
  }
  const std::pair key(request.function, device);
  {
    std::shared_lock lock(mutex_);
    if (auto found = launched_.find(key); found != launched_.end()) return found->second.get();
  }
  const std::optional<LaunchedKernel> kernel = find();
  if (!kernel) return nullptr;
  std::unique_ptr<Launched> made = make(*kernel, device);
  made->function = request.function;
  std::lock_guard lock(mutex_);
  auto [known, fresh] = launched_.try_emplace(key, std::move(made));
  if (fresh) publish(*known->second);
  return known->second.get();
}

void Applier::publish(Launched& kernel) {
  for (size_t i = 0, place = first_place(kernel.function); i < kWays; ++i) {
    if (places_[place + i].load(std::memory_order_relaxed)) continue;
    places_[place + i].store(&kernel, std::memory_order_release);
    return;
  }
}

Applier::InGraph Applier::look_up(const LaunchRequest& request, int device, const Find& find) {
  Launched* kernel = kernel_of(request, device, find);
  if (!kernel || (kernel->hits.empty() && !kernel->why)) return {};
  std::string arguments;
  std::vector<Hit*> not_loaded;  // of a bundle for several GPUs, what another one of them runs
  const char* reason = kernel->why ? kernel->why : "no choice has its grid, block and shared memory";
  for (const auto& hit : kernel->hits) {
    if (!hit->fits(request)) continue;
    if (!hit->one->choice.guards.empty() && arguments.empty()) {
      arguments = gather_arguments(*kernel->kernel.info, request.arguments);
    }
    const bool same = std::ranges::all_of(hit->one->choice.guards, [&](const bundle::Guard& guard) {
      return arguments.compare(guard.offset, guard.bytes.size(), guard.bytes) == 0;
    });
    if (!same) {
      reason = "arguments that its choices are specialised for have other values";
      continue;
    }
    const bool was_refused = hit->refused || hit->state->differs;
    if (!was_refused && load(*hit)) return {kernel, hit.get(), ""};
    if (!was_refused) not_loaded.push_back(hit.get());
    reason = "its variant is not applied, for the reason that stands with it";
  }
  for (const Hit* hit : not_loaded) warn(*hit);
  return {kernel, nullptr, reason};
}

Applier::Hit* Applier::find(const LaunchRequest& request, int device, const Find& find) noexcept try {
  const InGraph found = look_up(request, device, find);
  if (!found.kernel) return nullptr;
  report_->header().launches.fetch_add(1, std::memory_order_relaxed);
  if (!found.hit) count_miss(*found.kernel, found.reason);
  return found.hit;
} catch (const std::exception&) {
  return nullptr;
}

void Applier::count_miss(Launched& kernel, const char* reason) {
  std::lock_guard lock(kernel.mutex);
  auto [known, fresh] = kernel.misses.try_emplace(reason);
  if (fresh) known->second = report_->miss(kernel.kernel.name, reason);
  if (known->second) known->second->fetch_add(1, std::memory_order_relaxed);
}

LoadedVariant* Applier::load(Hit& hit) {
  if (hit.is_loaded.load(std::memory_order_acquire)) return hit.loaded.get();
  std::call_once(hit.loading, [&] {
    try {
      const LaunchedKernel& kernel = hit.kernel->kernel;
      const bundle::Choice& choice = hit.one->choice;
      hit.loaded = runtime_.load_variant(
          {hit.kernel->function, kernel.program, kernel.info, choice.target, hit.one->code, hit.kernel->device});
      hit.is_loaded.store(true, std::memory_order_release);
    } catch (const std::exception& error) {
      hit.refused = true;
      put_text(report_->choices()[hit.one->number].trouble, error.what());
    }
  });
  return hit.loaded.get();
}

void Applier::refuse(Hit& hit, const std::string& reason) noexcept try {
  if (hit.refused.exchange(true)) return;
  put_text(report_->choices()[hit.one->number].trouble, reason);
  warn(hit);
} catch (const std::exception&) {
}

// It is refused.
void Applier::warn(const Hit& hit) const {
  std::fprintf(stderr, "mneme-capture: warning: kernel '%s': variant %.12s is not applied: %s\n",
               cut_in_the_middle(hit.kernel->kernel.name).c_str(), hit.one->choice.variant.hex().c_str(),
               report_->choices()[hit.one->number].trouble);
}

// ---- launching it ----

LaunchRequest Applier::changed(const Hit& hit, const LaunchRequest& request) const {
  const bundle::Choice& choice = hit.one->choice;
  LaunchRequest changed = request;
  if (choice.launch) {
    changed.grid = choice.launch->grid;
    changed.block = choice.launch->block;
    changed.shared_bytes = choice.launch->shared_bytes;
  }
  return changed;
}

int Applier::launch_variant(Hit& hit, const LaunchRequest& request, std::string& trouble) noexcept try {
  const int status = hit.loaded->launch(changed(hit, request));
  if (status != 0) trouble = runtime_.error_text(status);
  return status;
} catch (const std::exception& error) {
  constexpr int kInvalidValue = 1;  // of both vendors
  trouble = error.what();
  return kInvalidValue;
}

int Applier::launch(Hit& hit, const LaunchRequest& request, const Real& real) noexcept try {
  ChoiceReport& report = report_->choices()[hit.one->number];
  if (measures_ && hit.state->turns.fetch_add(1, std::memory_order_relaxed) % 2 == 0) {
    report.own_launches.fetch_add(1, std::memory_order_relaxed);
    return timed(hit, true, request.stream, [&] { return real(); });
  }
  std::string trouble;
  auto launch = [&] { return launch_variant(hit, request, trouble); };
  if ((measures_ ? timed(hit, false, request.stream, launch) : launch()) == 0) {
    report.applied.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  devices_.forget_error();
  const int status = real();
  if (status == 0) refuse(hit, "its launch fails: " + trouble);
  count_miss(*hit.kernel, status == 0 ? "the variant's launch failed" : "the launch fails, with its own code, too");
  return status;
} catch (const std::exception&) {
  return real();
}

void Applier::launched_own(Hit& hit, const char* reason) noexcept try {
  count_miss(*hit.kernel, reason);
} catch (const std::exception&) {
}

bool Applier::takes_check(Hit& hit) noexcept {
  std::atomic<uint64_t>& to_check = hit.state->to_check;
  uint64_t left = to_check.load();
  while (left > 0 && !to_check.compare_exchange_weak(left, left - 1)) {
  }
  return left > 0;
}

void Applier::checked(Hit& hit, bool differs, const std::string& reason) noexcept {
  ChoiceReport& report = report_->choices()[hit.one->number];
  report.checked.fetch_add(1, std::memory_order_relaxed);
  if (!differs) return;
  report.differing.fetch_add(1, std::memory_order_relaxed);
  hit.state->differs = true;
  refuse(hit, reason);
}

const Digest& Applier::choice_of(const Hit& hit) const noexcept { return hit.one->choice.id; }

Applier::InGraph Applier::find_in_graph(const LaunchRequest& request, int device, const Find& find) noexcept try {
  InGraph found = look_up(request, device, find);
  if (found.hit && checks()) found = {found.kernel, nullptr, "it is in a graph whose launches cannot be checked"};
  return found;
} catch (const std::exception&) {
  return {};
}

void* Applier::for_graph(InGraph& node, LaunchRequest& request) noexcept try {
  const LaunchRequest changed = this->changed(*node.hit, request);
  if (void* function = node.hit->loaded->function(changed)) {
    request = changed;
    return function;
  }
  node = {node.kernel, nullptr,
          "it is in a graph, and the variant has device variables to be copied before each launch"};
  return nullptr;
} catch (const std::exception& error) {
  refuse(*node.hit, error.what());
  node = {node.kernel, nullptr, "its variant is not applied, for the reason that stands with it"};
  return nullptr;
}

void Applier::launched(const InGraph& node) noexcept try {
  report_->header().launches.fetch_add(1, std::memory_order_relaxed);
  if (!node.hit) return count_miss(*node.kernel, node.reason);
  ChoiceReport& report = report_->choices()[node.hit->one->number];
  report.applied.fetch_add(1, std::memory_order_relaxed);
  report.in_graph.fetch_add(1, std::memory_order_relaxed);
} catch (const std::exception&) {
}

// ---- times ----

// An event is of one device.
bool Applier::take_event(int device, void** event) {
  constexpr unsigned kWithTimes = 0;
  std::vector<void*>& idle = idle_events_[device];
  if (idle.empty()) {
    const Entered there(devices_, device);
    return devices_.succeeds(devices_.create_event(event, kWithTimes));
  }
  *event = idle.back();
  idle.pop_back();
  return true;
}

int Applier::timed(Hit& hit, bool own, void* stream, const std::function<int()>& launch) {
  Pending pending;
  pending.device = hit.kernel->device;
  {
    std::lock_guard lock(timing_);
    collect_locked();
    const bool taken = pending_.size() < kMostPending && take_event(pending.device, &pending.start) &&
                       take_event(pending.device, &pending.stop);
    if (!taken) return launch();
  }
  ChoiceReport& report = report_->choices()[hit.one->number];
  pending.times = own ? &report.own : &report.variant;
  const bool begun = devices_.succeeds(devices_.record_event(pending.start, stream));
  const int status = launch();
  if (begun && status == 0 && devices_.succeeds(devices_.record_event(pending.stop, stream))) {
    std::lock_guard lock(timing_);
    pending_.push_back(pending);
    any_pending_ = true;
  } else {  // they may be of another context, or of a device that was reset
    devices_.succeeds(devices_.destroy_event(pending.start));
    devices_.succeeds(devices_.destroy_event(pending.stop));
  }
  return status;
}

void Applier::collect() noexcept try {
  if (!any_pending_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(timing_);
  collect_locked();
} catch (const std::exception&) {
}

void Applier::collect_locked() {
  constexpr int kNotReady = 600;  // of both vendors
  while (!pending_.empty()) {
    const Pending& oldest = pending_.front();
    const int status = devices_.query_event(oldest.stop);
    if (status != 0) devices_.forget_error();
    if (status == kNotReady) break;
    float milliseconds = 0;
    if (status == 0 && devices_.succeeds(devices_.elapsed(&milliseconds, oldest.start, oldest.stop))) {
      const uint64_t place = oldest.times->count.fetch_add(1, std::memory_order_relaxed);
      oldest.times->samples[place % kSamples] = static_cast<uint32_t>(std::min(milliseconds * 1e6F, 4e9F));
    }
    std::vector<void*>& idle = idle_events_[oldest.device];
    idle.insert(idle.end(), {oldest.start, oldest.stop});
    pending_.pop_front();
  }
  any_pending_ = !pending_.empty();
}

// ---- what comes and goes ----

void Applier::forget(void* program) noexcept try {
  std::lock_guard lock(mutex_);
  for (auto& place : places_) place.store(nullptr, std::memory_order_release);
  for (auto at = launched_.begin(); at != launched_.end();) {
    if (at->second->kernel.program.handle == program) {
      gone_.push_back(std::move(at->second));
      at = launched_.erase(at);
    } else {
      ++at;
    }
  }
} catch (const std::exception&) {
}

void Applier::forget_context(void* context) noexcept try {
  std::lock_guard lock(mutex_);
  for (auto& [key, kernel] : launched_) {
    for (const auto& hit : kernel->hits) {
      if (hit->is_loaded.load(std::memory_order_acquire)) hit->loaded->forget(context);
    }
  }
} catch (const std::exception&) {
}

void Applier::after_fork_in_child() noexcept try {
  // Other threads may have held them.
  new (&mutex_) std::shared_mutex;
  new (&timing_) std::mutex;
  for (auto& [key, kernel] : launched_) new (&kernel->mutex) std::mutex;
  pending_.clear();
  any_pending_ = false;
  idle_events_.clear();
  report_ = std::make_unique<Report>(folder_, choices_.size());
  for (auto& [key, kernel] : launched_) kernel->misses.clear();
} catch (const std::exception&) {
}

}  // namespace mneme::record
