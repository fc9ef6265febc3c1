// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two surfaces in turn: the game of life, in bytes, on a board with nothing around it; the smallest of each row, by
// reads that are clamped to the surface; texels of 2 to 16 bytes.

#include "../check.h"

constexpr int kWidth = 76, kHeight = 50;

__global__ void live(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= kWidth || y >= kHeight) return;
  int around = 0;
  for (int j = -1; j <= 1; ++j)
    for (int i = -1; i <= 1; ++i) {
      if (i || j) around += surf2Dread<unsigned char>(from, x + i, y + j, cudaBoundaryModeZero);
    }
  const bool alive = surf2Dread<unsigned char>(from, x, y);
  surf2Dwrite<unsigned char>(around == 3 || (around == 2 && alive), to, x, y);
}

// Of the bytes from x on to 3 further, those beyond the end as the last.
__global__ void least(cudaSurfaceObject_t board, unsigned char* out) {
  const int x = threadIdx.x, y = blockIdx.x;
  unsigned char smallest = 255;
  for (int i = 0; i < 4; ++i) {
    const auto one = surf2Dread<unsigned char>(board, x + i, y, cudaBoundaryModeClamp);
    smallest = one < smallest ? one : smallest;
  }
  out[y * kWidth + x] = smallest;
}

template <class Texel>
__global__ void reverse(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int count) {
  const int i = threadIdx.x, size = sizeof(Texel);
  Texel texel;
  surf1Dread(&texel, from, i * size);
  surf1Dwrite(texel, to, (count - 1 - i) * size);
  surf1Dwrite(texel, to, (count + i) * size, cudaBoundaryModeZero);  // outside
}

cudaArray_t array_of(cudaChannelFormatDesc channels, int width, int height = 0) {
  cudaArray_t array = nullptr;
  check(cudaMallocArray(&array, &channels, width, height, cudaArraySurfaceLoadStore));
  return array;
}

cudaSurfaceObject_t surface_of(cudaArray_t array) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface = 0;
  check(cudaCreateSurfaceObject(&surface, &resource));
  return surface;
}

std::vector<unsigned char> next(const std::vector<unsigned char>& board) {
  std::vector<unsigned char> after(board.size());
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      int around = 0;
      for (int j = std::max(y - 1, 0); j <= std::min(y + 1, kHeight - 1); ++j)
        for (int i = std::max(x - 1, 0); i <= std::min(x + 1, kWidth - 1); ++i) around += board[j * kWidth + i];
      const int alive = board[y * kWidth + x];
      after[y * kWidth + x] = around - alive == 3 || (around - alive == 2 && alive);
    }
  return after;
}

void check_life(Test& test) {
  std::vector<unsigned char> board;
  Random random(9);
  for (int i = 0; i < kWidth * kHeight; ++i) board.push_back(random.below(3) == 0);
  cudaArray_t arrays[2];
  cudaSurfaceObject_t surfaces[2];
  for (int i = 0; i < 2; ++i)
    surfaces[i] = surface_of(arrays[i] = array_of(cudaCreateChannelDesc<unsigned char>(), kWidth, kHeight));
  check(cudaMemcpy2DToArray(arrays[0], 0, 0, board.data(), kWidth, kWidth, kHeight, cudaMemcpyHostToDevice));
  for (int generation = 0; generation < 12; ++generation) {
    live<<<dim3(blocks_for(kWidth, 16), blocks_for(kHeight, 8)), dim3(16, 8)>>>(surfaces[generation % 2],
                                                                                surfaces[1 - generation % 2]);
    check(cudaGetLastError());
    board = next(board);
  }
  std::vector<unsigned char> got(board.size());
  check(cudaMemcpy2DFromArray(got.data(), kWidth, arrays[0], 0, 0, kWidth, kHeight, cudaMemcpyDeviceToHost));
  test.equal("board", got, board);

  auto* out = device_array<unsigned char>(board.size());
  least<<<kHeight, kWidth>>>(surfaces[0], out);
  std::vector<unsigned char> want;
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      unsigned char smallest = 255;
      for (int i = 0; i < 4; ++i) smallest = std::min(smallest, board[y * kWidth + std::min(x + i, kWidth - 1)]);
      want.push_back(smallest);
    }
  test.equal("least", to_host(out, want.size()), want);
  for (int i = 0; i < 2; ++i) {
    check(cudaDestroySurfaceObject(surfaces[i]));
    check(cudaFreeArray(arrays[i]));
  }
  check(cudaFree(out));
}

template <class Texel>
void check_texels(Test& test, const char* name) {
  constexpr int kCount = 40, kBytes = kCount * sizeof(Texel);
  cudaArray_t from = array_of(cudaCreateChannelDesc<Texel>(), kCount),
              to = array_of(cudaCreateChannelDesc<Texel>(), kCount);
  const std::vector<unsigned char> bytes =
      Random(static_cast<unsigned char>(name[0])).values<unsigned char>(kBytes, 0, 255);
  check(cudaMemcpy2DToArray(from, 0, 0, bytes.data(), kBytes, kBytes, 1, cudaMemcpyHostToDevice));
  const cudaSurfaceObject_t surfaces[] = {surface_of(from), surface_of(to)};
  reverse<Texel><<<1, kCount>>>(surfaces[0], surfaces[1], kCount);
  check(cudaGetLastError());
  std::vector<unsigned char> got(kBytes), want;
  check(cudaMemcpy2DFromArray(got.data(), kBytes, to, 0, 0, kBytes, 1, cudaMemcpyDeviceToHost));
  for (int i = kCount - 1; i >= 0; --i)
    want.insert(want.end(), bytes.begin() + i * sizeof(Texel), bytes.begin() + (i + 1) * sizeof(Texel));
  test.equal(name, got, want);
  for (cudaSurfaceObject_t surface : surfaces) check(cudaDestroySurfaceObject(surface));
  check(cudaFreeArray(from));
  check(cudaFreeArray(to));
}

int main() {
  Test test("surface_life");
  check_life(test);
  check_texels<short>(test, "short");
  check_texels<uchar2>(test, "uchar2");
  check_texels<char4>(test, "char4");
  check_texels<float2>(test, "float2");
  check_texels<ushort4>(test, "ushort4");
  check_texels<int4>(test, "int4");
  return test.finish();
}
