// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "recorder/apply/choices.h"
#include "recorder/apply/report.h"
#include "recorder/runtime/devices.h"
#include "recorder/runtime/next.h"
#include "recorder/runtime/variant_code.h"

namespace mneme::record {

// What mneme-capture, or the wrapper script of mneme-restore --deploy, puts into the environment.
inline constexpr char kApplyVariable[] = "MNEME_APPLY";                 // the bundle's path
inline constexpr char kApplyReportVariable[] = "MNEME_APPLY_REPORT";    // a folder; else nothing is reported
inline constexpr char kApplyKernelsVariable[] = "MNEME_APPLY_KERNELS";  // ids, with commas: no others; empty: all
inline constexpr char kApplyMeasureVariable[] = "MNEME_APPLY_MEASURE";  // "1": time both codes
inline constexpr char kApplyRecordVariable[] = "MNEME_APPLY_RECORD";    // "variant": what is recorded
inline constexpr char kApplyUndoVariable[] = "MNEME_APPLY_UNDO";        // "always": hostgpu/queue/queue.h
inline constexpr char kApplyCheckVariable[] = "MNEME_APPLY_CHECK";      // launches of each choice to check first

// What is known of a kernel that the application launches.
struct LaunchedKernel {
  const bundle::KernelInfo* info = nullptr;
  std::string name;  // demangled
  ProgramCode program;
  std::shared_ptr<const void> owner;  // of all that
};

// Launches the variants of a bundle's choices in place of the application's own kernels. Thread-safe. Nothing throws:
// where a variant cannot be loaded, or no choice fits, the application's own code runs, and the report says why.
class Applier {
 public:
  // As the environment says; null: nothing is applied. Throws Error.
  static std::unique_ptr<Applier> open(Runtime& runtime, const Devices& devices);

  ~Applier();

  class Hit;  // a choice that fits a launch
  // Null: the application's own code is to run, and the launch is counted as one that does. `find` tells of the kernel,
  // the first time that it is launched on the device; nullopt: it is none that can be told.
  using Find = std::function<std::optional<LaunchedKernel>()>;
  Hit* find(const LaunchRequest& request, int device, const Find& find) noexcept;

  // Performs it by the variant; or by `real`, the application's own code, where their times are to be compared and it
  // is its turn, or where the variant cannot be launched.
  int launch(Hit& hit, const LaunchRequest& request, const Real& real) noexcept;
  // It was launched by the application's own code, for this reason.
  void launched_own(Hit& hit, const char* reason) noexcept;
  // Takes one of its launches that are to be checked; false: there are none any more.
  bool takes_check(Hit& hit) noexcept;
  void checked(Hit& hit, bool differs, const std::string& reason) noexcept;
  // It is not applied any more.
  void refuse(Hit& hit, const std::string& reason) noexcept;
  const Digest& choice_of(const Hit& hit) const noexcept;
  // Launches that are recorded are made by the variant.
  bool records_variants() const { return records_variants_; }
  // Launches are checked first: one by one, so that none is made by a graph as a whole.
  bool checks() const { return checks_ > 0; }

  // What a kernel's node of a graph launches that the application has made ready.
  struct Launched;
  struct InGraph {
    Launched* kernel = nullptr;  // null: the bundle does not have it
    Hit* hit = nullptr;          // null: the application's own code
    const char* reason = "";     // why that
  };
  InGraph find_in_graph(const LaunchRequest& request, int device, const Find& find) noexcept;
  // What stands for the variant in such a node, as the request has to be changed; null: the application's own stays.
  void* for_graph(InGraph& node, LaunchRequest& request) noexcept;
  // A graph was launched with this one in it.
  void launched(const InGraph& node) noexcept;

  // Times of what has ended.
  void collect() noexcept;
  void forget(void* program) noexcept;          // its code is about to go
  void unload(void* program) noexcept;          // its module is gone: that was forgotten
  void forget_context(void* context) noexcept;  // of CUDA's: is about to go, or was reset
  void after_fork_in_child() noexcept;

 private:
  struct State;
  // A launch between two events, and where its time goes.
  struct Pending {
    void* start = nullptr;
    void* stop = nullptr;
    int device = 0;
    ChoiceReport::Times* times = nullptr;
  };

  Applier(Runtime& runtime, const Devices& devices, const std::string& path);
  InGraph look_up(const LaunchRequest& request, int device, const Find& find);
  Launched* kernel_of(const LaunchRequest& request, int device, const Find& find);
  void publish(Launched& kernel);
  std::unique_ptr<Launched> make(const LaunchedKernel& kernel, int device);
  LoadedVariant* load(Hit& hit);
  void failed(Hit& hit, bool own_code, const std::string& fault) noexcept;
  void warn(const Hit& hit) const;
  LaunchRequest changed(const Hit& hit, const LaunchRequest& request) const;
  int launch_variant(Hit& hit, const LaunchRequest& request, std::string& trouble) noexcept;
  int timed(Hit& hit, bool own, void* stream, const std::function<int()>& launch);
  bool take_event(int device, void** event);
  void collect_locked();
  void count_miss(Launched& kernel, const char* reason);

  Runtime& runtime_;
  const Devices& devices_;
  Choices choices_;
  std::string folder_;
  std::unique_ptr<Report> report_;
  const bool measures_;
  const bool records_variants_;
  const uint64_t checks_;
  std::unique_ptr<State[]> states_;  // of the choices, by their numbers

  // A function has one of these places from its first on, so that a launch takes no lock; of more functions than that,
  // those without take the map.
  static constexpr size_t kPlaces = 1024, kWays = 4;
  static size_t first_place(const void* function) {
    const auto address = reinterpret_cast<uintptr_t>(function);
    return (address >> 4 ^ address >> 12) % kPlaces;
  }
  std::array<std::atomic<Launched*>, kPlaces + kWays> places_{};
  std::shared_mutex mutex_;
  std::map<std::pair<const void*, int>, std::unique_ptr<Launched>> launched_;  // by function and device
  std::vector<std::unique_ptr<Launched>> gone_;                                // another thread may hold a hit
  std::mutex timing_;
  std::deque<Pending> pending_;
  std::map<int, std::vector<void*>> idle_events_;  // by device
  std::atomic<bool> any_pending_{false};
};

}  // namespace mneme::record
