// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMD's first GPU as a Device. A kernel that faults usually ends the process, which is replaced then.
#include "device/hip/hip_device.h"

#include <algorithm>

#include "base/error.h"
#include "device/gpu/gpu_image.h"
#include "device/gpu/second_cache.h"
#include "device/gpu/stacks.h"
#include "device/gpu/staging.h"
#include "device/gpu/translation.h"
#include "device/hip/hip_gpu.h"
#include "device/hip/kernel_timer.h"
#include "device/hip/memory.h"
#include "device/hip/module.h"

namespace mneme::device {
namespace hip {
namespace {

class HipDevice final : public Device {
 public:
  std::string name() const override { return "hip"; }
  std::string clock() const override { return timer_.clock(); }
  bool runs_in_this_process() const override { return false; }

  void expect(std::span<const BlockRange> ranges) override { memory_.expect(ranges); }
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
    synchronize("waiting for the GPU");  // nothing that is still to be done may meet other memory
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
    if (launch.cluster.count() > 1) throw Error("AMD's GPUs have no clusters of blocks");
    refuse_textures(launch);
    refuse_heap(loaded, launch);
    give_stacks(launch);
    const Moves moves = moves_of(loaded, launch);
    translation_.there(moves);
    gpu_.warn(launch);
    copy_variables(loaded, launch, true);
    std::string arguments = launch.arguments;
    moves.there(std::as_writable_bytes(std::span(arguments)));
    if (launch.cold) cache_.empty();
    synchronize("waiting for the GPU");
    if (launch.timed) timer_.start();
    check(start(loaded, launch, arguments), ("launching kernel '" + loaded.kernel() + "'").c_str());
    const Result stopped = launch.timed ? timer_.stop() : 0;
    const std::string running = "running kernel '" + loaded.kernel() + "'";
    synchronize(running.c_str());
    check(stopped, running.c_str());
    const uint64_t taken = launch.timed ? timer_.taken(launch) : 0;
    copy_variables(loaded, launch, false);
    translation_.back(moves);
    return taken;
  }

  uint64_t cache_size() const override { return gpu_.cache_size(); }
  bool still_works() override { return succeeds(runtime().hipDeviceSynchronize()); }

 private:
  static size_t stack_size() {
    size_t bytes = 0;
    check(runtime().hipDeviceGetLimit(&bytes, kStackSize), "asking how large the threads' stacks are");
    return bytes;
  }
  static void give_stack(size_t bytes, const std::string& doing) {
    check(runtime().hipDeviceSetLimit(kStackSize, bytes), doing.c_str());
  }
  static void give_stacks(const Launch& launch) {
    if (runtime().hipDeviceGetLimit && runtime().hipDeviceSetLimit) {
      gpu::give_stacks(launch, {stack_size, give_stack});
    } else if (launch.stack_bytes != 0 && launch.warn) {
      launch.warn(fmt::format(
          "the application asked for {} bytes of stack of each thread, and this HIP runtime cannot be asked",
          launch.stack_bytes));
    }
  }

  // What a kernel allocates lies elsewhere here, where nobody sees what is in it, and the runtime knows nothing of what
  // was allocated in a recorded heap. A recording that never had one may be replayed for what else there is (--force).
  static void refuse_heap(const LoadedModule& code, const Launch& launch) {
    const bool recorded = std::ranges::count(launch.segments, bundle::kDeviceHeap, &bundle::Segment::symbol) > 0;
    if (!code.allocates() || !recorded) return;
    throw Error::of("kernel '{}' allocates memory itself, from a heap that was recorded: an AMD GPU has another",
                    code.kernel());
  }

  static void synchronize(const char* doing) { check(runtime().hipDeviceSynchronize(), doing); }

  static Result start(const LoadedModule& code, const Launch& launch, std::string& arguments) {
    const bundle::Dim3 &grid = launch.grid, &block = launch.block;
    if (!launch.cooperative) {
      size_t size = arguments.size();
      void* extra[] = {pointer_to(kArgumentBuffer), arguments.data(), pointer_to(kArgumentSize), &size,
                       pointer_to(kArgumentEnd)};
      return runtime().hipModuleLaunchKernel(code.function(), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                             launch.shared_bytes, nullptr, nullptr, extra);
    }
    if (!runtime().hipModuleLaunchCooperativeKernel) {
      throw Error::of("kernel '{}' was launched as a cooperative one: this HIP runtime cannot do that with a module's",
                      code.kernel());
    }
    std::vector<void*> list;
    for (const bundle::Argument& argument : code.arguments()) {
      if (argument.offset > arguments.size() || argument.size > arguments.size() - argument.offset) {
        throw Error::of("kernel '{}' was recorded with too few bytes of arguments", code.kernel());
      }
      list.push_back(arguments.data() + argument.offset);
    }
    return runtime().hipModuleLaunchCooperativeKernel(code.function(), grid.x, grid.y, grid.z, block.x, block.y,
                                                      block.z, launch.shared_bytes, nullptr, list.data());
  }

  static Moves moves_of(const LoadedModule& code, const Launch& launch) {
    std::vector<Move> moves = code.functions();
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
      const uint64_t to = to_code ? variable->address : segment.address;
      gpu_.copy(to, to_code ? segment.address : variable->address, segment.size, "copying a variable");
    }
  }

  RecordedMemory memory_;
  HipGpu gpu_{memory_.pieces()};
  gpu::Translation translation_{gpu_, memory_.ranges()};
  KernelTimer timer_;
  gpu::SecondCache cache_{gpu_};
  gpu::Marks marks_{gpu_};
  gpu::PinnedMemory pinned_{gpu_};
};

}  // namespace
}  // namespace hip

std::unique_ptr<Device> make_hip_device() { return std::make_unique<hip::HipDevice>(); }

}  // namespace mneme::device
