// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "objects/device_heap.h"
#include "objects/embedded.h"
#include "objects/ptx.h"
#include "recorder/link/protocol.h"

namespace mneme::record {

// What both vendors' runtimes call work that has not ended.
inline constexpr int kStillRunning = 600;

// How long what was launched is waited for; and a kernel that reads host memory again and again, which may wait for the
// application to write it.
inline constexpr std::chrono::milliseconds kPatience{60'000}, kLittlePatience{1'000};

// What they answer instead of waiting while the calling thread notes down a graph from a stream.
inline constexpr int kNotWhileCapturing = 900;

// Device code that the application registered or loaded.
struct ProgramCode {
  void* handle = nullptr;
  std::span<const objects::DeviceCode> images = {};  // for one processor each
};

// What the handles in a launch's arguments stand for. The addresses of what stands for arrays are the arrays' numbers
// here.
struct TexturesOfLaunch {
  std::vector<bundle::TextureObject> objects;
  std::vector<bundle::TextureArray> arrays;  // without addresses where only the vendor knows where they lie
  std::vector<std::vector<void*>> levels;    // of each array: the vendor's. None: it is recorded memory itself
};

struct LaunchRequest;
struct VariantCode;
class LoadedVariant;

// A vendor's runtime as the recorder's core needs it. One a vendor, and a fake for tests. Everything here calls the
// vendor's own functions, past the recorder's hooks.
class Runtime {
 public:
  virtual ~Runtime() = default;

  // Keeps addresses of a device's, [base, base + size), for back(), and says which: where the runtime has no addresses
  // without memory behind them, it is a piece of memory that lies elsewhere and is smaller, but whole blocks. Throws
  // Error when there are none to be had.
  virtual MemoryRange reserve(uint64_t base, uint64_t size, int device) = 0;
  virtual void unreserve(uint64_t base, uint64_t size) = 0;  // the same that were reserved, with nothing behind them
  // How many bytes of memory the runtime has taken with them that nobody has asked for by back().
  virtual uint64_t taken_ahead(int /*device*/) { return 0; }
  // Puts device memory behind reserved addresses; the descriptor is that memory. nullopt: there is no more.
  virtual std::optional<Fd> back(uint64_t address, uint64_t size, int device) = 0;
  virtual void unback(uint64_t address, uint64_t size) = 0;  // as it was given to back()
  // What the vendor's own pieces of device memory are multiples of, at the least.
  virtual uint64_t alignment() { return 256; }
  // Device memory that other processes cannot reach has no descriptor: the parent has it fetched. The digests of blocks
  // in it, as far as they are quicker to have than the blocks; and the pieces, one behind the other: fetch() begins to
  // bring them to memory that kernels can reach (adopt_host()) or cannot, and await_fetched() waits for those of its
  // oldest call. The device is at rest. All throw Error.
  virtual bool fetches() { return false; }
  using TakeDigests = std::function<void(const Digests&)>;
  virtual void digests(const std::vector<Piece>& /*whole blocks*/, const TakeDigests&) {}
  virtual void fetch(const std::vector<Piece>&, std::byte* /*to*/, bool /*adopted*/) {}
  virtual void await_fetched() {}
  // A process that was forked has the device memory of its parent, as a copy, and can use the device.
  virtual bool survives_fork() = 0;
  // Makes ordinary memory reachable from kernels. False: the runtime refused.
  virtual bool adopt_host(void* address, uint64_t size) = 0;
  virtual void disown_host(void* address) = 0;

  virtual int device_count() = 0;
  // The number of the calling thread's device, and of the one whose work is in a stream.
  virtual int device() = 0;
  // Its last kernels have not failed in such a way that every call answers with that error from then on. Not to be
  // asked where a stream is noted down.
  virtual bool works() { return true; }
  virtual int device_of(void* stream) = 0;

  // Wait for everything launched so far, on all streams of all devices or on one; 0, or the runtime's error.
  // kStillRunning: it takes longer than that, because it waits for the application perhaps.
  virtual int synchronize(std::chrono::milliseconds patience) = 0;
  virtual int synchronize(void* stream, std::chrono::milliseconds patience) = 0;
  // However long it takes, as freeing memory does.
  virtual int wait() = 0;
  // Until let_go() by the same thread, what other threads ask the device to do waits, as far as the runtime can make it
  // wait; what is under way goes on.
  virtual void hold() = 0;
  virtual void let_go() = 0;
  // Launches into this stream are only noted down, for a graph.
  virtual bool is_capturing(void* stream) = 0;
  virtual std::string error_text(int error) = 0;

  // Makes the kernel ready to run, so that its variables exist. False: it cannot run on this device.
  virtual bool prepare(const void* host_function, int device) = 0;
  // The device's processor, where kernels without IR are recorded as the code that ran on it: "sm_90".
  virtual std::string processor(int /*device*/) { return {}; }
  // Where the kernel's parameters lie; nullopt: it does not say.
  virtual std::optional<objects::Parameters> parameters(const void* /*host_function*/, int /*device*/) {
    return std::nullopt;
  }
  // Blocks of the clusters that the kernel runs in, whatever its launches ask for.
  virtual bundle::Dim3 required_cluster(const void* /*host_function*/, int /*device*/) { return {}; }
  // Of what a launch asks for that is nowhere else in the request: `recorded` gets what says when and how fast the
  // kernel runs, which a replay leaves out; `missing` sentences on what may change what it does.
  virtual void attributes(const LaunchRequest& /*request*/, std::vector<std::string>& /*recorded*/,
                          std::vector<std::string>& /*missing*/) {}
  // Whether a device runs code for a target ("cuda:sm_90"), as far as that is known before it is loaded.
  virtual bool runs(const std::string& /*target*/, int /*device*/) { return false; }
  // Loads a variant. Throws Error with the reason why it cannot be in its kernel's place.
  virtual std::unique_ptr<LoadedVariant> load_variant(const VariantCode& variant);
  // What the application asked for as the stack of each thread of a kernel, bytes; 0: nothing but what all have.
  virtual uint64_t stack_bytes(int /*device*/) { return 0; }
  // The records (objects/embedded.h) of a fat binary's or module's kernels for which the runtime has made IR. They stay
  // valid until the program is unregistered. Empty where there are none.
  virtual Bytes lifted_records(void* /*program*/) { return {}; }
  // Where a device variable lies.
  virtual std::optional<MemoryRange> global(const ProgramCode& code, const std::string& name, int device) = 0;
  // Bytes that the vendor's heap has, from which kernels allocate. nullopt: it is recorded as it is, or not known.
  virtual std::optional<uint64_t> heap_limit(int /*device*/) { return std::nullopt; }
  // Whether or not a graph is being noted down: fills device memory with zeros; writes where a heap is
  // (objects/device_heap.h) to a variable. False: that cannot be.
  virtual bool zero(MemoryRange /*memory*/, int /*device*/) { return false; }
  virtual bool point_to_heap(const ProgramCode& /*code*/, const std::string& /*variable*/,
                             const objects::HeapVariable& /*heap*/, int /*device*/) {
    return false;
  }
  // Of one that global() does not find: why a launch of the kernel is incomplete without it. Empty: it is not, as far
  // as is known.
  virtual std::string why_missing(const ProgramCode& /*code*/, const bundle::KernelInfo& /*kernel*/,
                                  const std::string& /*name*/) {
    return {};
  }
  // Where the loader placed the kernel's functions whose addresses memory may hold (KernelInfo::function_addresses);
  // nothing: that is known already, or they lie nowhere. `missing` gets sentences on what should be known and is not.
  virtual std::vector<uint64_t> function_addresses(const ProgramCode& /*code*/, const bundle::KernelInfo& /*kernel*/,
                                                   int /*device*/, std::vector<std::string>& /*missing*/) {
    return {};
  }
  // Of a CUDA kernel that uses textures or surfaces, or has no IR: what it is given. `missing` gets sentences on what
  // is not recorded.
  virtual TexturesOfLaunch textures(const bundle::KernelInfo& /*kernel*/, const std::string& /*arguments*/,
                                    int /*device*/, std::vector<std::string>& /*missing*/) {
    return {};
  }
  // Copies an array's contents to memory as bundle/textures.h has them. The device is at rest, and is afterwards.
  // False: the vendor refused.
  virtual bool copy_array(const bundle::TextureArray& /*array*/, const std::vector<void*>& /*levels*/,
                          uint64_t /*address*/) {
    return false;
  }
};

}  // namespace mneme::record
