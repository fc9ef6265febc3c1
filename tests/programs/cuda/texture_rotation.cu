// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures: one of bytes turned about its middle by a texture that wraps, filters and reads fractions, and another with
// sRGB's intensities; blurred in boxes, one layer after another, by a texture of layers and a surface of them.

#include "../check.h"

constexpr int kWidth = 64, kHeight = 48, kLayers = 4;

__global__ void turn(cudaTextureObject_t picture, uchar4* out, float cosine, float sine) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= kWidth || y >= kHeight) return;
  const float u = x / static_cast<float>(kWidth) - 0.5f, v = y / static_cast<float>(kHeight) - 0.5f;
  const float4 color = tex2D<float4>(picture, u * cosine - v * sine + 0.5f, v * cosine + u * sine + 0.5f);
  out[y * kWidth + x] = make_uchar4(color.x * 255 + 0.5f, color.y * 255 + 0.5f, color.z * 255 + 0.5f, color.w * 255);
}

__global__ void copy(cudaTextureObject_t picture, float4* out) {
  const int x = threadIdx.x, y = blockIdx.x;
  out[y * kWidth + x] = tex2D<float4>(picture, x + 0.5f, y + 0.5f);
}

// The mean of a box, from each layer into the next.
__global__ void blur(cudaTextureObject_t from, cudaSurfaceObject_t to, int layer, int radius) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= kWidth) return;
  float sum = 0;
  for (int j = -radius; j <= radius; ++j)
    for (int i = -radius; i <= radius; ++i) sum += tex2DLayered<float>(from, x + i + 0.5f, y + j + 0.5f, layer);
  const int side = 2 * radius + 1;
  surf2DLayeredwrite(sum / (side * side), to, x * static_cast<int>(sizeof(float)), y, layer + 1);
}

int wrapped(int i, int size) { return (i % size + size) % size; }
int clamped(int i, int size) { return std::min(std::max(i, 0), size - 1); }

// As a texture has it: in 256ths between texels.
double filtered(const std::vector<uchar4>& picture, double u, double v, unsigned char uchar4::* channel) {
  const double x = u * kWidth - 0.5, y = v * kHeight - 0.5;
  const int i = static_cast<int>(std::floor(x)), j = static_cast<int>(std::floor(y));
  const double a = std::rint((x - i) * 256) / 256, b = std::rint((y - j) * 256) / 256;
  auto at = [&](int column, int row) {
    return picture[wrapped(row, kHeight) * kWidth + wrapped(column, kWidth)].*channel / 255.0;
  };
  return (1 - b) * ((1 - a) * at(i, j) + a * at(i + 1, j)) + b * ((1 - a) * at(i, j + 1) + a * at(i + 1, j + 1));
}

double linear_of_srgb(double value) {
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

cudaArray_t picture_array(const std::vector<uchar4>& picture) {
  cudaChannelFormatDesc channels = cudaCreateChannelDesc<uchar4>();
  cudaArray_t array = nullptr;
  check(cudaMallocArray(&array, &channels, kWidth, kHeight));
  const std::size_t row = kWidth * sizeof(uchar4);
  check(cudaMemcpy2DToArray(array, 0, 0, picture.data(), row, row, kHeight, cudaMemcpyHostToDevice));
  return array;
}

void check_pictures(Test& test) {
  std::vector<uchar4> picture(kWidth * kHeight);
  Random random(5);
  for (uchar4& texel : picture) {
    const auto bits = random.bits();
    texel = make_uchar4(bits & 255, bits >> 8 & 255, bits >> 16 & 255, bits >> 24 & 255);
  }
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = picture_array(picture);
  cudaTextureDesc description = {};
  description.addressMode[0] = description.addressMode[1] = cudaAddressModeWrap;
  description.filterMode = cudaFilterModeLinear;
  description.readMode = cudaReadModeNormalizedFloat;
  description.normalizedCoords = 1;
  cudaTextureObject_t texture = 0;
  check(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  auto* turned = device_array<uchar4>(picture.size());
  for (const float angle : {0.3f, 2.5f}) {
    const float cosine = std::cos(angle), sine = std::sin(angle);
    turn<<<dim3(kWidth / 16, kHeight / 8), dim3(16, 8)>>>(texture, turned, cosine, sine);
    check(cudaGetLastError());
    const std::vector<uchar4> got = to_host(turned, picture.size());
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kWidth; ++x) {
        const float u = x / static_cast<float>(kWidth) - 0.5f, v = y / static_cast<float>(kHeight) - 0.5f;
        const double at_u = u * cosine - v * sine + 0.5f, at_v = v * cosine + u * sine + 0.5f;
        const uchar4 texel = got[y * kWidth + x];
        const int errors[] = {texel.x - static_cast<int>(filtered(picture, at_u, at_v, &uchar4::x) * 255 + 0.5),
                              texel.z - static_cast<int>(filtered(picture, at_u, at_v, &uchar4::z) * 255 + 0.5)};
        test.expect(std::abs(errors[0]) <= 2 && std::abs(errors[1]) <= 2, "a turned picture is another");
      }
  }
  check(cudaDestroyTextureObject(texture));

  description.filterMode = cudaFilterModePoint;
  description.normalizedCoords = 0;
  description.sRGB = 1;
  check(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  auto* colors = device_array<float4>(picture.size());
  copy<<<kHeight, kWidth>>>(texture, colors);
  std::vector<float> got, want;
  for (const float4& color : to_host(colors, picture.size()))
    got.insert(got.end(), {color.x, color.y, color.z, color.w});
  for (const uchar4& texel : picture) {
    for (int channel : {texel.x, texel.y, texel.z}) want.push_back(linear_of_srgb(channel / 255.0));
    want.push_back(texel.w / 255.0f);  // is no intensity
  }
  test.close("sRGB", got, want, 5e-3);  // a GPU has it in steps of a 256th
  check(cudaDestroyTextureObject(texture));
  check(cudaFreeArray(resource.res.array.array));
  check(cudaFree(turned));
  check(cudaFree(colors));
}

void check_blur(Test& test) {
  const std::size_t count = kWidth * kHeight;
  std::vector<float> layers = Random(6).values(count * kLayers, 0.0f, 1.0f);
  cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  check(cudaMalloc3DArray(&array, &channel, make_cudaExtent(kWidth, kHeight, kLayers),
                          cudaArrayLayered | cudaArraySurfaceLoadStore));
  cudaMemcpy3DParms transfer = {};
  transfer.srcPtr = make_cudaPitchedPtr(layers.data(), kWidth * sizeof(float), kWidth, kHeight);
  transfer.dstArray = array;
  transfer.extent = make_cudaExtent(kWidth, kHeight, kLayers);
  transfer.kind = cudaMemcpyHostToDevice;
  check(cudaMemcpy3D(&transfer));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc description = {};
  for (auto& mode : description.addressMode) mode = cudaAddressModeClamp;
  cudaTextureObject_t texture = 0;
  cudaSurfaceObject_t surface = 0;
  check(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  check(cudaCreateSurfaceObject(&surface, &resource));
  for (int layer = 0; layer + 1 < kLayers; ++layer) {
    const int radius = layer + 1, side = 2 * radius + 1;
    blur<<<dim3(2, kHeight), 32>>>(texture, surface, layer, radius);
    check(cudaGetLastError());
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kWidth; ++x) {
        double sum = 0;
        for (int j = -radius; j <= radius; ++j)
          for (int i = -radius; i <= radius; ++i)
            sum += layers[layer * count + clamped(y + j, kHeight) * kWidth + clamped(x + i, kWidth)];
        layers[(layer + 1) * count + y * kWidth + x] = static_cast<float>(sum / (side * side));
      }
  }
  std::vector<float> got(layers.size());
  cudaMemcpy3DParms back = {};
  back.srcArray = array;
  back.dstPtr = make_cudaPitchedPtr(got.data(), kWidth * sizeof(float), kWidth, kHeight);
  back.extent = transfer.extent;
  back.kind = cudaMemcpyDeviceToHost;
  check(cudaMemcpy3D(&back));
  test.close("blurred", got, layers, 1e-5);
  check(cudaDestroyTextureObject(texture));
  check(cudaDestroySurfaceObject(surface));
  check(cudaFreeArray(array));
}

int main() {
  Test test("texture_rotation");
  check_pictures(test);
  check_blur(test);
  return test.finish();
}
