// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/uncancelled.h"
#include "recorder/apply/applier.h"
#include "recorder/core/device_heap.h"
#include "recorder/core/fair_shared_mutex.h"
#include "recorder/core/kernels.h"
#include "recorder/core/settled.h"
#include "recorder/link/connection.h"
#include "recorder/memory/allocations.h"
#include "recorder/memory/array_copies.h"
#include "recorder/memory/delivery.h"
#include "recorder/memory/outside.h"
#include "recorder/memory/pool_use.h"
#include "recorder/runtime/next.h"
#include "recorder/runtime/runtime.h"

struct mneme_annotation_v1;

namespace mneme::record {

// The recorder of one process, whatever the vendor: hooks tell it what the application does. Nothing throws; when
// anything goes wrong, here or between us and the parent, recording ends and the application goes on as if alone. What
// it launches from then on is counted still, in memory that the parent sees.
class Core {
 public:
  // Without a connection nothing is recorded; without an applier nothing is applied.
  Core(Runtime& runtime, std::unique_ptr<Connection> connection, std::unique_ptr<Applier> applier = {});

  void add_fat_binary(void* handle, const std::byte* image) noexcept;
  void add_module(void* handle, std::string image) noexcept;
  void add_stub(void* handle, const void* function, const char* name) noexcept;
  void remove_fat_binary(void* handle) noexcept;

  // nullptr: no memory is left; or recording() has become false, and the vendor's own allocation has to serve.
  void* allocate(Space space, uint64_t size, uint64_t flags = 0, int device = 0) noexcept;
  // The same, to be used in the order of a stream.
  void* allocate_in(void* stream, uint64_t size, int device) noexcept;
  // Waits for what may still use it, and releases; the vendor's status. nullopt: not ours.
  std::optional<int> release(const void* pointer) noexcept;
  // Releases in the order of a stream. False: not ours.
  bool release_in(void* stream, const void* pointer) noexcept;
  // The application has waited for all, or for a stream, since it asked for the mark; or a stream is no more.
  uint64_t mark() const noexcept { return allocations_.mark(); }
  void waited(uint64_t mark) noexcept {
    if (mark) allocations_.reclaim(mark);
  }
  void waited(uint64_t mark, void* stream) noexcept {
    if (mark) allocations_.reclaim(mark, stream);
  }
  void forget_stream(void* stream) noexcept { allocations_.forget_stream(stream); }
  std::optional<Allocations::Known> find(const void* pointer) const noexcept;
  bool is_free(const void* pointer) const noexcept { return allocations_.is_free(pointer); }
  Allocations::Listing list_memory() const { return allocations_.list(); }
  uint64_t unused_memory(int device) const noexcept { return allocations_.unused(device); }
  PoolUse& pools() { return pools_; }
  void add_registered(const void* pointer, uint64_t size) noexcept;
  void remove_registered(const void* pointer) noexcept;
  bool add_mapped(const void* pointer, uint64_t size, int descriptor, int device) noexcept;
  void remove_mapped(const void* pointer, uint64_t size) noexcept;
  int device() noexcept { return runtime_.device(); }  // the calling thread's
  bool works() noexcept { return runtime_.works(); }   // too
  static bool is_recorded(int device) { return device >= 0 && device < memory::kMostDevices; }
  // Memory that the vendor gave out itself. Launches that can reach it are recorded as incomplete, for this reason.
  void add_outside(const void* pointer, uint64_t size, std::string reason) noexcept;
  void remove_outside(const void* pointer) noexcept;
  void annotate(const void* pointer, const mneme_annotation_v1* annotation) noexcept;  // null: takes it away

  // Performs a launch by calling `real`, which returns the vendor's status, and records it if it is to be.
  int launch(const LaunchRequest& request, const Real& real) noexcept;
  // What a launch hits among the choices that are applied; null: nothing, and the application's own code is to run.
  Applier::Hit* find_variant(const LaunchRequest& request) noexcept;
  // The same for a kernel's node of a graph.
  Applier::InGraph find_in_graph(const LaunchRequest& request) noexcept;
  Applier* applier() { return applier_.get(); }
  // Performs a launch of a kind that cannot be recorded.
  int pass(const std::string& kernel, const char* reason, const Real& real) noexcept;
  // Of the calling thread.
  static bool is_in_launch() { return Nested::inside(); }
  std::string kernel_name(const void* function) noexcept;
  bool knows(const void* function) noexcept;  // as a kernel
  // If it is settled of all these launches that they are only counted, counts them; whoever asks performs them.
  bool count_settled(const std::vector<LaunchRequest>& requests) noexcept;

  // In a child, the first time: becomes a recorded process of its own.
  bool recording() noexcept {
    State state = state_.load(std::memory_order_acquire);
    return state == State::kRecording || (state == State::kForked && join());
  }

  // Around fork(). The child's memory is its own; it is recorded from its first use of the device on, unless children
  // are left alone.
  void before_fork() noexcept;
  void after_fork_in_parent() noexcept;
  void after_fork_in_child() noexcept;

 private:
  enum class State { kRecording, kForked, kEnded };

  struct Chosen {
    std::shared_ptr<const Stub> stub;
    std::string arguments;
    Digest key;
    uint64_t index = 0;
    uint32_t slot = 0;
    int device = 0;
    bool polls = false;                   // it may wait for the application to write host memory
    std::unique_ptr<ArrayCopies> arrays;  // of a kernel with textures or surfaces, while it is recorded
    Digest check;                         // the choice that it is to check; empty: none
    bool same = false;                    // what came of that
    std::string trouble;                  // why it was not recorded, or the variant is not the same
  };

  // Records a launch if it is to be, by `recorded`; else performs it by `other`.
  int record(const LaunchRequest& request, const Real& recorded, const Real& other) noexcept;
  // Performs one by the application's own code, and has the parent run the variant on the same memory.
  int check_variant(Applier::Hit& hit, const LaunchRequest& request, const Real& real) noexcept;
  std::optional<Chosen> choose_to_check(const Digest& choice, const LaunchRequest& request) noexcept;
  int launch_variant(Applier::Hit& hit, const LaunchRequest& request, const Real& real) noexcept;
  std::optional<LaunchedKernel> launched_kernel(const LaunchRequest& request, int device);
  bool count_if_settled(const LaunchRequest& request) noexcept;
  std::optional<Chosen> choose(const LaunchRequest& request) noexcept;
  // Of a kernel without IR.
  std::shared_ptr<const Stub> take_code(const LaunchRequest& request, const Stub& stub, int device);
  // Once nothing is recorded any more.
  void give_heap(const LaunchRequest& request) noexcept;
  bool begin(const LaunchRequest& request, Chosen& chosen) noexcept;
  int end(const LaunchRequest& request, Chosen& chosen, int status) noexcept;
  // Settles that a chosen launch is not recorded after all.
  void drop(Chosen& chosen, const std::string& reason);
  // No more launches of the kernel are recorded.
  void refuse(Recording& recording, const std::string& reason);
  void count_launch(Recording& recording, const std::string& kernel);
  // One that is recorded: when there are enough, later ones are told from it.
  void note_recorded(Recording& recording, const LaunchRequest& request, const Chosen& chosen, Settled::Slots slots);
  void count(const Settled::Slots& slots) noexcept;
  // A launch that is not recorded. Returns the counter.
  uint32_t count(Recording& recording, const std::string& kernel, std::string_view reason, bool wanted);
  int settle(void* stream, std::chrono::milliseconds patience);
  // If the parent does not have it yet. Returns its id, with functions at these addresses.
  Digest send_kernel(const Chosen& chosen, const std::vector<uint64_t>& function_addresses);
  void send_code(const Digest& digest, Bytes code, bool source = false);
  void add_variables_of_others(const Chosen& chosen, const std::set<std::string>& known);
  auto begins_to_fetch() {
    return [this](const Fetch& fetch, Fd memory) { delivery_.begin(fetch, std::move(memory)); };
  }
  auto finishes_fetching() {
    return [this] { delivery_.finish(); };
  }
  // Asks, and brings the memory that the parent wants to see before it replies.
  template <class Reply, class M>
  Reply ask_about_memory(const M& message) {
    return connection_->ask<Reply>(message, begins_to_fetch(), finishes_fetching());
  }
  // For the first memory of which there is much. A launch that is being recorded gets ready itself.
  void get_ready() noexcept;
  // Recording ends, because of the exception that is being handled.
  void stop() noexcept;
  void count_unrecorded() noexcept;
  bool join() noexcept;

  // Launches made while another one of this thread's is under way are the runtime's own.
  class Nested {
   public:
    Nested() : outermost_(!inside_) { inside_ = true; }
    ~Nested() {
      if (outermost_) inside_ = false;
    }
    bool outermost() const { return outermost_; }
    static void leave() { inside_ = false; }
    static bool inside() { return inside_; }

   private:
    static constinit thread_local bool inside_;
    bool outermost_;
  };

  // Other threads' copies would be taken for what the kernel did.
  class Hold {
   public:
    explicit Hold(Runtime& runtime) : runtime_(runtime) { runtime_.hold(); }
    ~Hold() { runtime_.let_go(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Runtime& runtime_;
  };

  Runtime& runtime_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Applier> applier_;
  Allocations allocations_;
  Delivery delivery_;
  Outside outside_;
  PoolUse pools_;
  Limits limits_;
  Kernels kernels_;
  DeviceHeaps heaps_{runtime_, allocations_};
  std::atomic<State> state_;
  std::atomic<uint64_t> fetched_bytes_{0};  // of memory that has appeared
  std::atomic<bool> is_ready_{false};       // to fetch much
  std::atomic<bool> forked_{false};         // this is a child of the process that is or was recorded, and not itself
  std::unique_ptr<Connection> next_;        // of a child, from its fork on until it joins
  std::unique_ptr<Connection> childs_;      // during a fork
  pid_t forking_ = 0;                       // who forks
  std::mutex joining_;
  FairSharedMutex launches_;  // shared by ordinary launches; a recorded one has it alone
  std::mutex mutex_;          // policies, slots, changes of what is settled
  uint32_t next_slot_ = Counters::kFirstFree;
  Settled settled_;
  std::set<Digest> codes_sent_;              // to the parent, of kernels without IR
  std::set<std::string> warned_of_;          // variables of which parts are annotated
  std::map<std::string, Recording> passed_;  // launches of kinds that cannot be recorded, by kernel
};

}  // namespace mneme::record
