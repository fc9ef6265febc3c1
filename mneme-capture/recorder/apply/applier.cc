// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/apply/applier.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

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

// A choice that fits a kernel on a device; it fits a launch that has its key.
class Applier::Hit {
 public:
  Launched* kernel = nullptr;
  const Choices::One* one = nullptr;
  std::once_flag loading;
  std::unique_ptr<LoadedVariant> loaded;
  std::atomic<bool> refused{false};
  std::atomic<uint64_t> turns{0};
  std::atomic<uint64_t> to_check{0};

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
  std::string why;  // there are none, although the bundle has the kernel
  std::mutex mutex;
  std::map<std::string, std::atomic<uint64_t>*> misses;  // by reason
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
      checks_(std::strtoull(variable(kApplyCheckVariable), nullptr, 10)) {}

Applier::~Applier() = default;

// ---- which variant ----

std::unique_ptr<Applier::Launched> Applier::make(const LaunchedKernel& kernel, int device) {
  auto made = std::make_unique<Launched>();
  made->kernel = kernel;
  made->device = device;
  const auto* choices = choices_.of(kernel.info->id);
  if (!choices) {
    if (choices_.knows(kernel.info->name)) made->why = "its code is not what was tuned";
    return made;
  }
  for (const Choices::One* one : *choices) {
    if (!runtime_.runs(one->choice.target, device)) continue;
    auto& hit = made->hits.emplace_back(std::make_unique<Hit>());
    hit->kernel = made.get();
    hit->one = one;
    hit->to_check = checks_;
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

Applier::Launched* Applier::launched(const LaunchRequest& request, int device, const Find& find) {
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
  return launched_.try_emplace(key, std::move(made)).first->second.get();
}

Applier::Hit* Applier::find(const LaunchRequest& request, int device, const Find& find) noexcept try {
  Launched* kernel = launched(request, device, find);
  if (!kernel || (kernel->hits.empty() && kernel->why.empty())) return nullptr;
  report_->header().launches.fetch_add(1, std::memory_order_relaxed);
  std::string arguments;
  std::string reason = kernel->why.empty() ? "no choice has its grid, block and shared memory" : kernel->why;
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
    if (!hit->refused && load(*hit)) return hit.get();
    reason = "its variant is not applied, for the reason that stands with it";
  }
  count_miss(*kernel, reason);
  return nullptr;
} catch (const std::exception&) {
  return nullptr;
}

void Applier::count_miss(Launched& kernel, const std::string& reason) {
  std::lock_guard lock(kernel.mutex);
  auto [known, fresh] = kernel.misses.try_emplace(reason);
  if (fresh) known->second = report_->miss(kernel.kernel.name, reason);
  if (known->second) known->second->fetch_add(1, std::memory_order_relaxed);
}

LoadedVariant* Applier::load(Hit& hit) {
  std::call_once(hit.loading, [&] {
    try {
      const LaunchedKernel& kernel = hit.kernel->kernel;
      const bundle::Choice& choice = hit.one->choice;
      hit.loaded = runtime_.load_variant(
          {hit.kernel->function, kernel.program, kernel.info, choice.target, hit.one->code, hit.kernel->device});
    } catch (const std::exception& error) {
      refuse(hit, error.what());
    }
  });
  return hit.loaded.get();
}

void Applier::refuse(Hit& hit, const std::string& reason) noexcept try {
  if (hit.refused.exchange(true)) return;
  put_text(report_->choices()[hit.one->number].trouble, reason);
  std::fprintf(stderr, "mneme-capture: warning: kernel '%s': variant %.12s is not applied: %s\n",
               cut_in_the_middle(hit.kernel->kernel.name).c_str(), hit.one->choice.variant.hex().c_str(),
               reason.c_str());
} catch (const std::exception&) {
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

int Applier::launch(Hit& hit, const LaunchRequest& request, const Real& real) noexcept {
  ChoiceReport& report = report_->choices()[hit.one->number];
  if (measures_ && hit.turns.fetch_add(1, std::memory_order_relaxed) % 2 == 0) {
    return timed(hit, true, request.stream, [&] { return real(); });
  }
  report.applied.fetch_add(1, std::memory_order_relaxed);
  auto launch = [&] { return hit.loaded->launch(changed(hit, request)); };
  return measures_ ? timed(hit, false, request.stream, launch) : launch();
}

bool Applier::takes_check(Hit& hit) noexcept {
  uint64_t left = hit.to_check.load();
  while (left > 0 && !hit.to_check.compare_exchange_weak(left, left - 1)) {
  }
  return left > 0;
}

void Applier::checked(Hit& hit, bool differs, const std::string& reason) noexcept {
  ChoiceReport& report = report_->choices()[hit.one->number];
  report.checked.fetch_add(1, std::memory_order_relaxed);
  if (!differs) return;
  report.differing.fetch_add(1, std::memory_order_relaxed);
  refuse(hit, reason);
}

const Digest& Applier::choice_of(const Hit& hit) const noexcept { return hit.one->choice.id; }

void* Applier::for_graph(Hit& hit, LaunchRequest& request) noexcept {
  void* function = hit.loaded->function();
  if (function) {
    request = changed(hit, request);
  } else {
    count_miss(*hit.kernel, "it is in a graph, and the variant has device variables to be copied before each launch");
  }
  return function;
}

void Applier::launched_in_graph(Hit& hit) noexcept {
  ChoiceReport& report = report_->choices()[hit.one->number];
  report.applied.fetch_add(1, std::memory_order_relaxed);
  report.in_graph.fetch_add(1, std::memory_order_relaxed);
}

// ---- times ----

int Applier::timed(Hit& hit, bool own, void* stream, const std::function<int()>& launch) {
  constexpr unsigned kWithTimes = 0;
  Pending pending;
  {
    std::lock_guard lock(timing_);
    collect_locked(false);
    if (pending_.size() >= kMostPending) return launch();
    for (void** event : {&pending.start, &pending.stop}) {
      if (!idle_events_.empty()) {
        *event = idle_events_.back();
        idle_events_.pop_back();
      } else if (!devices_.succeeds(devices_.create_event(event, kWithTimes))) {
        return launch();
      }
    }
  }
  ChoiceReport& report = report_->choices()[hit.one->number];
  pending.times = own ? &report.own : &report.variant;
  const bool begun = devices_.succeeds(devices_.record_event(pending.start, stream));
  const int status = launch();
  if (!begun || status != 0 || !devices_.succeeds(devices_.record_event(pending.stop, stream))) return status;
  std::lock_guard lock(timing_);
  pending_.push_back(pending);
  any_pending_ = true;
  return status;
}

void Applier::collect() noexcept try {
  if (!any_pending_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(timing_);
  collect_locked(false);
} catch (const std::exception&) {
}

void Applier::collect_locked(bool all) {
  while (!pending_.empty()) {
    const Pending& oldest = pending_.front();
    if (devices_.query_event(oldest.stop) != 0) {
      devices_.forget_error();
      if (!all || !devices_.succeeds(devices_.synchronize_event(oldest.stop))) break;
    }
    float milliseconds = 0;
    if (devices_.succeeds(devices_.elapsed(&milliseconds, oldest.start, oldest.stop))) {
      const uint64_t place = oldest.times->count.fetch_add(1, std::memory_order_relaxed);
      oldest.times->samples[place % kSamples] = static_cast<uint32_t>(std::min(milliseconds * 1e6F, 4e9F));
    }
    idle_events_.push_back(oldest.start);
    idle_events_.push_back(oldest.stop);
    pending_.pop_front();
  }
  any_pending_ = !pending_.empty();
}

// ---- what comes and goes ----

void Applier::forget(void* program) noexcept try {
  std::lock_guard lock(mutex_);
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

void Applier::after_fork_in_child() noexcept try {
  // Other threads may have held them.
  new (&mutex_) std::shared_mutex;
  new (&timing_) std::mutex;
  pending_.clear();
  any_pending_ = false;
  idle_events_.clear();
  report_ = std::make_unique<Report>(folder_, choices_.size());
  for (auto& [key, kernel] : launched_) kernel->misses.clear();
} catch (const std::exception&) {
}

}  // namespace mneme::record
