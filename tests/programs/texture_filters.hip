// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two-dimensional textures of an array: nearest texel and linear filter, coordinates in texels and from 0 to 1, every
// address mode in both directions, a border colour.

#include "check.h"

constexpr int kWidth = 37, kHeight = 21;

// A grid of points that reaches beyond the image on all sides: none lies where two texels meet, and none is rounded, so
// that code may fuse what it computes them with.
constexpr int kColumns = 200, kRows = 120;
__host__ __device__ float column(int i) { return (static_cast<float>(i) - 40) * 0.3125f + 0.15625f; }
__host__ __device__ float row(int i) { return (static_cast<float>(i) - 30) * 0.34375f + 0.109375f; }

__global__ void sample(hipTextureObject_t texture, float* out, float scale_x, float scale_y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= kColumns || j >= kRows) return;
  out[j * kColumns + i] = tex2D<float>(texture, column(i) * scale_x, row(j) * scale_y);
}

int resolve(int index, int size, hipTextureAddressMode mode) {
  int cycle = ((index % (2 * size)) + 2 * size) % (2 * size);
  switch (mode) {
    case hipAddressModeWrap:
      return cycle % size;
    case hipAddressModeMirror:
      return cycle < size ? cycle : 2 * size - 1 - cycle;
    case hipAddressModeClamp:
      return std::min(std::max(index, 0), size - 1);
    default:
      return index < 0 || index >= size ? -1 : index;
  }
}

// What filters may be off by: CUDA's weigh texels in 256ths.
#ifdef __CUDA__
constexpr double kWeights = 1e-2;
#else
constexpr double kWeights = 2e-4;
#endif

struct Reference {
  const std::vector<float>& image;
  hipTextureDesc description;

  double texel(int x, int y) const {
    x = resolve(x, kWidth, description.addressMode[0]);
    y = resolve(y, kHeight, description.addressMode[1]);
    return x < 0 || y < 0 ? description.borderColor[0] : image[y * kWidth + x];
  }
  double at(double x, double y) const {
    if (description.filterMode == hipFilterModePoint)
      return texel(static_cast<int>(std::floor(x)), static_cast<int>(std::floor(y)));
    double u = std::floor(x - 0.5), v = std::floor(y - 0.5), a = x - 0.5 - u, b = y - 0.5 - v;
    int i = static_cast<int>(u), j = static_cast<int>(v);
    return (1 - b) * ((1 - a) * texel(i, j) + a * texel(i + 1, j)) +
           b * ((1 - a) * texel(i, j + 1) + a * texel(i + 1, j + 1));
  }
};

int main() {
  Test test("texture_filters");
  std::vector<float> image = Random(1).values(kWidth * kHeight, -1.0f, 1.0f);
  hipChannelFormatDesc channel = hipCreateChannelDesc<float>();
  hipArray_t array = nullptr;
  check(hipMallocArray(&array, &channel, kWidth, kHeight));
  const std::size_t row_bytes = kWidth * sizeof(float);
  check(hipMemcpy2DToArray(array, 0, 0, image.data(), row_bytes, row_bytes, kHeight, hipMemcpyHostToDevice));
  float* out = device_array<float>(kColumns * kRows);

  for (bool normalized : {false, true})
    for (auto filter : {hipFilterModePoint, hipFilterModeLinear})
      for (auto mode_x : {hipAddressModeClamp, hipAddressModeBorder, hipAddressModeWrap, hipAddressModeMirror}) {
        if (!normalized && (mode_x == hipAddressModeWrap || mode_x == hipAddressModeMirror)) continue;
        auto mode_y = mode_x == hipAddressModeWrap ? hipAddressModeMirror : mode_x;
        hipResourceDesc resource = {};
        resource.resType = hipResourceTypeArray;
        resource.res.array.array = array;
        hipTextureDesc description = {};
        description.addressMode[0] = mode_x;
        description.addressMode[1] = mode_y;
        description.filterMode = filter;
        description.readMode = hipReadModeElementType;
        description.normalizedCoords = normalized;
        description.borderColor[0] = 0.25f;
        hipTextureObject_t texture = {};
        check(hipCreateTextureObject(&texture, &resource, &description, nullptr));
        hipTextureDesc same = {};
        check(hipGetTextureObjectTextureDesc(&same, texture));
        test.expect(same.filterMode == filter && same.addressMode[1] == mode_y, "the description is another");

        float scale_x = normalized ? 1.0f / kWidth : 1, scale_y = normalized ? 1.0f / kHeight : 1;
        sample<<<dim3(blocks_for(kColumns, 16), blocks_for(kRows, 16)), dim3(16, 16)>>>(texture, out, scale_x, scale_y);
        check(hipGetLastError());
        Reference reference{image, description};
        std::vector<double> want;
        for (int j = 0; j < kRows; ++j)
          for (int i = 0; i < kColumns; ++i) want.push_back(reference.at(column(i), row(j)));
        std::string name = std::string(normalized ? "normalized" : "texels") + (filter ? " linear " : " point ") +
                           std::to_string(mode_x);
        test.close(name.c_str(), to_host(out, kColumns * kRows), want, filter ? kWeights : 2e-4);
        check(hipDestroyTextureObject(texture));
      }
  check(hipFreeArray(array));
  check(hipFree(out));
  return test.finish();
}
