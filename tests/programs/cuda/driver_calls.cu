// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of CUDA's driver among those of its runtime: contexts, streams and events, memory, copies and fills, launches
// of the program's own kernels, a graph; functions that are looked up; and what is refused.

#include <cuda.h>

#include "../check.h"

constexpr int kCount = 1000, kBlock = 128;
constexpr unsigned kGrid = (kCount + kBlock - 1) / kBlock;

__global__ void scale(int* data, int by, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] *= by;
}

__global__ void reverse(int* data) {
  extern __shared__ int values[];
  values[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
}

void check(CUresult status, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (status == CUDA_SUCCESS) return;
  const char* name = nullptr;
  static_cast<void>(cuGetErrorName(status, &name));
  std::printf("%s: FAILED: %s:%d: %s\n", program_invocation_short_name, file, line, name);
  std::exit(1);
}

CUdeviceptr address_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

std::vector<int> counted() {
  std::vector<int> values(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = 3 * i - 500;
  return values;
}

std::vector<int> on_host(CUdeviceptr memory, int count = kCount) {
  std::vector<int> values(count);
  check(cuMemcpyDtoH(values.data(), memory, count * sizeof(int)));
  return values;
}

CUfunction function_of(const void* kernel) {
  cudaFunction_t function = nullptr;
  check(cudaGetFuncBySymbol(&function, kernel));
  return reinterpret_cast<CUfunction>(function);
}

void ask_of_contexts(Test& test, cudaStream_t stream) {
  CUcontext context = nullptr, current = nullptr, primary = nullptr;
  CUdevice device = -1;
  check(cuStreamGetCtx(stream, &context));
  check(cuCtxPushCurrent(context));
  check(cuCtxGetDevice(&device));
  test.equal("device of a stream's context", device, 0);
  check(cuCtxGetCurrent(&current));
  test.expect(current == context, "another context is current");
  check(cuDevicePrimaryCtxRetain(&primary, device));
  test.expect(primary == context, "a stream of the runtime is not in the primary context");
  check(cuDevicePrimaryCtxRelease(device));
  check(cuCtxPopCurrent(&current));

  int version = 0, count = 0, runtimes = 0, drivers = 0;
  check(cuDriverGetVersion(&version));
  test.expect(version >= 12000, "an old driver");
  check(cuDeviceGetCount(&count));
  test.equal("no such device", cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE);
  check(cuDeviceGet(&device, 0));
  check(cudaDeviceGetAttribute(&runtimes, cudaDevAttrWarpSize, 0));
  check(cuDeviceGetAttribute(&drivers, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
  test.equal("lanes", drivers, runtimes);
  check(cuDeviceGetAttribute(&drivers, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device));
  test.equal("virtual memory", drivers, 1);
  test.equal("no attribute", cuDeviceGetAttribute(&drivers, CUdevice_attribute(0), device), CUDA_ERROR_INVALID_VALUE);
  unsigned flags = 77;
  int active = 0;
  check(cuDevicePrimaryCtxGetState(device, &flags, &active));
  test.equal("the primary context is active", active, 1);
  char name[256] = "";
  size_t total = 0;
  check(cuDeviceGetName(name, sizeof name, device));
  check(cuDeviceTotalMem(&total, device));
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0));
  test.expect(std::strcmp(name, properties.name) == 0 && total == properties.totalGlobalMem, "another device");
  test.equal("the runtime's last error", cudaGetLastError(), cudaSuccess);
}

void launch(Test& test, CUdeviceptr data, CUstream stream) {
  int by = 2, count = kCount;
  void* arguments[] = {&data, &by, &count};
  check(cuLaunchKernel(function_of(reinterpret_cast<const void*>(scale)), kGrid, 1, 1, kBlock, 1, 1, 0, stream,
                       arguments, nullptr));
  struct {
    CUdeviceptr data;
    int by, count;
  } packed = {data, 3, kCount};
  size_t bytes = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  check(cuLaunchKernel(function_of(reinterpret_cast<const void*>(scale)), kGrid, 1, 1, kBlock, 1, 1, 0, stream, nullptr,
                       extra));
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = kBlock;
  config.sharedMemBytes = kBlock * sizeof(int);
  config.hStream = stream;
  check(cuLaunchKernelEx(&config, function_of(reinterpret_cast<const void*>(reverse)), arguments, nullptr));
  check(cuStreamSynchronize(stream));
  std::vector<int> want = counted();
  for (int& value : want) value *= 6;
  for (int i = 0; i < kBlock / 2; ++i) std::swap(want[i], want[kBlock - 1 - i]);
  test.equal("what launches left", on_host(data), want);
  test.equal("a block that is too large",
             cuLaunchKernel(function_of(reinterpret_cast<const void*>(scale)), 1, 1, 1, 5000, 1, 1, 0, stream,
                            arguments, nullptr),
             CUDA_ERROR_INVALID_VALUE);
  test.expect(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr) != CUDA_SUCCESS,
              "no function is launched");
  test.equal("the runtime's error after that", cudaGetLastError(), cudaSuccess);
}

void ask_of_function(Test& test) {
  CUfunction function = function_of(reinterpret_cast<const void*>(scale));
  int threads = 0, blocks = 0, grid = 0, block = 0;
  check(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  check(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, kBlock, 0));
  check(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 0));
  test.expect(threads > 0 && blocks > 0 && grid > 0 && block > 0 && block <= threads,
              "a kernel that cannot be launched");
  const size_t want[][2] = {{0, 8}, {8, 4}, {12, 4}};
  for (size_t i = 0; i < 3; ++i) {
    size_t offset = 77, size = 77, runtimes_offset = 77, runtimes_size = 77;
    check(cuFuncGetParamInfo(function, i, &offset, &size));
    check(cudaFuncGetParamInfo(reinterpret_cast<const void*>(scale), i, &runtimes_offset, &runtimes_size));
    test.expect(offset == want[i][0] && size == want[i][1], "an argument that lies elsewhere");
    test.expect(runtimes_offset == want[i][0] && runtimes_size == want[i][1],
                "an argument that lies elsewhere, to the runtime");
  }
  size_t beyond = 0;
  test.equal("one argument more", cuFuncGetParamInfo(function, 3, &beyond, nullptr), CUDA_ERROR_INVALID_VALUE);
  const char* name = "";
  check(cuFuncGetName(&name, function));
  test.expect(std::strcmp(name, "_Z5scalePiii") == 0, "another name");
  CUmodule module = nullptr;
  CUfunction again = nullptr;
  check(cuFuncGetModule(&module, function));
  check(cuModuleGetFunction(&again, module, name));
  const char* again_name = "";
  check(cuFuncGetName(&again_name, again));
  test.expect(std::strcmp(name, again_name) == 0, "another function");
}

void use_memory(Test& test, CUstream stream) {
  CUdeviceptr data = 0, base = 0;
  size_t size = 0, left = 0, total = 0;
  check(cuMemAlloc(&data, kCount * sizeof(int)));
  check(cuMemGetAddressRange(&base, &size, data + 40));
  test.expect(base == data && size == kCount * sizeof(int), "another range");
  check(cuMemGetInfo(&left, &total));
  test.expect(left < total, "no memory is used");
  unsigned type = 0;
  CUcontext context = nullptr;
  check(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, data));
  test.equal("type of memory", type, unsigned(CU_MEMORYTYPE_DEVICE));
  int ordinary = 0;
  test.equal("no memory of the device",
             cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(&ordinary)),
             CUDA_ERROR_INVALID_VALUE);
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT};
  void* answers[] = {&type, &context};
  check(cuPointerGetAttributes(2, which, answers, address_of(&ordinary)));
  test.expect(type == 0 && !context, "something is known of the host's own memory");

  int* pinned = nullptr;
  check(cuMemHostAlloc(reinterpret_cast<void**>(&pinned), kCount * sizeof(int), CU_MEMHOSTALLOC_PORTABLE));
  check(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(pinned)));
  test.equal("type of the host's", type, unsigned(CU_MEMORYTYPE_HOST));
  std::vector<int> values = counted();
  std::memcpy(pinned, values.data(), kCount * sizeof(int));
  check(cuMemcpyHtoDAsync(data, pinned, kCount * sizeof(int), stream));
  scale<<<kGrid, kBlock, 0, stream>>>(reinterpret_cast<int*>(data), -1, kCount);
  check(cuMemcpyDtoHAsync(pinned, data, kCount * sizeof(int), stream));
  check(cuStreamSynchronize(stream));
  for (int& value : values) value = -value;
  test.equal("by the driver's memory", std::vector<int>(pinned, pinned + kCount), values);
  check(cuMemFreeHost(pinned));

  check(cuMemsetD32(data, 7, kCount));
  check(cuMemsetD16(data, 0x102, 2));
  check(cuMemsetD8(data + 4, 3, 4));
  std::vector<int> want(kCount, 7);
  want[0] = 0x1020102;
  want[1] = 0x3030303;
  test.equal("fills", on_host(data), want);
  constexpr int kWidth = 5, kHeight = 4, kPitch = 10;
  check(cuMemsetD2D32Async(data, kPitch * sizeof(int), 11, kWidth, kHeight, stream));
  CUDA_MEMCPY2D rows = {};
  int host[kHeight][kWidth];
  rows.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.srcDevice = data;
  rows.srcPitch = kPitch * sizeof(int);
  rows.srcXInBytes = 2 * sizeof(int);
  rows.srcY = 1;
  rows.dstMemoryType = CU_MEMORYTYPE_HOST;
  rows.dstHost = host;
  rows.dstPitch = sizeof host[0];
  rows.WidthInBytes = sizeof host[0];
  rows.Height = kHeight - 1;
  check(cuMemcpy2DAsync(&rows, stream));
  check(cuStreamSynchronize(stream));
  bool right = true;
  for (int y = 0; y < kHeight - 1; ++y)
    for (int x = 0; x < kWidth; ++x) right = right && host[y][x] == (x < 3 ? 11 : 7);
  test.expect(right, "rows are copied wrongly");
  CUDA_MEMCPY3D box = {};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = data;
  box.dstDevice = data + 400 * sizeof(int);
  box.srcPitch = box.dstPitch = kPitch * sizeof(int);
  box.srcHeight = box.dstHeight = 2;
  box.WidthInBytes = kWidth * sizeof(int);
  box.Height = 1;
  box.Depth = 2;
  check(cuMemcpy3D(&box));
  std::vector<int> copied = on_host(data + 400 * sizeof(int), 30);
  test.expect(copied[0] == 11 && copied[4] == 11 && copied[5] == 7 && copied[10] == 7 && copied[20] == 11, "a box");
  check(cuMemcpy(data, data + 4 * sizeof(int), sizeof(int)));
  test.equal("a copy of no direction", on_host(data, 1)[0], 11);
  check(cuMemFree(data));

  CUdeviceptr ordered = 0;
  check(cuMemAllocAsync(&ordered, kCount * sizeof(int), stream));
  check(cuMemsetD32Async(ordered, 5, kCount, stream));
  scale<<<kGrid, kBlock, 0, stream>>>(reinterpret_cast<int*>(ordered), 9, kCount);
  check(cuStreamSynchronize(stream));
  test.equal("memory in the stream's order", on_host(ordered), std::vector<int>(kCount, 45));
  check(cuMemFreeAsync(ordered, stream));
}

void use_virtual_memory(Test& test) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  size_t size = 0;
  check(cuMemGetAllocationGranularity(&size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr place = 0;
  CUmemGenericAllocationHandle memory = 0;
  check(cuMemAddressReserve(&place, size, 0, 0, 0));
  check(cuMemCreate(&memory, size, &properties, 0));
  check(cuMemMap(place, size, 0, memory, 0));
  CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  check(cuMemSetAccess(place, size, &access, 1));
  check(cuMemsetD32(place, 4, kCount));
  scale<<<kGrid, kBlock>>>(reinterpret_cast<int*>(place), 25, kCount);
  test.equal("memory that is mapped", on_host(place), std::vector<int>(kCount, 100));
  check(cuMemUnmap(place, size));
  check(cuMemRelease(memory));
  check(cuMemAddressFree(place, size));
}

void use_events(Test& test, CUstream stream, CUdeviceptr data) {
  CUevent start = nullptr, end = nullptr;
  float milliseconds = -1;
  check(cuEventCreate(&start, CU_EVENT_DEFAULT));
  check(cuEventCreate(&end, CU_EVENT_DEFAULT));
  check(cuEventRecord(start, stream));
  scale<<<kGrid, kBlock, 0, stream>>>(reinterpret_cast<int*>(data), -1, kCount);
  check(cuEventRecord(end, stream));
  check(cuEventSynchronize(end));
  check(cuEventElapsedTime(&milliseconds, start, end));
  test.expect(milliseconds >= 0, "time goes backwards");
  check(cuEventDestroy(start));
  check(cuEventDestroy(end));

  unsigned long long first = 0, second = 0, legacy = 0, again = 0;
  CUstream other = nullptr;
  check(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  check(cuStreamGetId(stream, &first));
  check(cuStreamGetId(other, &second));
  check(cudaStreamGetId(nullptr, &legacy));
  check(cudaStreamGetId(stream, &again));
  test.expect(first != second && first != legacy && second != legacy && first == again, "streams with the same number");
  check(cuStreamDestroy(other));
}

void use_graph(Test& test, CUstream stream, CUdeviceptr data) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec ready = nullptr;
  int by = 2, count = kCount;
  void* arguments[] = {&data, &by, &count};
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  kernel.func = function_of(reinterpret_cast<const void*>(scale));
  kernel.gridDimX = kGrid;
  kernel.blockDimX = kBlock;
  kernel.gridDimY = kernel.gridDimZ = kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = arguments;
  check(cuGraphCreate(&graph, 0));
  check(cuGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
  CUDA_KERNEL_NODE_PARAMS asked = {};
  check(cuGraphKernelNodeGetParams(node, &asked));
  test.expect(asked.gridDimX == kGrid && asked.blockDimX == kBlock, "another node");
  // After the kernel a fill, and then a copy of what is filled to the host.
  CUgraphNode fill = nullptr, copy = nullptr;
  CUDA_MEMSET_NODE_PARAMS filled = {};
  filled.dst = data + 3 * sizeof(int);
  filled.value = 12;
  filled.elementSize = sizeof(int);
  filled.width = 4;
  filled.height = 1;
  CUcontext context = nullptr;
  check(cuCtxGetCurrent(&context));
  check(cuGraphAddMemsetNode(&fill, graph, &node, 1, &filled, context));
  int copied[5] = {};
  CUDA_MEMCPY3D box = {};
  box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = data;
  box.srcXInBytes = 2 * sizeof(int);
  box.dstMemoryType = CU_MEMORYTYPE_HOST;
  box.dstHost = copied;
  box.WidthInBytes = sizeof copied;
  box.Height = box.Depth = 1;
  check(cuGraphAddMemcpyNode(&copy, graph, &fill, 1, &box, context));
  CUDA_MEMCPY3D known = {};
  check(cuGraphMemcpyNodeGetParams(copy, &known));
  test.expect(known.srcDevice + known.srcXInBytes == data + 2 * sizeof(int) && known.dstHost == copied &&
                  known.dstMemoryType == CU_MEMORYTYPE_HOST,
              "another copy");
  check(cuGraphInstantiateWithFlags(&ready, graph, 0));
  filled.value = 13;
  check(cuGraphExecMemsetNodeSetParams(ready, fill, &filled, context));
  std::vector<int> before = on_host(data);
  check(cuGraphLaunch(ready, stream));
  check(cuStreamSynchronize(stream));
  for (int& value : before) value *= 2;
  for (int i = 3; i < 7; ++i) before[i] = 13;
  test.equal("what a graph left", on_host(data), before);
  test.equal("what it copied", std::vector<int>(copied, copied + 5),
             std::vector<int>(before.begin() + 2, before.begin() + 7));
  check(cuGraphExecDestroy(ready));
  check(cuGraphDestroy(graph));
}

// Nodes of any kind by one function; the last is a graph that runs as a condition says.
void use_nodes(Test& test, CUstream stream, CUdeviceptr data) {
#if CUDA_VERSION >= 12030
  CUgraph graph = nullptr;
  CUgraphExec ready = nullptr;
  CUgraphNode last = nullptr;
  check(cuGraphCreate(&graph, 0));
  auto add = [&](CUgraph to, CUgraphNodeParams& parameters) {
    CUgraphNode node = nullptr, *before = to == graph && last ? &last : nullptr;
#if CUDA_VERSION >= 13000
    check(cuGraphAddNode(&node, to, before, nullptr, before ? 1 : 0, &parameters));
#else
    check(cuGraphAddNode(&node, to, before, before ? 1 : 0, &parameters));
#endif
    if (to == graph) last = node;
  };
  int by = 3, count = kCount;
  void* arguments[] = {&data, &by, &count};
  CUgraphNodeParams kernel = {};
  kernel.type = CU_GRAPH_NODE_TYPE_KERNEL;
  kernel.kernel.func = function_of(reinterpret_cast<const void*>(scale));
  kernel.kernel.gridDimX = kGrid;
  kernel.kernel.blockDimX = kBlock;
  kernel.kernel.gridDimY = kernel.kernel.gridDimZ = kernel.kernel.blockDimY = kernel.kernel.blockDimZ = 1;
  kernel.kernel.kernelParams = arguments;
  add(graph, kernel);
  int copied[4] = {};
  CUgraphNodeParams copy = {};
  copy.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  copy.memcpy.copyParams.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.memcpy.copyParams.srcDevice = data;
  copy.memcpy.copyParams.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.memcpy.copyParams.dstHost = copied;
  copy.memcpy.copyParams.WidthInBytes = sizeof copied;
  copy.memcpy.copyParams.Height = copy.memcpy.copyParams.Depth = 1;
  check(cuCtxGetCurrent(&copy.memcpy.copyCtx));
  add(graph, copy);
  CUgraphConditionalHandle handle = 0;
  check(cuGraphConditionalHandleCreate(&handle, graph, copy.memcpy.copyCtx, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
  CUgraphNodeParams condition = {};
  condition.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  condition.conditional.handle = handle;
  condition.conditional.type = CU_GRAPH_COND_TYPE_IF;
  condition.conditional.size = 1;
  condition.conditional.ctx = copy.memcpy.copyCtx;
  add(graph, condition);
  CUgraphNodeParams fill = {};
  fill.type = CU_GRAPH_NODE_TYPE_MEMSET;
  fill.memset.dst = data + 2 * sizeof(int);
  fill.memset.value = 77;
  fill.memset.elementSize = sizeof(int);
  fill.memset.width = 3;
  fill.memset.height = 1;
  fill.memset.ctx = copy.memcpy.copyCtx;
  add(condition.conditional.phGraph_out[0], fill);
  std::vector<int> expected = on_host(data);
  for (int& value : expected) value *= 3;
  check(cuGraphInstantiateWithFlags(&ready, graph, 0));
  check(cuGraphLaunch(ready, stream));
  check(cuStreamSynchronize(stream));
  test.equal("what the copy got", std::vector<int>(copied, copied + 4),
             std::vector<int>(expected.begin(), expected.begin() + 4));
  for (int i = 2; i < 5; ++i) expected[i] = 77;
  test.equal("what a graph with a condition left", on_host(data), expected);
  check(cuGraphExecDestroy(ready));
  check(cuGraphDestroy(graph));
#endif
}

void look_up(Test& test) {
  void *newest = nullptr, *first = nullptr, *by_runtime = nullptr, *none = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  check(cuGetProcAddress("cuMemAlloc", &newest, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  test.expect(newest && status == CU_GET_PROC_ADDRESS_SUCCESS, "a function is not found");
  CUdeviceptr memory = 0;
  check(reinterpret_cast<CUresult (*)(CUdeviceptr*, size_t)>(newest)(&memory, 100));
  check(cuMemFree(memory));
  check(cuGetProcAddress("cuNoSuchFunction", &none, CUDA_VERSION, 0, &status));
  test.expect(!none && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "a function is found that is not there");
  check(cuGetProcAddress("cuStreamGetId", &none, 11000, 0, &status));
  test.expect(!none, "a newer function is found");
  test.equal("its status", status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  check(cuGetProcAddress("cuStreamGetCaptureInfo", &newest, CUDA_VERSION, 0, &status));
  check(cuGetProcAddress("cuStreamGetCaptureInfo", &first, 11030, 0, &status));
  test.expect(newest != first, "versions are the same");
  cudaDriverEntryPointQueryResult found;
  check(cudaGetDriverEntryPointByVersion("cuStreamGetCaptureInfo", &by_runtime, 11030, cudaEnableDefault, &found));
  test.expect(by_runtime == first && found == cudaDriverEntryPointSuccess, "the runtime finds another function");
  check(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &none, CUDA_VERSION, cudaEnableDefault, &found));
  test.expect(!none && found == cudaDriverEntryPointSymbolNotFound, "the runtime finds a function that is not there");
}

void ask_for_names(Test& test) {
  const char *name = "", *text = nullptr;
  check(cuGetErrorName(CUDA_ERROR_NOT_FOUND, &name));
  test.expect(std::strcmp(name, "CUDA_ERROR_NOT_FOUND") == 0, "another name of an error");
  check(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  test.expect(text && *text, "no text of an error");
  test.equal("no error", cuGetErrorName(CUresult(12345), &name), CUDA_ERROR_INVALID_VALUE);
  test.expect(!name, "a name of no error");
}

int main() {
  Test test("driver_calls");
  check(cuInit(0));
  std::vector<int> values = counted();
  int* data = to_device(values);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  ask_of_contexts(test, stream);
  launch(test, address_of(data), stream);
  ask_of_function(test);
  use_memory(test, stream);
  use_virtual_memory(test);
  use_events(test, stream, address_of(data));
  use_graph(test, stream, address_of(data));
  use_nodes(test, stream, address_of(data));
  look_up(test);
  ask_for_names(test);
  test.equal("the runtime's last error", cudaGetLastError(), cudaSuccess);
  check(cudaStreamDestroy(stream));
  check(cudaFree(data));
  return test.finish();
}
