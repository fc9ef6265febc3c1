// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers that a kernel exchanges in shared memory, and counts. With -DANNOTATED the numbers may differ a little.
#include "cuda.h"
#ifdef ANNOTATED
#include <dlfcn.h>

#include "annotate/mneme/annotate.h"
#endif

constexpr unsigned kCount = 256;

__global__ void smooth(float* out, int* counts, float by) {
  __shared__ float shared[kCount];
  const unsigned i = index();
  shared[i] = out[i];
  __nvvm_bar_sync(0);
  out[i] = shared[i] + (0.1f + by) * shared[(i + 1) % kCount];
  counts[i] += 1;
}

int main() {
  void *out = nullptr, *counts = nullptr;
  float host[kCount];
  int counted[kCount];
  CHECK(cudaMalloc(&out, sizeof host) == 0 && cudaMalloc(&counts, sizeof counted) == 0);
  for (unsigned i = 0; i < kCount; ++i) host[i] = static_cast<float>(i) + 1;
  CHECK(cudaMemcpy(out, host, sizeof host, cudaMemcpyHostToDevice) == 0);
  CHECK(cudaMemset(counts, 0, sizeof counted) == 0);
#ifdef ANNOTATED
  const mneme_annotation_v1 annotation{sizeof annotation, MNEME_F32, 1e-4, MNEME_RELATIVE, MNEME_NONE};
  auto annotate = reinterpret_cast<mneme_annotate_v1_function>(dlsym(RTLD_DEFAULT, "mneme_annotate_v1"));
  if (annotate) annotate(out, &annotation);
#endif
  smooth<<<1, kCount>>>(static_cast<float*>(out), static_cast<int*>(counts), 0.25f);
  CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) == 0);
  CHECK(cudaMemcpy(counted, counts, sizeof counted, cudaMemcpyDeviceToHost) == 0);
  CHECK(host[0] > 1.6f && host[0] < 1.8f && counted[kCount - 1] == 1);
  std::puts("floats: ok");
}
