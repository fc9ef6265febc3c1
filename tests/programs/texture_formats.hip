// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Textures of linear memory and of rows with a pitch, in integers of 8, 16 and 32 bits, half and single precision, with
// one, two and four channels; integers read as they are and as fractions.

#include <hip/hip_fp16.h>

#include "check.h"

constexpr int kCount = 1000;

// What filters may be off by: CUDA's weigh texels in 256ths.
#ifdef __CUDA__
constexpr double kWeights = 1e-2;
#else
constexpr double kWeights = 1e-6;
#endif

template <class Texel>
__global__ void fetch(hipTextureObject_t texture, Texel* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) out[i] = tex1Dfetch<Texel>(texture, kCount - 1 - i);
}

__global__ void fetch_outside(hipTextureObject_t texture, int* out) {
  out[0] = tex1Dfetch<int>(texture, -1);
  out[1] = tex1Dfetch<int>(texture, kCount);
}

__global__ void sample(hipTextureObject_t texture, float* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[y * width + x] = tex2D<float>(texture, x + 1.0f, y + 0.5f);
}

hipTextureObject_t linear(const void* memory, hipChannelFormatDesc channels, std::size_t bytes,
                          hipTextureReadMode mode = hipReadModeElementType) {
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeLinear;
  resource.res.linear.devPtr = const_cast<void*>(memory);
  resource.res.linear.desc = channels;
  resource.res.linear.sizeInBytes = bytes;
  hipTextureDesc description = {};
  description.readMode = mode;
  hipTextureObject_t texture = {};
  check(hipCreateTextureObject(&texture, &resource, &description, nullptr));
  return texture;
}

// What is fetched, channel by channel, is what is in memory, the last first.
template <class Texel, class Channel>
void check_fetch(Test& test, const char* name, hipChannelFormatDesc channels) {
  constexpr int kChannels = sizeof(Texel) / sizeof(Channel);
  std::vector<Channel> values;
  Random random(kChannels);
  for (int i = 0; i < kCount * kChannels; ++i) values.push_back(static_cast<Channel>(random.bits() % 60001) - 30000);
  Channel* memory = to_device(values);
  hipTextureObject_t texture = linear(memory, channels, values.size() * sizeof(Channel));
  Texel* out = device_array<Texel>(kCount);
  fetch<<<blocks_for(kCount, 128), 128>>>(texture, out);
  check(hipGetLastError());
  std::vector<Channel> want;
  for (int i = kCount - 1; i >= 0; --i)
    want.insert(want.end(), values.begin() + i * kChannels, values.begin() + (i + 1) * kChannels);
  test.equal(name, to_host(reinterpret_cast<Channel*>(out), want.size()), want);
  if constexpr (std::is_same_v<Texel, int>) {
    fetch_outside<<<1, 1>>>(texture, out);
    test.equal("outside", to_host(out, 2), std::vector<int>(2));
  }
  check(hipDestroyTextureObject(texture));
  check(hipFree(memory));
  check(hipFree(out));
}

void check_fractions(Test& test) {
  std::vector<unsigned char> bytes(kCount);
  std::vector<short> shorts(kCount);
  std::vector<float> want_bytes(kCount), want_shorts(kCount);
  for (int i = 0; i < kCount; ++i) {
    bytes[kCount - 1 - i] = static_cast<unsigned char>(i);
    shorts[kCount - 1 - i] = static_cast<short>(i * 66 - 32768);
    want_bytes[i] = static_cast<unsigned char>(i) / 255.0f;
    want_shorts[i] = std::fmax(static_cast<float>(static_cast<short>(i * 66 - 32768)) / 32767.0f, -1.0f);
  }
  float* out = device_array<float>(kCount);
  unsigned char* byte_memory = to_device(bytes);
  hipChannelFormatDesc channel = hipCreateChannelDesc(8, 0, 0, 0, hipChannelFormatKindUnsigned);
  hipTextureObject_t texture = linear(byte_memory, channel, kCount, hipReadModeNormalizedFloat);
  fetch<<<blocks_for(kCount, 128), 128>>>(texture, out);
  test.close("bytes as fractions", to_host(out, kCount), want_bytes, 1e-6);
  check(hipDestroyTextureObject(texture));

  short* short_memory = to_device(shorts);
  channel = hipCreateChannelDesc(16, 0, 0, 0, hipChannelFormatKindSigned);
  texture = linear(short_memory, channel, kCount * sizeof(short), hipReadModeNormalizedFloat);
  fetch<<<blocks_for(kCount, 128), 128>>>(texture, out);
  test.close("shorts as fractions", to_host(out, kCount), want_shorts, 1e-6);
  check(hipDestroyTextureObject(texture));
  check(hipFree(byte_memory));
  check(hipFree(short_memory));
  check(hipFree(out));
}

void check_halves(Test& test) {
  std::vector<__half> values(kCount);
  std::vector<float> want(kCount);
  for (int i = 0; i < kCount; ++i) {
    values[kCount - 1 - i] = __float2half(static_cast<float>(i) * 0.25f - 100);
    want[i] = static_cast<float>(i) * 0.25f - 100;
  }
  __half* memory = to_device(values);
  hipTextureObject_t texture = linear(memory, hipCreateChannelDescHalf(), kCount * sizeof(__half));
  float* out = device_array<float>(kCount);
  fetch<<<blocks_for(kCount, 128), 128>>>(texture, out);
  test.equal("halves", to_host(out, kCount), want);
  check(hipDestroyTextureObject(texture));
  check(hipFree(memory));
  check(hipFree(out));
}

// Half way between two columns of rows with a pitch.
void check_pitched(Test& test) {
  const int width = 45, height = 30;
  std::vector<unsigned char> image = Random(3).values<unsigned char>(width * height, 0, 255);
  void* memory = nullptr;
  std::size_t pitch = 0;
  check(hipMallocPitch(&memory, &pitch, width, height));
  check(hipMemcpy2D(memory, pitch, image.data(), width, width, height, hipMemcpyHostToDevice));
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypePitch2D;
  resource.res.pitch2D.devPtr = memory;
  resource.res.pitch2D.desc = hipCreateChannelDesc(8, 0, 0, 0, hipChannelFormatKindUnsigned);
  resource.res.pitch2D.width = width;
  resource.res.pitch2D.height = height;
  resource.res.pitch2D.pitchInBytes = pitch;
  hipTextureDesc description = {};
  description.addressMode[0] = description.addressMode[1] = hipAddressModeClamp;
  description.filterMode = hipFilterModeLinear;
  description.readMode = hipReadModeNormalizedFloat;
  hipTextureObject_t texture = {};
  check(hipCreateTextureObject(&texture, &resource, &description, nullptr));
  float* out = device_array<float>(width * height);
  sample<<<dim3(blocks_for(width, 16), blocks_for(height, 16)), dim3(16, 16)>>>(texture, out, width, height);
  std::vector<float> want;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      want.push_back((image[y * width + x] + image[y * width + std::min(x + 1, width - 1)]) / 510.0f);
  test.close("pitched", to_host(out, width * height), want, kWeights);
  check(hipDestroyTextureObject(texture));
#ifndef __CUDA__
  description.readMode = hipReadModeElementType;
  test.expect(hipCreateTextureObject(&texture, &resource, &description, nullptr) == hipErrorInvalidValue,
              "there is nothing between two integers");
#endif
  (void)hipGetLastError();
  check(hipFree(memory));
  check(hipFree(out));
}

int main() {
  Test test("texture_formats");
  auto signed_channels = [](int bits, int count) {
    return hipCreateChannelDesc(bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 2 ? bits : 0,
                                hipChannelFormatKindSigned);
  };
  auto unsigned_channels = [&](int bits, int count) {
    hipChannelFormatDesc channels = signed_channels(bits, count);
    channels.f = hipChannelFormatKindUnsigned;
    return channels;
  };
  check_fetch<char, char>(test, "char", signed_channels(8, 1));
  check_fetch<uchar4, unsigned char>(test, "uchar4", unsigned_channels(8, 4));
  check_fetch<short2, short>(test, "short2", signed_channels(16, 2));
  check_fetch<unsigned short, unsigned short>(test, "unsigned short", unsigned_channels(16, 1));
  check_fetch<int, int>(test, "int", signed_channels(32, 1));
  check_fetch<uint2, unsigned>(test, "uint2", unsigned_channels(32, 2));
  check_fetch<int4, int>(test, "int4", hipCreateChannelDesc<int4>());
  check_fetch<float, float>(test, "float", hipCreateChannelDesc<float>());
  check_fetch<float4, float>(test, "float4", hipCreateChannelDesc<float4>());
  check_fractions(test);
  check_halves(test);
  check_pitched(test);
  return test.finish();
}
