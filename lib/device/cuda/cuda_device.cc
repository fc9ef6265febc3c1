// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVIDIA's first GPU as a Device. A kernel that faults leaves the context broken: everything fails from then on, and
// the process has to be replaced.
#include <optional>

#include "base/error.h"
#include "device/cuda/cuda_gpu.h"
#include "device/cuda/kernel_timer.h"
#include "device/cuda/launch.h"
#include "device/cuda/memory.h"
#include "device/cuda/module.h"
#include "device/cuda/textures.h"
#include "device/gpu/gpu_image.h"
#include "device/gpu/second_cache.h"
#include "device/gpu/stacks.h"
#include "device/gpu/staging.h"
#include "device/gpu/translation.h"

namespace mneme::device {
namespace cuda {
namespace {

class CurrentContext {
 public:
  CurrentContext() {
    check(driver().cuDeviceGet(&device_, 0), "finding the GPU");
    Context* context = nullptr;
    check(driver().cuDevicePrimaryCtxRetain(&context, device_), "making the GPU's context");
    check(driver().cuCtxSetCurrent(context), "making the GPU's context current");
  }
  int device() const { return device_; }

 private:
  int device_ = 0;
};

class CudaDevice final : public Device {
 public:
  CudaDevice() {
    if (!timer_) timer_ = make_event_timer();
  }

  std::string name() const override { return "cuda"; }
  std::string clock() const override { return timer_->clock(); }
  bool runs_in_this_process() const override { return false; }

  void map(uint64_t address, uint64_t size) override { memory_.map(address, size); }

  void write(uint64_t address, Bytes bytes) override {
    memory_.check_mapped(address, bytes.size());
    gpu_.write(address, bytes, "writing the recorded memory");
  }

  void read(uint64_t address, std::span<std::byte> out) override {
    memory_.check_mapped(address, out.size());
    gpu_.read(address, out, "reading memory back");
  }

  void unmap() override {
    // Nothing that is still to be done may meet other memory.
    check(driver().cuCtxSynchronize(), "waiting for the GPU");
    textures_.reset();
    memory_.unmap();
  }

  void begin_write(uint64_t address, Bytes bytes) override {
    memory_.check_mapped(address, bytes.size());
    gpu_.begin_write(address, bytes, "writing the recorded memory");
  }
  void mark(uint32_t number) override { marks_.set(number); }
  void wait_for(uint32_t number) override { marks_.wait_for(number); }
  void pin(std::span<std::byte> memory) override { pinned_.add(memory); }

  std::unique_ptr<Image> make_image(std::span<const BlockRange> ranges) override {
    return gpu::make_image(gpu_, ranges);
  }

  std::unique_ptr<Code> load(const bundle::KernelInfo& kernel, Bytes code) override {
    return std::make_unique<LoadedModule>(kernel, code);
  }

  uint64_t execute(Code& code, const Launch& launch) override {
    auto& loaded = static_cast<LoadedModule&>(code);
    if (launch.poison_shared) throw Error("--poison is for the host device: a GPU's shared memory is its own");
    if (launch.warn && !loaded.misplaced().empty()) launch.warn(loaded.misplaced());
    gpu::give_stacks(launch, {stack_size, give_stack});
    const Moves moves = moves_of(loaded, launch);
    translation_.there(moves);
    gpu_.warn(launch);
    copy_variables(loaded, launch, true);
    if (launch.shared_bytes > 0) {
      check(driver().cuFuncSetAttribute(loaded.function(), kMaxDynamicShared, static_cast<int>(launch.shared_bytes)),
            "asking for dynamic shared memory");
    }
    std::string arguments = launch.arguments;
    moves.there(std::as_writable_bytes(std::span(arguments)));
    if (const Textures* textures = textures_of(launch)) {
      textures->fill();
      textures->put_handles(arguments);
    }
    std::vector<void*> values = loaded.values_in(arguments);
    if (launch.cold) cache_.empty();
    if (launch.timed) {
      check(driver().cuCtxSynchronize(), "waiting for the GPU");
      timer_->start();
    }
    Result launched = launch_kernel(loaded.function(), launch, values.data());
    check(launched, ("launching kernel '" + loaded.kernel() + "'").c_str());
    if (launch.timed) timer_->stop();
    check(driver().cuCtxSynchronize(), ("running kernel '" + loaded.kernel() + "'").c_str());
    uint64_t taken = launch.timed ? timer_->taken() : 0;
    if (!launch.textures.empty()) textures_->read_back();
    copy_variables(loaded, launch, false);
    translation_.back(moves);
    return taken;
  }

  uint64_t cache_size() const override { return gpu_.cache_size(); }

  // It does not where a kernel faulted: all calls fail from then on, this one too.
  bool still_works() override { return driver().cuCtxSynchronize() == 0; }

 private:
  static size_t stack_size() {
    size_t bytes = 0;
    check(driver().cuCtxGetLimit(&bytes, kStackSize), "asking how large the threads' stacks are");
    return bytes;
  }
  static void give_stack(size_t bytes, const std::string& doing) {
    check(driver().cuCtxSetLimit(kStackSize, bytes), doing.c_str());
  }

  // Those of the launch before, mostly.
  const Textures* textures_of(const Launch& launch) {
    if (textures_ && !textures_->are_of(launch)) textures_.reset();
    if (!textures_ && !launch.textures.empty()) textures_.emplace(launch, memory_);
    return textures_ ? &*textures_ : nullptr;
  }

  static Moves moves_of(const LoadedModule& code, const Launch& launch) {
    std::vector<Move> moves;
    for (const bundle::Segment& segment : launch.segments) {
      if (segment.symbol.empty()) continue;
      std::optional<LoadedModule::Variable> variable = code.variable(segment.symbol);
      if (variable) moves.push_back({segment.address, segment.size, variable->address});
    }
    return Moves(std::move(moves));
  }

  // Between where variables were recorded and where the loader placed them. One that the code does not have it does not
  // use.
  void copy_variables(const LoadedModule& code, const Launch& launch, bool to_code) {
    for (const bundle::Segment& segment : launch.segments) {
      if (segment.symbol.empty()) continue;
      std::optional<LoadedModule::Variable> variable = code.variable(segment.symbol);
      if (!variable) continue;
      memory_.check_mapped(segment.address, segment.size);
      if (variable->size != segment.size) {
        throw Error::of("the variable '{}' has {} bytes in the code of kernel '{}' and {} in the recording",
                        segment.symbol, variable->size, code.kernel(), segment.size);
      }
      Address to = to_code ? variable->address : segment.address, from = to_code ? segment.address : variable->address;
      check(driver().cuMemcpyDtoD_v2(to, from, segment.size), "copying a variable");
    }
  }

  std::unique_ptr<KernelTimer> timer_ = make_cupti_timer();  // before the context
  CurrentContext context_;
  CudaGpu gpu_{context_.device()};
  RecordedMemory memory_{context_.device()};
  gpu::Translation translation_{gpu_, memory_.ranges()};
  gpu::SecondCache cache_{gpu_};
  gpu::Marks marks_{gpu_};
  gpu::PinnedMemory pinned_{gpu_};
  std::optional<Textures> textures_;  // of the last launch, if it has any
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Device> make_cuda_device() { return std::make_unique<cuda::CudaDevice>(); }

}  // namespace mneme::device
