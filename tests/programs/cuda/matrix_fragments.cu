// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrices in registers, as CUDA's libraries have them: tiles that come asynchronously to shared memory, ldmatrix,
// products by mma.sync, results by stmatrix; attention in tiles, its sums kept as they come.
#include "../check.h"
// After the runtime's header.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void load_rows(uint32_t (&to)[4], uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}
__device__ void load_columns(uint32_t (&to)[4], uint32_t from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(from)
               : "memory");
}
__device__ void copy(uint32_t to, const void* from, bool exists) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(exists ? 16 : 0)
               : "memory");
}
__device__ void wait_for_copies() {
  asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
  __syncthreads();
}

// C = A * B^T, of 64 rows and 32 columns a block of four warps.
constexpr int kRows = 64, kColumns = 32, kDepth = 16, kStride = kDepth + 8;
__global__ void product(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n, int k) {
  __shared__ __align__(16) __nv_bfloat16 rows[kRows][kStride], columns[kColumns][kStride], results[kRows][kColumns + 8];
  int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32;
  int row = static_cast<int>(blockIdx.y) * kRows, column = static_cast<int>(blockIdx.x) * kColumns;
  float sums[kColumns / 8][4] = {};
  for (int first = 0; first < k; first += kDepth) {
    int i = t / 2, part = t % 2 * 8;
    bool is_row = row + i < m && first + part < k, is_column = column + i < n && first + part < k;
    copy(shared_address(&rows[i][part]), a + (is_row ? (row + i) * k + first + part : 0), is_row);
    if (i < kColumns) {
      copy(shared_address(&columns[i][part]), b + (is_column ? (column + i) * k + first + part : 0), is_column);
    }
    wait_for_copies();
    uint32_t left[4];
    load_rows(left, shared_address(&rows[warp * 16 + lane % 16][lane / 16 * 8]));
    for (int j = 0; j < kColumns / 8; j += 2) {
      uint32_t right[4];
      load_rows(right, shared_address(&columns[j * 8 + lane / 16 * 8 + lane % 8][lane / 8 % 2 * 8]));
      for (int h = 0; h < 2; ++h) {
        float(&sum)[4] = sums[j + h];
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[2 * h]), "r"(right[2 * h + 1]));
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < kColumns / 8; ++j) {
    uint32_t words[2];
    for (int h = 0; h < 2; ++h) {
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(words[h]) : "f"(sums[j][2 * h + 1]), "f"(sums[j][2 * h]));
    }
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(
                     shared_address(&results[warp * 16 + lane % 16][j * 8])),
                 "r"(words[0]), "r"(words[1])
                 : "memory");
  }
  __syncthreads();
  for (int i = t; i < kRows * kColumns; i += static_cast<int>(blockDim.x)) {
    int r = row + i / kColumns, s = column + i % kColumns;
    if (r < m && s < n) c[r * n + s] = results[i / kColumns][i % kColumns];
  }
}

// softmax(Q * K^T) * V, of 32 columns: 16 rows a warp, 16 keys at a time, exponents of two.
constexpr int kWide = 32, kKeys = 16, kLine = kWide + 8;
__global__ void attention(const __half* q, const __half* k, const __half* v, float* out, int count) {
  __shared__ __align__(16) __half queries[32][kLine], keys[kKeys][kLine], values[kKeys][kLine];
  int t = static_cast<int>(threadIdx.x), warp = t / 32, lane = t % 32, row = static_cast<int>(blockIdx.x) * 32;
  auto load = [&](__half(*to)[kLine], const __half* from, int rows, int first) {
    for (int i = t; i < rows * 4; i += 64) {
      bool exists = first + i / 4 < count;
      copy(shared_address(&to[i / 4][i % 4 * 8]), from + (exists ? (first + i / 4) * kWide + i % 4 * 8 : 0), exists);
    }
  };
  auto multiply = [](float(&sum)[4], const uint32_t(&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  };
  load(queries, q, 32, row);
  wait_for_copies();
  uint32_t query[2][4];
  for (int i = 0; i < 2; ++i)
    load_rows(query[i], shared_address(&queries[warp * 16 + lane % 16][i * 16 + lane / 16 * 8]));
  float sums[4][4] = {}, total[2] = {}, most[2] = {-1e30f, -1e30f};
  for (int first = 0; first < count; first += kKeys) {
    __syncthreads();
    load(keys, k, kKeys, first);
    load(values, v, kKeys, first);
    wait_for_copies();
    float scores[2][4] = {};
    for (int i = 0; i < 2; ++i) {
      uint32_t key[4];
      load_rows(key, shared_address(&keys[lane / 16 * 8 + lane % 8][i * 16 + lane / 8 % 2 * 8]));
      for (int j = 0; j < 2; ++j) multiply(scores[j], query[i], key[2 * j], key[2 * j + 1]);
    }
    uint32_t weights[4];
    for (int h = 0; h < 2; ++h) {
      float now = most[h];
      for (int j = 0; j < 4; ++j) {
        float& score = scores[j / 2][2 * h + j % 2];
        if (first + j / 2 * 8 + lane % 4 * 2 + j % 2 >= count) score = -1e30f;
        now = fmaxf(now, score);
      }
      for (int apart : {1, 2}) now = fmaxf(now, __shfl_xor_sync(~0u, now, apart));
      float shrink = exp2f(most[h] - now);
      total[h] *= shrink, most[h] = now;
      for (auto& sum : sums) sum[2 * h] *= shrink, sum[2 * h + 1] *= shrink;
      for (int j = 0; j < 2; ++j) {
        float one = exp2f(scores[j][2 * h] - now), other = exp2f(scores[j][2 * h + 1] - now);
        total[h] += one + other;
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(weights[2 * j + h]) : "f"(other), "f"(one));
      }
    }
    for (int j = 0; j < 4; j += 2) {
      uint32_t value[4];
      load_columns(value, shared_address(&values[lane % 16][j * 8 + lane / 16 * 8]));
      for (int h = 0; h < 2; ++h) multiply(sums[j + h], weights, value[2 * h], value[2 * h + 1]);
    }
  }
  for (int h = 0; h < 2; ++h) {
    for (int apart : {1, 2}) total[h] += __shfl_xor_sync(~0u, total[h], apart);
    int r = row + warp * 16 + lane / 4 + h * 8;
    for (int j = 0; r < count && j < 8; ++j) {
      out[r * kWide + j / 2 * 8 + lane % 4 * 2 + j % 2] = sums[j / 2][2 * h + j % 2] / total[h];
    }
  }
}

int main() {
  Test test("matrix_fragments");
  Random random(5);
  constexpr int kM = 100, kN = 72, kK = 40;
  std::vector<float> a = random.values<float>(kM * kK, -4, 4), b = random.values<float>(kN * kK, -4, 4);
  auto rounded = [](std::vector<float>& values, auto convert) {
    std::vector<decltype(convert(0.0f))> result;
    for (float& value : values) result.push_back(convert(value = std::round(value)));
    return result;
  };
  auto to_brain = [](float value) { return __float2bfloat16(value); };
  auto *left = to_device(rounded(a, to_brain)), *right = to_device(rounded(b, to_brain));
  auto* c = device_array<__nv_bfloat16>(kM * kN);
  product<<<dim3((kN + kColumns - 1) / kColumns, (kM + kRows - 1) / kRows), 128>>>(left, right, c, kM, kN, kK);
  std::vector<float> got, want;
  for (__nv_bfloat16 value : to_host(c, kM * kN)) got.push_back(__bfloat162float(value));
  for (int i = 0; i < kM * kN; ++i) {
    float sum = 0;
    for (int k = 0; k < kK; ++k) sum += a[i / kN * kK + k] * b[i % kN * kK + k];
    want.push_back(__bfloat162float(to_brain(sum)));
  }
  test.equal("product", got, want);

  constexpr int kCount = 75;
  std::vector<float> numbers[3];
  __half* arrays[3];
  for (int i = 0; i < 3; ++i) {
    numbers[i] = random.values<float>(kCount * kWide, -3, 3);
    arrays[i] = to_device(rounded(numbers[i], [](float value) { return __float2half(value); }));
  }
  auto* out = device_array<float>(kCount * kWide);
  attention<<<(kCount + 31) / 32, 64>>>(arrays[0], arrays[1], arrays[2], out, kCount);
  std::vector<double> expected;
  for (int r = 0; r < kCount; ++r) {
    double total = 0, most = -1e30;
    std::vector<double> weights(kCount), sums(kWide);
    for (int s = 0; s < kCount; ++s) {
      for (int i = 0; i < kWide; ++i) weights[s] += numbers[0][r * kWide + i] * numbers[1][s * kWide + i];
      most = std::fmax(most, weights[s]);
    }
    for (int s = 0; s < kCount; ++s) {
      double weight = std::exp2(weights[s] - most);
      total += weight;
      for (int i = 0; i < kWide; ++i) sums[i] += weight * numbers[2][s * kWide + i];
    }
    for (double sum : sums) expected.push_back(sum / total);
  }
  test.close("attention", to_host(out, kCount * kWide), expected, 2e-3);
  for (void* memory :
       {static_cast<void*>(left), static_cast<void*>(right), static_cast<void*>(c), static_cast<void*>(arrays[0]),
        static_cast<void*>(arrays[1]), static_cast<void*>(arrays[2]), static_cast<void*>(out)}) {
    check(hipFree(memory));
  }
  return test.finish();
}
