// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/hip/hip_gpu.h"

#include <algorithm>

#include "base/error.h"
#include "device/gpu/gpu_device.h"
#include "device/gpu/kernels/blocks.h"
#include "device/hip/hip_device.h"
#include "device/hip/module.h"
#include "objects/code_pack.h"

// What the build makes of kernels/blocks.cc.
asm(".pushsection .rodata\n"
    "mneme_hip_blocks_begin:\n"
    ".incbin \"" MNEME_BLOCKS_HIP
    "\"\n"
    "mneme_hip_blocks_end:\n"
    ".popsection\n");
extern "C" __attribute__((visibility("hidden"))) const std::byte mneme_hip_blocks_begin[], mneme_hip_blocks_end[];

namespace mneme::device::hip {
namespace {

Event* event_of(gpu::Gpu::Mark* mark) { return reinterpret_cast<Event*>(mark); }

}  // namespace

HipGpu::~HipGpu() {
  for (Module* module : modules_) runtime().hipModuleUnload(module);
}

uint64_t HipGpu::allocate(uint64_t bytes) {
  void* address = nullptr;
  return succeeds(runtime().hipMalloc(&address, bytes)) ? reinterpret_cast<uint64_t>(address) : 0;
}

void HipGpu::release(uint64_t address) { runtime().hipFree(pointer_to(address)); }

void HipGpu::copy(uint64_t to, uint64_t from, uint64_t bytes, const char* doing) {
  copy_parts(to, from, bytes, [&](void* target, const void* source, uint64_t size) {
    check(runtime().hipMemcpy(target, source, size, kCopyAnyWay), doing);
  });
}

uint64_t HipGpu::left_in_piece(uint64_t address) const {
  auto next = memory_.pieces().upper_bound(address);
  if (next == memory_.pieces().begin()) return UINT64_MAX;
  auto [begin, size] = *std::prev(next);
  return address - begin < size ? size - (address - begin) : UINT64_MAX;
}

template <class Copy>
void HipGpu::copy_parts(uint64_t to, uint64_t from, uint64_t bytes, const Copy& copy) const {
  for (uint64_t size = 0; bytes > 0; to += size, from += size, bytes -= size) {
    size = std::min({bytes, left_in_piece(to), left_in_piece(from)});
    copy(pointer_to(to), pointer_to(from), size);
  }
}

void HipGpu::clear(uint64_t address, uint64_t bytes, const char* doing) {
  check(runtime().hipMemset(pointer_to(address), 0, bytes), doing);
}

void HipGpu::read(uint64_t address, std::span<std::byte> out, const char* doing) {
  copy(reinterpret_cast<uint64_t>(out.data()), address, out.size(), doing);
}

void HipGpu::write(uint64_t address, Bytes bytes, const char* doing) {
  copy(address, reinterpret_cast<uint64_t>(bytes.data()), bytes.size(), doing);
}

void HipGpu::begin_write(uint64_t address, Bytes bytes, const char* doing) {
  const auto from = reinterpret_cast<uint64_t>(bytes.data());
  copy_parts(address, from, bytes.size(), [&](void* target, const void* source, uint64_t size) {
    check(runtime().hipMemcpyAsync(target, source, size, kCopyAnyWay, nullptr), doing);
  });
}

void HipGpu::load_block_kernels() {
  pack_ = objects::unpacked({mneme_hip_blocks_begin, mneme_hip_blocks_end});
  for (const char* name : gpu::kBlockKernels) {
    Module* module = nullptr;
    Function* function = nullptr;
    const Bytes code = objects::packed_code(bytes_of(pack_), name);
    check(runtime().hipModuleLoadData(&module, code.data()), "loading Mneme's own kernels");
    modules_.push_back(module);
    check(runtime().hipModuleGetFunction(&function, module, name), "finding Mneme's own kernels");
    functions_.push_back(function);
  }
}

void HipGpu::start(gpu::BlockKernel kernel, uint64_t groups, void** arguments, const char* doing) {
  check(runtime().hipModuleLaunchKernel(functions_.at(static_cast<size_t>(kernel)), static_cast<unsigned>(groups), 1, 1,
                                        gpu::kThreads, 1, 1, 0, nullptr, arguments, nullptr),
        doing);
}

void HipGpu::start(Code& code, uint32_t groups, bundle::Dim3 group, void** arguments, const char* doing) {
  check(runtime().hipModuleLaunchKernel(static_cast<LoadedModule&>(code).function(), groups, 1, 1, group.x, group.y,
                                        group.z, 0, nullptr, arguments, nullptr),
        doing);
}

void HipGpu::wait(const char* doing) { check(runtime().hipDeviceSynchronize(), doing); }
bool HipGpu::works() { return succeeds(runtime().hipDeviceSynchronize()); }

gpu::Gpu::Mark* HipGpu::make_mark(Marking marking) {
  Event* event = nullptr;
  check(runtime().hipEventCreateWithFlags(&event, marking == Marking::kTimed ? 0 : kNoTiming), "making an event");
  return reinterpret_cast<Mark*>(event);
}

void HipGpu::set(Mark* mark, const char* doing) { check(runtime().hipEventRecord(event_of(mark), nullptr), doing); }
void HipGpu::wait_for(Mark* mark) { check(runtime().hipEventSynchronize(event_of(mark)), "waiting for the GPU"); }

float HipGpu::milliseconds(Mark* from, Mark* to) {
  float milliseconds = 0;
  check(runtime().hipEventElapsedTime(&milliseconds, event_of(from), event_of(to)), "asking for the time");
  return milliseconds;
}

void HipGpu::drop(Mark* mark) { runtime().hipEventDestroy(event_of(mark)); }

bool HipGpu::pin(std::span<std::byte> memory) {
  return succeeds(runtime().hipHostRegister(memory.data(), memory.size(), kRegisterPortable));
}

void HipGpu::unpin(std::byte* memory) { runtime().hipHostUnregister(memory); }

uint64_t HipGpu::cache_size() const {
  int bytes = 0;
  check(runtime().hipDeviceGetAttribute(&bytes, kL2CacheSize, 0), "asking for the size of the GPU's cache");
  return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

std::optional<size_t> HipGpu::stack_size() const {
  if (!runtime().hipDeviceGetLimit || !runtime().hipDeviceSetLimit) return std::nullopt;
  size_t bytes = 0;
  check(runtime().hipDeviceGetLimit(&bytes, kStackSize), "asking how large the threads' stacks are");
  return bytes;
}

void HipGpu::give_stacks(size_t bytes, const char* doing) {
  check(runtime().hipDeviceSetLimit(kStackSize, bytes), doing);
}

std::unique_ptr<gpu::LoadedCode> HipGpu::load(const bundle::KernelInfo& kernel, Bytes code) {
  return std::make_unique<LoadedModule>(*this, kernel, code);
}

// A kernel allocates from the runtime's heap, which is not compared, and the runtime does not know the allocations of a
// recorded heap. A recording without a heap may be replayed for the rest of its memory (--force).
void HipGpu::admit(const gpu::LoadedCode& code, const Launch& launch) const {
  if (launch.cluster.count() > 1) throw Error("AMD's GPUs have no clusters of blocks");
  refuse_textures(launch);
  const bool recorded = std::ranges::count(launch.segments, bundle::kDeviceHeap, &bundle::Segment::symbol) > 0;
  if (!static_cast<const LoadedModule&>(code).allocates() || !recorded) return;
  throw Error::of("kernel '{}' allocates memory itself, from a heap that was recorded: an AMD GPU has another",
                  code.kernel());
}

void HipGpu::start(const gpu::LoadedCode& code, const Launch& launch, std::string& arguments,
                   std::vector<void*>& values, const char* doing) {
  const bundle::Dim3 &grid = launch.grid, &block = launch.block;
  Function* function = static_cast<const LoadedModule&>(code).function();
  if (launch.cooperative) {
    if (!runtime().hipModuleLaunchCooperativeKernel) {
      throw Error::of("kernel '{}' was launched as a cooperative one: this HIP runtime cannot do that with a module's",
                      code.kernel());
    }
    check(runtime().hipModuleLaunchCooperativeKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                     launch.shared_bytes, nullptr, values.data()),
          doing);
    return;
  }
  size_t size = arguments.size();
  void* extra[] = {pointer_to(kArgumentBuffer), arguments.data(), pointer_to(kArgumentSize), &size,
                   pointer_to(kArgumentEnd)};
  check(runtime().hipModuleLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                        launch.shared_bytes, nullptr, nullptr, extra),
        doing);
}

}  // namespace mneme::device::hip

namespace mneme::device {

std::unique_ptr<Device> make_hip_device() { return gpu::make_gpu_device("hip", std::make_unique<hip::HipGpu>()); }

}  // namespace mneme::device
