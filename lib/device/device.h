// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bundle/format.h"
#include "device/image.h"

namespace mneme::device {

// A kernel's code, loaded. Destroying it unloads it; before the Device that made it.
class Code {
 public:
  virtual ~Code() = default;
};

struct Launch {
  bundle::Dim3 grid;
  bundle::Dim3 block;
  uint32_t shared_bytes = 0;
  std::string arguments;                                       // bytes
  std::vector<bundle::Segment> segments;                       // globals among them are found by symbol
  bool cooperative = false;                                    // all blocks run at once, and may wait for each other
  bundle::Dim3 cluster = {};                                   // blocks
  std::vector<bundle::TextureArray> arrays = {};               // as the instance has them
  std::vector<bundle::TextureObject> textures = {};            // likewise: of a CUDA program's launch
  uint64_t stack_bytes = 0;                                    // of each thread, at the least; 0: what there is
  bool poison_shared = false;                                  // shared memory does not begin as zeros
  bool cold = false;                                           // what kernels work on is in no cache when it begins
  bool timed = true;                                           // else execute() may return anything
  std::function<void(const std::string& sentence)> warn = {};  // about the kernel; from several threads
  // 1 while the kernel waits for memory that it does not change itself, where that can be told. May be null.
  std::atomic<int>* waiting = nullptr;
  // Takes what code with checks finds (Configuration::checks); null: nothing is looked for.
  std::vector<bundle::Finding>* findings = nullptr;
};

// Where kernels run. One process uses one device; addresses are the recording's. All throw Error;
// a fault of the kernel itself may also end the process, which is why replays run in a child.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;   // "host", "cuda", "hip"
  virtual std::string clock() const = 0;  // what the last execute() measured with: "steady", …
  // Whether kernels run as part of this process and can do what it can.
  virtual bool runs_in_this_process() const = 0;

  // Where the recording had its devices' memory, before any is mapped: what lies elsewhere was the host's, but for
  // what an application maps itself. Where those ranges are not Mneme's own (memory/arena.h), it matters to some.
  virtual void expect(std::span<const BlockRange>) {}

  // Backs the addresses [address, address + size), both multiples of kBlockSize, with zeroed memory.
  // Throws Error naming the range when something else is there already.
  virtual void map(uint64_t address, uint64_t size) = 0;
  // The same with memory that holds anything, all of which the caller writes before it is read or a kernel executed.
  // Returns whether it is zeroed.
  virtual bool map_to_write(uint64_t address, uint64_t size) {
    map(address, size);
    return true;
  }
  // Where kernels run in this process, and children of it, forked from now on, each serve one recording: has these
  // ranges, and no others, of which it was said before, backed for all of them. A child's map() of such a range is
  // quick, and zeroes it. To say so of none that is mapped already. What cannot be backed is left to map().
  virtual void keep(std::span<const BlockRange>) {}
  // Each within what one map() has backed: drivers refuse a copy across two pieces of the host's memory.
  virtual void write(uint64_t address, Bytes bytes) = 0;
  virtual void read(uint64_t address, std::span<std::byte> out) = 0;
  // The bytes there: where they lie, if that is in this process, or else read to `room`, which is made large enough.
  virtual Bytes view(uint64_t address, uint64_t size, std::vector<std::byte>& room) {
    if (room.size() < size) room.resize(size);
    read(address, std::span(room).first(size));
    return Bytes(room).first(size);
  }
  // Gives back all that is mapped, so that another recording's memory can be; there are no images by then, and no code
  // that is executed again. Of devices whose kernels do not run in this process.
  virtual void unmap() {}

  // write() to which the caller leaves `bytes` until wait_for(n) has returned after a mark(n) that came after it.
  // Reading and executing see what was written.
  virtual void begin_write(uint64_t address, Bytes bytes) { write(address, bytes); }
  virtual void mark(uint32_t) {}
  virtual void wait_for(uint32_t) {}  // at once, if there was no mark
  // Memory of the caller's, whole pages, of which begin_write() and images' are to be fast as long as the device lives:
  // none of their calls reaches beyond it. Each piece may be told of any number of times.
  virtual void pin(std::span<std::byte>) {}

  // Of what is mapped in these ranges, by address; its contents are not defined yet. nullptr: the device has none, or
  // no room for one. To be destroyed before the device.
  virtual std::unique_ptr<Image> make_image(std::span<const BlockRange>) { return nullptr; }

  virtual std::unique_ptr<Code> load(const bundle::KernelInfo& kernel, Bytes code) = 0;
  // Runs one launch to its end; nanoseconds of the kernel alone.
  virtual uint64_t execute(Code& code, const Launch& launch) = 0;
  // Bytes that stay in a cache from one launch to the next; 0: it is not known, or makes no odds.
  virtual uint64_t cache_size() const { return 0; }
  // After load() or execute() threw: whether the device can be used all the same, once all that it holds was unmapped.
  virtual bool still_works() { return false; }
};

// For Device::expect(): where a recording had its devices' memory.
std::vector<BlockRange> device_ranges(const bundle::BundleInfo& recording);

// Throws Error for a launch with textures or surfaces of a CUDA program, on devices that have none of those.
void refuse_textures(const Launch& launch);

// Throws Error where a CUDA kernel would be launched on a GPU with handles of textures or surfaces for which there are
// none on it: addresses of what the host device recorded, or what a recorder did not ask for.
void refuse_unknown_handles(const bundle::KernelInfo& kernel, const bundle::InstanceInfo& instance);

std::unique_ptr<Device> make_host_device();
std::unique_ptr<Device> make_cuda_device();  // NVIDIA's first
// By name; "auto" is the host: what a recording's code is for, its reader knows. Throws Error (Exit::kMissing).
std::unique_ptr<Device> make_device(const std::string& name);

}  // namespace mneme::device
