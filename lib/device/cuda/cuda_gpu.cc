// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/cuda_gpu.h"

#include <array>

#include "device/cuda/module.h"
#include "device/gpu/gpu_device.h"
#include "device/gpu/kernels/blocks.h"

// The PTX that the build makes of kernels/blocks.cc, and the zero that ends a text.
asm(".pushsection .rodata\n"
    "mneme_cuda_blocks_ptx:\n"
    ".incbin \"" MNEME_BLOCKS_PTX
    "\"\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" __attribute__((visibility("hidden"))) const char mneme_cuda_blocks_ptx[];

namespace mneme::device::cuda {
namespace {

// Loaded once: the driver's compiler takes its time.
Module* block_kernels() {
  static Module* const module = [] {
    Module* loaded = nullptr;
    check(driver().cuModuleLoadData(&loaded, mneme_cuda_blocks_ptx), "loading Mneme's own kernels");
    return loaded;
  }();
  return module;
}

Function* function_of(gpu::BlockKernel kernel) {
  static std::array<Function*, std::size(gpu::kBlockKernels)> found = {};
  const auto which = static_cast<size_t>(kernel);
  if (!found[which]) {
    check(driver().cuModuleGetFunction(&found[which], block_kernels(), gpu::kBlockKernels[which]),
          "finding Mneme's own kernels");
  }
  return found[which];
}

Event* event_of(gpu::Gpu::Mark* mark) { return reinterpret_cast<Event*>(mark); }

int make_context_current() {
  int device = 0;
  check(driver().cuDeviceGet(&device, 0), "finding the GPU");
  Context* context = nullptr;
  check(driver().cuDevicePrimaryCtxRetain(&context, device), "making the GPU's context");
  check(driver().cuCtxSetCurrent(context), "making the GPU's context current");
  return device;
}

// Whether the code itself asks for these clusters (__cluster_dims__), which a launch of it need not ask for then.
bool has_clusters(Function* function, const bundle::Dim3& cluster) {
  int extents[3] = {};
  for (int i = 0; i < 3; ++i) {
    if (driver().cuFuncGetAttribute(&extents[i], kRequiredCluster + i, function) != 0) return false;
  }
  return extents[0] > 0 && bundle::Dim3{static_cast<uint32_t>(extents[0]), static_cast<uint32_t>(extents[1]),
                                        static_cast<uint32_t>(extents[2])} == cluster;
}

// In clusters and as a cooperative one if the launch says so. Returns what the driver says of it.
Result launch_kernel(Function* function, const Launch& launch, void** arguments) {
  const bundle::Dim3 &grid = launch.grid, &block = launch.block, &cluster = launch.cluster;
  LaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (launch.cooperative) attributes[count++] = {kLaunchCooperative, {}, {1}};
  if (cluster.count() > 1 && !has_clusters(function, cluster))
    attributes[count++] = {kLaunchClusterDimension, {}, {cluster.x, cluster.y, cluster.z}};
  if (count == 0) {
    return driver().cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, launch.shared_bytes,
                                   nullptr, arguments, nullptr);
  }
  constexpr uint64_t kPortable = 8;  // blocks that every GPU with clusters can have in one
  if (cluster.count() > kPortable) {
    if (Result refused = driver().cuFuncSetAttribute(function, kNonPortableCluster, 1)) return refused;
  }
  LaunchConfiguration configuration{
      {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, launch.shared_bytes, nullptr, attributes, count};
  return driver().cuLaunchKernelEx(&configuration, function, arguments, nullptr);
}

}  // namespace

CudaGpu::CudaGpu() : device_(make_context_current()), memory_(device_) {
  if (!timer_) timer_ = std::make_unique<gpu::EventTimer>(*this);
  has_block_kernels();  // else the first launch waits for them
}

void CudaGpu::load_block_kernels() {
  for (gpu::BlockKernel kernel :
       {gpu::BlockKernel::kCountDifferences, gpu::BlockKernel::kPutBack, gpu::BlockKernel::kTranslate}) {
    function_of(kernel);
  }
}

uint64_t CudaGpu::allocate(uint64_t bytes) {
  Address address = 0;
  return driver().cuMemAlloc_v2(&address, bytes) == 0 ? address : 0;
}

void CudaGpu::release(uint64_t address) { driver().cuMemFree_v2(address); }

void CudaGpu::copy(uint64_t to, uint64_t from, uint64_t bytes, const char* doing) {
  check(driver().cuMemcpyDtoD_v2(to, from, bytes), doing);
}

void CudaGpu::clear(uint64_t address, uint64_t bytes, const char* doing) {
  check(driver().cuMemsetD8Async(address, 0, bytes, nullptr), doing);
}

void CudaGpu::read(uint64_t address, std::span<std::byte> out, const char* doing) {
  check(driver().cuMemcpyDtoH_v2(out.data(), address, out.size()), doing);
}

void CudaGpu::write(uint64_t address, Bytes bytes, const char* doing) {
  check(driver().cuMemcpyHtoD_v2(address, bytes.data(), bytes.size()), doing);
}

void CudaGpu::begin_write(uint64_t address, Bytes bytes, const char* doing) {
  check(driver().cuMemcpyHtoDAsync_v2(address, bytes.data(), bytes.size(), nullptr), doing);
}

void CudaGpu::start(gpu::BlockKernel kernel, uint64_t groups, void** arguments, const char* doing) {
  check(driver().cuLaunchKernel(function_of(kernel), static_cast<unsigned>(groups), 1, 1, gpu::kThreads, 1, 1, 0,
                                nullptr, arguments, nullptr),
        doing);
}

void CudaGpu::start(Code& code, uint32_t groups, bundle::Dim3 group, void** arguments, const char* doing) {
  check(driver().cuLaunchKernel(static_cast<LoadedModule&>(code).function(), groups, 1, 1, group.x, group.y, group.z, 0,
                                nullptr, arguments, nullptr),
        doing);
}

void CudaGpu::wait(const char* doing) { check(driver().cuCtxSynchronize(), doing); }
bool CudaGpu::works() { return driver().cuCtxSynchronize() == 0; }

gpu::Gpu::Mark* CudaGpu::make_mark(Marking marking) {
  Event* event = nullptr;
  check(driver().cuEventCreate(&event, marking == Marking::kTimed ? 0 : kNoTiming), "making an event");
  return reinterpret_cast<Mark*>(event);
}

void CudaGpu::set(Mark* mark, const char* doing) { check(driver().cuEventRecord(event_of(mark), nullptr), doing); }
void CudaGpu::wait_for(Mark* mark) { check(driver().cuEventSynchronize(event_of(mark)), "waiting for the GPU"); }

float CudaGpu::milliseconds(Mark* from, Mark* to) {
  float milliseconds = 0;
  check(driver().cuEventElapsedTime(&milliseconds, event_of(from), event_of(to)), "asking for the time");
  return milliseconds;
}

void CudaGpu::drop(Mark* mark) { driver().cuEventDestroy_v2(event_of(mark)); }

bool CudaGpu::pin(std::span<std::byte> memory) {
  return driver().cuMemHostRegister_v2(memory.data(), memory.size(), kRegisterPortable) == 0;
}

void CudaGpu::unpin(std::byte* memory) { driver().cuMemHostUnregister(memory); }

uint64_t CudaGpu::cache_size() const {
  int bytes = 0;
  check(driver().cuDeviceGetAttribute(&bytes, kL2CacheSize, device_), "asking for the size of the GPU's cache");
  return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

std::optional<size_t> CudaGpu::stack_size() const {
  size_t bytes = 0;
  check(driver().cuCtxGetLimit(&bytes, kStackSize), "asking how large the threads' stacks are");
  return bytes;
}

void CudaGpu::give_stacks(size_t bytes, const char* doing) { check(driver().cuCtxSetLimit(kStackSize, bytes), doing); }

std::unique_ptr<gpu::LoadedCode> CudaGpu::load(const bundle::KernelInfo& kernel, Bytes code) {
  return std::make_unique<LoadedModule>(*this, kernel, code);
}

void CudaGpu::admit(const gpu::LoadedCode& code, const Launch& launch) const {
  const std::string& misplaced = static_cast<const LoadedModule&>(code).misplaced();
  if (launch.warn && !misplaced.empty()) launch.warn(misplaced);
}

void CudaGpu::prepare(const gpu::LoadedCode& code, const Launch& launch, std::string& arguments) {
  if (launch.shared_bytes > 0) {
    check(driver().cuFuncSetAttribute(static_cast<const LoadedModule&>(code).function(), kMaxDynamicShared,
                                      static_cast<int>(launch.shared_bytes)),
          "asking for dynamic shared memory");
  }
  if (textures_ && !textures_->are_of(launch)) textures_.reset();  // those of the launch before serve, mostly
  if (!textures_ && !launch.textures.empty()) textures_.emplace(launch, memory_);
  if (!textures_) return;
  textures_->fill();
  textures_->put_handles(arguments);
}

void CudaGpu::start(const gpu::LoadedCode& code, const Launch& launch, std::string&, std::vector<void*>& values,
                    const char* doing) {
  check(launch_kernel(static_cast<const LoadedModule&>(code).function(), launch, values.data()), doing);
}

void CudaGpu::finish(const Launch& launch) {
  if (!launch.textures.empty()) textures_->read_back();
}

}  // namespace mneme::device::cuda

namespace mneme::device {

std::unique_ptr<Device> make_cuda_device() { return gpu::make_gpu_device("cuda", std::make_unique<cuda::CudaGpu>()); }

}  // namespace mneme::device
