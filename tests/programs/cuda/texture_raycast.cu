// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A volume of bytes seen through a transfer function: rays step through a texture in three dimensions, and its value
// is looked up in another in one.

#include "../check.h"

constexpr int kSide = 20, kColors = 16, kImage = 24, kSteps = 48;
constexpr float kStep = 1.0f / 32, kDensity = 0.4f;

struct Scene {
  cudaTextureObject_t volume, colors;
  float3 right, up, forward;
};

// Colors from front to back, until next to nothing comes through.
__global__ void cast(Scene scene, float4* image) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= kImage || y >= kImage) return;
  const float u = (x + 0.5f) / kImage - 0.5f, v = (y + 0.5f) / kImage - 0.5f;
  float px = 0.5f + u * scene.right.x + v * scene.up.x - 0.75f * scene.forward.x;
  float py = 0.5f + u * scene.right.y + v * scene.up.y - 0.75f * scene.forward.y;
  float pz = 0.5f + u * scene.right.z + v * scene.up.z - 0.75f * scene.forward.z;
  float4 sum = make_float4(0, 0, 0, 0);
  for (int step = 0; step < kSteps && sum.w < 0.95f; ++step) {
    const float value = tex3D<float>(scene.volume, px, py, pz);
    const float4 color = tex1D<float4>(scene.colors, value);
    const float weight = color.w * kDensity * (1 - sum.w);
    sum.x += color.x * weight;
    sum.y += color.y * weight;
    sum.z += color.z * weight;
    sum.w += weight;
    px += scene.forward.x * kStep;
    py += scene.forward.y * kStep;
    pz += scene.forward.z * kStep;
  }
  image[y * kImage + x] = sum;
}

struct Reference {
  std::vector<unsigned char> volume;
  std::vector<float4> colors;

  // Nothing lies outside.
  double at(int x, int y, int z) const {
    const bool inside = x >= 0 && y >= 0 && z >= 0 && x < kSide && y < kSide && z < kSide;
    return inside ? volume[(z * kSide + y) * kSide + x] / 255.0 : 0;
  }
  static double between(double a, double b, double weight) { return a + (b - a) * weight; }
  double value(double px, double py, double pz) const {
    const double p[] = {px * kSide - 0.5, py * kSide - 0.5, pz * kSide - 0.5};
    int i[3];
    double w[3];
    for (int axis = 0; axis < 3; ++axis) {
      i[axis] = static_cast<int>(std::floor(p[axis]));
      w[axis] = std::rint((p[axis] - i[axis]) * 256) / 256;
    }
    double planes[2];
    for (int z = 0; z < 2; ++z) {
      double rows[2];
      for (int y = 0; y < 2; ++y)
        rows[y] = between(at(i[0], i[1] + y, i[2] + z), at(i[0] + 1, i[1] + y, i[2] + z), w[0]);
      planes[z] = between(rows[0], rows[1], w[1]);
    }
    return between(planes[0], planes[1], w[2]);
  }
  double color(double value, float float4::* channel) const {
    const double x = value * kColors - 0.5;
    const int i = static_cast<int>(std::floor(x));
    auto entry = [&](int at) { return colors[std::min(std::max(at, 0), kColors - 1)].*channel; };
    return between(entry(i), entry(i + 1), std::rint((x - i) * 256) / 256);
  }
};

cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureAddressMode mode, cudaTextureReadMode read) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc description = {};
  for (auto& each : description.addressMode) each = mode;
  description.filterMode = cudaFilterModeLinear;
  description.readMode = read;
  description.normalizedCoords = 1;
  cudaTextureObject_t texture = 0;
  check(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  return texture;
}

int main() {
  Test test("texture_raycast");
  Reference reference;
  for (int z = 0; z < kSide; ++z)
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x) {
        const double dx = x - 9.5, dy = y - 8.0, dz = z - 10.5, distance = std::sqrt(dx * dx + dy * dy + dz * dz);
        reference.volume.push_back(static_cast<unsigned char>(std::fmax(0, 255 - 28 * distance)));
      }
  for (int i = 0; i < kColors; ++i)
    reference.colors.push_back(make_float4(i / 15.0f, 0.5f * (i % 3), 1 - i / 20.0f, i < 2 ? 0 : i / 16.0f));

  cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>(), floats = cudaCreateChannelDesc<float4>();
  cudaArray_t volume = nullptr, colors = nullptr;
  check(cudaMalloc3DArray(&volume, &bytes, make_cudaExtent(kSide, kSide, kSide)));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(reference.volume.data(), kSide, kSide, kSide);
  copy.dstArray = volume;
  copy.extent = make_cudaExtent(kSide, kSide, kSide);
  copy.kind = cudaMemcpyHostToDevice;
  check(cudaMemcpy3D(&copy));
  check(cudaMallocArray(&colors, &floats, kColors));
  const std::size_t row = kColors * sizeof(float4);
  check(cudaMemcpy2DToArray(colors, 0, 0, reference.colors.data(), row, row, 1, cudaMemcpyHostToDevice));

  Scene scene = {texture_of(volume, cudaAddressModeBorder, cudaReadModeNormalizedFloat),
                 texture_of(colors, cudaAddressModeClamp, cudaReadModeElementType), make_float3(0.8f, 0, 0.6f),
                 make_float3(0, 1, 0), make_float3(-0.6f, 0, 0.8f)};
  auto* image = device_array<float4>(kImage * kImage);
  cast<<<dim3(kImage / 8, kImage / 8), dim3(8, 8)>>>(scene, image);
  check(cudaGetLastError());
  std::vector<float> got, want;
  for (const float4& pixel : to_host(image, kImage * kImage))
    got.insert(got.end(), {pixel.x, pixel.y, pixel.z, pixel.w});
  for (int y = 0; y < kImage; ++y)
    for (int x = 0; x < kImage; ++x) {
      const double u = (x + 0.5) / kImage - 0.5, v = (y + 0.5) / kImage - 0.5;
      double p[] = {0.5 + u * scene.right.x - 0.75 * scene.forward.x, 0.5 + v,
                    0.5 + u * scene.right.z - 0.75 * scene.forward.z};
      double sum[4] = {};
      for (int step = 0; step < kSteps && sum[3] < 0.95; ++step) {
        const double value = reference.value(p[0], p[1], p[2]);
        const double weight = reference.color(value, &float4::w) * kDensity * (1 - sum[3]);
        sum[0] += reference.color(value, &float4::x) * weight;
        sum[1] += reference.color(value, &float4::y) * weight;
        sum[2] += reference.color(value, &float4::z) * weight;
        sum[3] += weight;
        p[0] += scene.forward.x * kStep;
        p[2] += scene.forward.z * kStep;
      }
      for (double channel : sum) want.push_back(static_cast<float>(channel));
    }
  test.close("image", got, want, 2e-2);  // a coordinate's last bit may decide a 256th
  check(cudaDestroyTextureObject(scene.volume));
  check(cudaDestroyTextureObject(scene.colors));
  check(cudaFreeArray(volume));
  check(cudaFreeArray(colors));
  check(cudaFree(image));
  return test.finish();
}
