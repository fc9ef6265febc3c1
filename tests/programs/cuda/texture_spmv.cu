// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sparse matrix times a vector, both fetched by textures of linear memory, with doubles as pairs of integers; and
// what a texture is made of, as the runtime tells it.

#include "../check.h"

constexpr int kRows = 300;

struct Matrix {
  cudaTextureObject_t starts, columns, values;
};

__device__ double fetch(cudaTextureObject_t values, int i) {
  const int2 halves = tex1Dfetch<int2>(values, i);
  return __hiloint2double(halves.y, halves.x);
}

__global__ void multiply(Matrix matrix, cudaTextureObject_t vector, double* out) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= kRows) return;
  double sum = 0;
  for (int i = tex1Dfetch<int>(matrix.starts, row); i < tex1Dfetch<int>(matrix.starts, row + 1); ++i)
    sum += fetch(matrix.values, i) * tex1Dfetch<float>(vector, tex1Dfetch<unsigned short>(matrix.columns, i));
  out[row] = sum;
}

template <class Texel, class Element>
cudaTextureObject_t texture_of(const std::vector<Element>& elements) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = to_device(elements);
  resource.res.linear.desc = cudaCreateChannelDesc<Texel>();
  resource.res.linear.sizeInBytes = elements.size() * sizeof(Element);
  cudaTextureDesc description = {};
  cudaTextureObject_t texture = 0;
  check(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  return texture;
}

void destroy(cudaTextureObject_t texture) {
  cudaResourceDesc resource = {};
  check(cudaGetTextureObjectResourceDesc(&resource, texture));
  check(cudaDestroyTextureObject(texture));
  check(cudaFree(resource.res.linear.devPtr));
}

int main() {
  Test test("texture_spmv");
  Random random(11);
  std::vector<int> starts = {0};
  std::vector<unsigned short> columns;
  for (int row = 0; row < kRows; ++row) {
    for (int i = static_cast<int>(random.below(9)); i > 0; --i) columns.push_back(random.below(kRows));
    starts.push_back(static_cast<int>(columns.size()));
  }
  // Sums of so few multiples of 1/16 are exact.
  std::vector<double> values, want;
  for (std::size_t i = 0; i < columns.size(); ++i) values.push_back(random.between(-64, 64) / 16.0);
  std::vector<float> vector;
  for (int i = 0; i < kRows; ++i) vector.push_back(random.between(-64, 64) / 16.0f);
  for (int row = 0; row < kRows; ++row) {
    double sum = 0;
    for (int i = starts[row]; i < starts[row + 1]; ++i) sum += values[i] * vector[columns[i]];
    want.push_back(sum);
  }
  const Matrix matrix = {texture_of<int>(starts), texture_of<unsigned short>(columns), texture_of<int2>(values)};
  const cudaTextureObject_t factors = texture_of<float>(vector);
  auto* out = device_array<double>(kRows);
  multiply<<<blocks_for(kRows, 128), 128>>>(matrix, factors, out);
  check(cudaGetLastError());
  test.equal("product", to_host(out, kRows), want);

  cudaResourceDesc resource = {};
  cudaTextureDesc description = {};
  check(cudaGetTextureObjectResourceDesc(&resource, matrix.values));
  check(cudaGetTextureObjectTextureDesc(&description, matrix.values));
  const cudaChannelFormatDesc& channels = resource.res.linear.desc;
  test.expect(resource.resType == cudaResourceTypeLinear && channels.x == 32 && channels.y == 32 && channels.z == 0 &&
                  channels.f == cudaChannelFormatKindSigned && description.filterMode == cudaFilterModePoint,
              "the texture is of something else");
  for (cudaTextureObject_t texture : {matrix.starts, matrix.columns, matrix.values, factors}) destroy(texture);
  check(cudaFree(out));
  return test.finish();
}
