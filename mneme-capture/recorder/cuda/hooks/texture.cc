// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions that make and destroy textures, as the application finds them first: for what reads beyond a texture's
// border, of which the driver says nothing later.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "recorder/cuda/runtime.h"
#include "recorder/cuda/textures.h"
#include "vendor/cuda/textures.h"

namespace mneme::record::cuda {
namespace {

namespace driver = vendor::cuda;
using driver::Object;

// The head of a cudaTextureDesc.
struct RuntimesSampling {
  int address_mode[3], filter_mode, read_mode, srgb;
  uint32_t border[4];  // floats or integers
};

std::mutex mutex;
std::map<Object, Border>& borders() {  // never destroyed: textures are made and destroyed to the last
  static auto* all = new std::map<Object, Border>;
  return *all;
}

void remember(Object texture, const uint32_t* border) noexcept try {
  Border words;
  std::copy(border, border + words.size(), words.begin());
  if (words == Border{}) return;
  std::lock_guard lock(mutex);
  borders()[texture] = words;
} catch (const std::bad_alloc&) {
}

Status create(CudaRuntime&, const Real& real, Object* texture, const void*, const RuntimesSampling* sampling,
              const void*) {
  const Status status = real();
  if (status == kSuccess && texture && sampling) remember(*texture, sampling->border);
  return status;
}
Status create_drivers(CudaRuntime&, const Real& real, Object* texture, const driver::Resource*,
                      const driver::Sampling* sampling, const driver::View*) {
  const Status status = real();
  if (status == kSuccess && texture && sampling) remember(*texture, sampling->words + driver::kBorder);
  return status;
}

Status destroy(CudaRuntime&, const Real& real, Object texture) {
  {
    std::lock_guard lock(mutex);
    borders().erase(texture);
  }
  return real();
}

}  // namespace

Border border_of(Object texture) {
  std::lock_guard lock(mutex);
  auto known = borders().find(texture);
  return known == borders().end() ? Border{} : known->second;
}

HOOK(create, cudaCreateTextureObject, Object*, const void*, const RuntimesSampling*, const void*)
HOOK(create_drivers, cuTexObjectCreate, Object*, const driver::Resource*, const driver::Sampling*, const driver::View*)
HOOK(destroy, cudaDestroyTextureObject, Object)
HOOK(destroy, cuTexObjectDestroy, Object)

}  // namespace mneme::record::cuda
