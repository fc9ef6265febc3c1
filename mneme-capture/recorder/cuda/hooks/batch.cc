// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CUDA functions that copy several pieces of memory at once, as the application finds them first: they wait as
// other copies do, and pass their arguments on unread.
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {
namespace {

using Word = uint64_t;

// Under the same name, the runtime's have one parameter less in CUDA 13 than in CUDA 12. Both are called with the
// words of the longer one: the last is whatever the caller's frame holds, and CUDA 13's functions do not read it.
using Batch = Error(Word, Word, Word, Word, Word, Word, Word, Word, Word);
using BoxBatch = Error(Word, Word, Word, Word, Word);
constinit Next<Batch> next_batch(kLibrary, "cudaMemcpyBatchAsync");
constinit Next<Batch> next_batch_ptsz(kLibrary, "cudaMemcpyBatchAsync_ptsz");
constinit Next<BoxBatch> next_box_batch(kLibrary, "cudaMemcpy3DBatchAsync");
constinit Next<BoxBatch> next_box_batch_ptsz(kLibrary, "cudaMemcpy3DBatchAsync_ptsz");
constinit Next<Batch> next_driver_batch(kDriver, "cuMemcpyBatchAsync");
constinit Next<Batch> next_driver_batch_ptsz(kDriver, "cuMemcpyBatchAsync_ptsz");
constinit Next<Batch> next_driver_batch_v2(kDriver, "cuMemcpyBatchAsync_v2");
constinit Next<Batch> next_driver_batch_v2_ptsz(kDriver, "cuMemcpyBatchAsync_v2_ptsz");
constinit Next<BoxBatch> next_driver_box_batch(kDriver, "cuMemcpy3DBatchAsync");
constinit Next<BoxBatch> next_driver_box_batch_ptsz(kDriver, "cuMemcpy3DBatchAsync_ptsz");
constinit Next<BoxBatch> next_driver_box_batch_v2(kDriver, "cuMemcpy3DBatchAsync_v2");
constinit Next<BoxBatch> next_driver_box_batch_v2_ptsz(kDriver, "cuMemcpy3DBatchAsync_v2_ptsz");

}  // namespace

#define BATCH(name, next)                                                              \
  Error name(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i) { \
    return change(next, a, b, c, d, e, f, g, h, i);                                    \
  }
#define BOX_BATCH(name, next) \
  Error name(Word a, Word b, Word c, Word d, Word e) { return change(next, a, b, c, d, e); }

#pragma GCC visibility push(default)
extern "C" {

BATCH(cudaMemcpyBatchAsync, next_batch)
BATCH(cudaMemcpyBatchAsync_ptsz, next_batch_ptsz)
BATCH(cuMemcpyBatchAsync, next_driver_batch)
BATCH(cuMemcpyBatchAsync_ptsz, next_driver_batch_ptsz)
BATCH(cuMemcpyBatchAsync_v2, next_driver_batch_v2)
BATCH(cuMemcpyBatchAsync_v2_ptsz, next_driver_batch_v2_ptsz)
BOX_BATCH(cudaMemcpy3DBatchAsync, next_box_batch)
BOX_BATCH(cudaMemcpy3DBatchAsync_ptsz, next_box_batch_ptsz)
BOX_BATCH(cuMemcpy3DBatchAsync, next_driver_box_batch)
BOX_BATCH(cuMemcpy3DBatchAsync_ptsz, next_driver_box_batch_ptsz)
BOX_BATCH(cuMemcpy3DBatchAsync_v2, next_driver_box_batch_v2)
BOX_BATCH(cuMemcpy3DBatchAsync_v2_ptsz, next_driver_box_batch_v2_ptsz)

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
