// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of CUDA's runtime that HIP's has not: attributes of streams, graphs that are uploaded, what a kernel is called,
// how much shared memory lets how many of its blocks be resident, and batches of copies.

#include <cstring>

#include "../check.h"

constexpr int kCount = 256, kFixed = 1000;

__global__ void reverse(int* data) {
  __shared__ int fixed[kFixed];
  extern __shared__ int more[];
  int i = threadIdx.x;
  fixed[i] = data[i];
  more[i] = i;
  __syncthreads();
  data[i] = fixed[kCount - 1 - i] + more[kCount - 1 - i];
}

constexpr size_t kBytes = kCount * sizeof(int);

cudaStreamAttrValue attribute(cudaStream_t stream, cudaStreamAttrID which) {
  cudaStreamAttrValue value = {};
  check(cudaStreamGetAttribute(stream, which, &value));
  return value;
}

void keep_attributes(Test& test, cudaStream_t stream) {
  cudaStreamAttrValue value = {};
  value.syncPolicy = cudaSyncPolicyYield;
  check(cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value));
  value = {};
  value.accessPolicyWindow.num_bytes = 4096;
  value.accessPolicyWindow.hitRatio = 0.5f;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  check(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
  int least = 0, greatest = 0, priority = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  value = {};
  value.priority = greatest;
  check(cudaStreamSetAttribute(stream, cudaStreamAttributePriority, &value));
  check(cudaStreamGetPriority(stream, &priority));
  test.equal("priority", priority, greatest);

  cudaStream_t other = nullptr;
  check(cudaStreamCreate(&other));
  test.equal("another's window", attribute(other, cudaStreamAttributeAccessPolicyWindow).accessPolicyWindow.num_bytes,
             size_t(0));
  test.equal("another's domain", int(attribute(other, cudaStreamAttributeMemSyncDomain).memSyncDomain), 0);
  test.equal("another's domains", int(attribute(other, cudaStreamAttributeMemSyncDomainMap).memSyncDomainMap.remote),
             1);
  check(cudaStreamCopyAttributes(other, stream));
  cudaAccessPolicyWindow window = attribute(other, cudaStreamAttributeAccessPolicyWindow).accessPolicyWindow;
  test.equal("a copy's window", window.num_bytes, size_t(4096));
  test.equal("its ratio", window.hitRatio, 0.5f);
  test.equal("its misses", int(window.missProp), int(cudaAccessPropertyStreaming));
  test.equal("its policy", int(attribute(other, cudaStreamAttributeSynchronizationPolicy).syncPolicy),
             int(cudaSyncPolicyYield));
  test.equal("its priority", attribute(other, cudaStreamAttributePriority).priority, greatest);
  check(cudaStreamDestroy(other));
  test.equal("the null stream's window",
             attribute(nullptr, cudaStreamAttributeAccessPolicyWindow).accessPolicyWindow.num_bytes, size_t(0));

  value = {};
  test.equal("a policy that is none", cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value),
             cudaErrorInvalidValue);
  test.equal("an attribute of launches", cudaStreamGetAttribute(stream, cudaLaunchAttributeCooperative, &value),
             cudaErrorInvalidValue);
  test.equal("the policy since", int(attribute(stream, cudaStreamAttributeSynchronizationPolicy).syncPolicy),
             int(cudaSyncPolicyYield));
  static_cast<void>(cudaGetLastError());
}

void upload(Test& test, cudaStream_t stream, int* data) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  reverse<<<1, kCount, kBytes, stream>>>(data);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  const cudaGraphNode_t* after = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  check(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &after, &edges, &count));
  test.expect(status == cudaStreamCaptureStatusActive && graph && count == 1 && after[0] && edges && edges[0].type == 0,
              "what is captured is not known");
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&ready, graph, 0));
  check(cudaGraphUpload(ready, stream));
  check(cudaGraphLaunch(ready, stream));
  check(cudaStreamSynchronize(stream));
  test.equal("no graph", cudaGraphUpload(nullptr, stream), cudaErrorInvalidValue);
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  test.equal("while it is captured", cudaGraphUpload(ready, stream), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t broken = nullptr;
  static_cast<void>(cudaStreamEndCapture(stream, &broken));
  static_cast<void>(cudaGetLastError());
  check(cudaGraphExecDestroy(ready));
  check(cudaGraphDestroy(graph));
}

void ask_of_kernel(Test& test) {
  const void* kernel = reinterpret_cast<const void*>(reverse);
  const char* name = "";
  check(cudaFuncGetName(&name, kernel));
  test.expect(std::strcmp(name, "_Z7reversePi") == 0, "the kernel's name is another");
  test.equal("no kernel's name", cudaFuncGetName(&name, &name), cudaErrorInvalidResourceHandle);

  for (int blocks : {1, 2, 4, 8}) {
    size_t size = 0;
    check(cudaOccupancyAvailableDynamicSMemPerBlock(&size, kernel, blocks, kCount));
    test.expect(size > 0 && size <= 48 * 1024 - kFixed * sizeof(int), "shared memory that no launch may have");
    int resident = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, kCount, size - size / 16));
    test.expect(resident >= blocks, "fewer blocks are resident");
  }
  size_t size = 0;
  test.equal("too many blocks", cudaOccupancyAvailableDynamicSMemPerBlock(&size, kernel, 9, kCount),
             cudaErrorInvalidValue);
  test.equal("no blocks", cudaOccupancyAvailableDynamicSMemPerBlock(&size, kernel, 0, kCount), cudaErrorInvalidValue);
  static_cast<void>(cudaGetLastError());
}

void copy_batch(Test& test, cudaStream_t stream) {
  std::vector<int> first(kCount), second(kCount), want(kCount);
  for (int i = 0; i < kCount; ++i) first[i] = i, second[i] = 1000 - i;
  int *one = device_array<int>(kCount), *other = device_array<int>(kCount), *pinned = nullptr;
  check(cudaMallocHost(&pinned, kBytes));
  std::memcpy(pinned, second.data(), kBytes);
  void* to[] = {one, other};
  const void* from[] = {first.data(), pinned};
  std::size_t sizes[] = {kBytes, kBytes}, starts[] = {0, 1};
  cudaMemcpyAttributes attributes[2] = {};
  attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  attributes[1].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
  check(cudaMemcpyBatchAsync(to, from, sizes, 2, attributes, starts, 2, stream));
  std::memset(pinned, 0, kBytes);  // has been read
  reverse<<<1, kCount, kBytes, stream>>>(one);
  check(cudaStreamSynchronize(stream));
  for (int i = 0; i < kCount; ++i) want[i] = 2 * (kCount - 1 - i);
  test.equal("of a batch, reversed", to_host(one, kCount), want);
  test.equal("of a batch", to_host(other, kCount), second);
  test.equal("a batch in no stream", cudaMemcpyBatchAsync(to, from, sizes, 2, attributes, starts, 2, nullptr),
             cudaErrorInvalidValue);
  test.equal("without attributes", cudaMemcpyBatchAsync(to, from, sizes, 2, attributes, starts, 0, stream),
             cudaErrorInvalidValue);
  static_cast<void>(cudaGetLastError());
  check(cudaFreeHost(pinned));
  check(cudaFree(one));
  check(cudaFree(other));
}

int main() {
  Test test("runtime_calls");
  std::vector<int> values(kCount), want(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = 3 * i;
  for (int i = 0; i < kCount; ++i) want[i] = 4 * (kCount - 1 - i);
  int* data = to_device(values);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  keep_attributes(test, stream);
  upload(test, stream, data);
  test.equal("reversed", to_host(data, kCount), want);
  ask_of_kernel(test);
  copy_batch(test, stream);
  check(cudaStreamDestroy(stream));
  check(cudaFree(data));
  return test.finish();
}
