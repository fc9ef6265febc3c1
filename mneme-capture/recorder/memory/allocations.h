// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "memory/arena.h"
#include "recorder/link/kept_descriptor.h"
#include "recorder/link/protocol.h"
#include "recorder/memory/deferred.h"
#include "recorder/memory/write_watch.h"
#include "recorder/runtime/runtime.h"

namespace mneme::record {

enum class Space { kDevice, kHost };  // which kind of address range: one for each device, one for the host

// Every piece of memory that kernels can see: what the hooked allocation calls hand out (arenas at fixed
// addresses), and ordinary memory that the application registered. Thread-safe.
class Allocations {
 public:
  // Tells the parent of memory that appeared, with its descriptor, or went. Called under the lock.
  struct Listener {
    std::function<void(const Chunk&, int descriptor)> appeared;
    std::function<void(const Drop&)> gone;
    Runtime::TakeDigests known = [](const Digests&) {};
    std::function<void()> digesting = [] {};                    // before known(), of the process's own memory
    std::function<bool()> reads_memory = [] { return false; };  // this process's own: it needs no descriptor for that
    std::function<void(const Reserved&)> elsewhere = [](const Reserved&) {};
    std::function<void(const Unwritten&)> unwritten = [](const Unwritten&) {};
  };

  struct Known {
    Space space = Space::kDevice;
    uint64_t address = 0;
    uint64_t size = 0;
    uint64_t flags = 0;  // as given to allocate()
    int device = 0;      // too; host memory's is not known
  };
  struct Symbol {
    std::string name;
    MemoryRange range;
  };

  Allocations(Runtime& runtime, uint64_t range_size, Listener listener);
  ~Allocations();

  // nullptr: no memory left. Throws Error when there is none that can be recorded: the address range itself is taken,
  // the process may make no files to share. Nothing is left of the attempt then.
  void* allocate(Space space, uint64_t size, uint64_t flags = 0, int device = 0);
  // Nothing is going to be allocated any more: the address ranges go back to the process if they were never used.
  void abandon();
  // False: not an allocation of ours, or it was released before.
  bool release(const void* pointer);
  // In the order of a stream: see deferred.h.
  bool release_later(const void* pointer, void* stream);
  // nullptr: nothing that was released in this stream's order is to be had.
  void* allocate_again(uint64_t size, int device, void* stream);
  void forget_stream(void* stream);
  // All that was submitted before the mark was asked for is done, or all of it in the stream.
  uint64_t mark() const { return mark_.load(); }
  void reclaim(uint64_t mark);
  void reclaim(uint64_t mark, void* stream);
  uint64_t waiting_bytes() const;
  // The allocation of ours that contains the address.
  std::optional<Known> find(const void* pointer) const;
  // Bytes of a device's memory that the runtime gave us and we gave nobody.
  uint64_t unused(int device) const;
  // In one of our ranges, but of no allocation.
  bool is_free(const void* pointer) const;

  // What there is, and after it what was released last, the latest first.
  struct Listing {
    std::vector<Known> live, released;
  };
  Listing list() const;

  // Ordinary memory of the application that kernels reach from now on.
  void add_registered(const void* pointer, uint64_t size);
  void remove_registered(const void* pointer);
  // Memory that the application made itself and mapped there; the descriptor is that memory (-1: the parent has it
  // fetched). False: not now, while the same place is held.
  bool add_mapped(const void* pointer, uint64_t size, int descriptor, int device = 0);
  void remove_mapped(const void* pointer, uint64_t size);  // all that begins there
  // One of the device's variables, which may lie in memory of the runtime's own. Taken away like mapped memory.
  void add_variable(MemoryRange variable, int device);

  // `json` describes the memory from `pointer` on, `bytes` of it, but no further than (0: just) up to the next that is
  // described, and takes the place of what described it; empty: nothing does. False: no memory of which we know.
  bool annotate(const void* pointer, std::string json, uint64_t bytes = 0);
  // To be asked ahead of an annotation that ignores elements, in so many runs: whether readers take an instance with
  // that and all other memory's (lib/bundle/json/json.h, kMaxValues).
  bool takes_mask(const void* pointer, uint64_t runs);
  static constexpr uint64_t kMostRuns = 1'000'000;

  // While held, addresses that are released are not given out again: a snapshot is being taken.
  void hold();
  void let_go();

  // Memory is at rest, and the parent about to take its state. Brings the copies up to date that the parent maps of
  // what it cannot read; tells what is as it was at the last call, and of what else the parent has to read again or to
  // have fetched, the digests.
  void refresh();

  // Around fork(). In the child the memory is its own, as all memory is, and nobody is told of it until share_again()
  // tells a listener, which may be another one by then. That gives the application's own mappings back, which are not
  // known any more.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();
  std::vector<MemoryRange> share_again();

  // All of it, by address and disjoint. Variables are cut out of the allocation that holds them, and annotated memory
  // begins a segment of its own. Adds the names of variables of which only parts are annotated, if they are asked for:
  // these are not.
  std::vector<WireSegment> segments(const std::vector<Symbol>& symbols,
                                    std::set<std::string>* annotated_in_part = nullptr) const;

 private:
  struct Area {
    Space space;
    memory::Arena arena;
    uint64_t backed;  // end of what has memory
    int device = 0;
  };
  struct Registered {
    uint64_t size = 0;
    std::optional<KeptDescriptor> copy;  // a file in memory; none of what the parent maps or reads
    bool mapped = false;
    bool read = false;  // the parent has read it before
    bool gone = false;  // while held
    int device = 0;
  };

  // Shared memory that has to be made a child's own.
  struct Shared {
    uint64_t address = 0;
    uint64_t size = 0;
    KeptDescriptor memory;
  };

  void reserve();
  uint64_t reserve(uint64_t most);
  void unreserve();
  uint64_t size_of_ranges(const std::vector<Area>& areas, uint64_t most) const;
  void reserve_devices(std::vector<Area>& areas, int count, uint64_t most);
  bool back(Area& area, uint64_t end);
  bool back_piece(Area& area, uint64_t size);
  std::optional<Fd> back_host(uint64_t address, uint64_t size);
  void unback_host(uint64_t address, uint64_t size);
  std::optional<KeptDescriptor> show(uint64_t address, uint64_t size);
  void share(const Area& area, uint64_t address, uint64_t size);
  Area* owner(uint64_t address);
  void watch(const std::vector<MemoryRange>& registered);
  void tell_digests(const std::vector<MemoryRange>& memory, const std::vector<MemoryRange>& unwritten);
  void refresh_copy(uint64_t address, const Registered& memory);
  std::vector<Piece> device_blocks() const;
  std::optional<MemoryRange> containing(uint64_t address) const;  // allocation or registered memory
  void forget(uint64_t address);
  void release_now(uint64_t address);
  std::map<uint64_t, Registered>::iterator forget_registered(std::map<uint64_t, Registered>::iterator memory);

  Runtime& runtime_;
  Listener listener_;
  mutable std::mutex mutex_;
  const uint64_t range_size_;
  std::vector<Area> areas_;             // none until they are reserved; then the devices', by number, and the host's
  std::map<uint64_t, uint64_t> flags_;  // of allocations that have some
  std::map<uint64_t, Registered> registered_;    // and mapped, by address
  std::map<uint64_t, std::string> annotations_;  // by address
  std::map<uint64_t, uint64_t> masks_;  // how many runs those ignore that had a mask when they were made, by address
  std::vector<Shared> shared_;
  WriteWatch watch_;    // of what nobody else writes to: not where devices do, past this process
  size_t watched_ = 0;  // pieces of registered memory that ever were
  bool held_ = false;
  std::vector<uint64_t> released_;  // while held
  Deferred deferred_;
  std::atomic<uint64_t> mark_{0};  // its; waiting for the device is to cost no lock where nothing is deferred
  std::deque<Known> forgotten_;    // the latest first
};

}  // namespace mneme::record
