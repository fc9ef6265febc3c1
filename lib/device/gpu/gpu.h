// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bundle/format.h"

namespace mneme::device {
class Code;
struct Launch;
}  // namespace mneme::device

namespace mneme::device::gpu {

class KernelTimer;
class LoadedCode;
class RecordedMemory;

enum class BlockKernel { kCountDifferences, kPutBack, kTranslate };  // of kernels/blocks.cc
inline constexpr const char* kBlockKernels[] = {"count_differences", "put_back", "translate"};

// A vendor's GPU: what the device (gpu_device.h) and its parts ask of it, which for each vendor's are other calls. All
// that a process has its GPU do is done in order, in the default stream. What fails is an Error that says what was
// being done.
class Gpu {
 public:
  struct Mark;  // in what the GPU is to do
  virtual ~Gpu() = default;

  // Memory of the GPU's own, wherever it puts it; 0: there is not enough.
  virtual uint64_t allocate(uint64_t bytes) = 0;
  virtual void release(uint64_t address) = 0;
  virtual void copy(uint64_t to, uint64_t from, uint64_t bytes, const char* doing) = 0;
  virtual void clear(uint64_t address, uint64_t bytes, const char* doing) = 0;
  virtual void read(uint64_t address, std::span<std::byte> out, const char* doing) = 0;
  virtual void write(uint64_t address, Bytes bytes, const char* doing) = 0;
  virtual void begin_write(uint64_t address, Bytes bytes, const char* doing) = 0;  // which are left to it

  // Whether it has Mneme's own kernels, which are loaded when that is first asked. One without has no images.
  bool has_block_kernels();
  // Without images it is the host that does what they are for, for this reason.
  void lack_images(const std::string& reason);
  // Says so, where a launch takes warnings: once, with the first reason.
  void warn(const Launch& launch);
  // With groups of kThreads.
  virtual void start(BlockKernel kernel, uint64_t groups, void** arguments, const char* doing) = 0;
  virtual void start(Code& code, uint32_t groups, bundle::Dim3 group, void** arguments, const char* doing) = 0;
  virtual void wait(const char* doing) = 0;
  virtual bool works() = 0;

  enum class Marking { kPlain, kTimed };
  virtual Mark* make_mark(Marking marking) = 0;
  virtual void set(Mark* mark, const char* doing) = 0;  // behind all that the GPU was given so far
  virtual void wait_for(Mark* mark) = 0;
  virtual float milliseconds(Mark* from, Mark* to) = 0;  // between two timed ones that the GPU has come by
  virtual void drop(Mark* mark) = 0;

  // Whether it is pinned now: some memory is refused.
  virtual bool pin(std::span<std::byte> memory) = 0;
  virtual void unpin(std::byte* memory) = 0;

  // Bytes of the cache that all of a GPU's kernels share, in front of its memory; 0: the GPU does not say.
  virtual uint64_t cache_size() const = 0;
  // Of each thread of any kernel; nullopt: this runtime cannot be asked, nor given another size.
  virtual std::optional<size_t> stack_size() const = 0;
  virtual void give_stacks(size_t bytes, const char* doing) = 0;

  virtual RecordedMemory& memory() = 0;
  virtual KernelTimer& timer() = 0;
  virtual std::unique_ptr<LoadedCode> load(const bundle::KernelInfo& kernel, Bytes code) = 0;
  // Throws Error for a launch that this GPU cannot do, and warns of one that it may do otherwise.
  virtual void admit(const LoadedCode& code, const Launch& launch) const = 0;
  // Does what a launch needs before its kernel starts, and may change its arguments.
  virtual void prepare(const LoadedCode&, const Launch&, std::string& /*arguments*/) {}
  // Starts a recorded kernel. `values` has a pointer to each argument in `arguments`.
  virtual void start(const LoadedCode& code, const Launch& launch, std::string& arguments, std::vector<void*>& values,
                     const char* doing) = 0;
  // Once the kernel has ended: brings to recorded memory what it wrote elsewhere.
  virtual void finish(const Launch&) {}
  // Nothing is started on what was mapped any more.
  virtual void forget_launches() {}

 protected:
  virtual void load_block_kernels() = 0;  // throws Error

 private:
  std::optional<bool> loaded_;  // once it was tried
  std::string warning_;         // that nobody has got yet
  bool has_warned_ = false;
};

}  // namespace mneme::device::gpu
