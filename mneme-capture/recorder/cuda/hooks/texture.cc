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

constinit Next<Error(Object*, const void*, const RuntimesSampling*, const void*)> next_create(
    kLibrary, "cudaCreateTextureObject");
constinit Next<Error(Object)> next_destroy(kLibrary, "cudaDestroyTextureObject");
constinit Next<Result(Object*, const driver::Resource*, const driver::Sampling*, const driver::View*)>
    next_create_driver(kDriver, "cuTexObjectCreate");
constinit Next<Result(Object)> next_destroy_driver(kDriver, "cuTexObjectDestroy");

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

void forget(Object texture) noexcept {
  std::lock_guard lock(mutex);
  borders().erase(texture);
}

}  // namespace

Border border_of(Object texture) {
  std::lock_guard lock(mutex);
  auto known = borders().find(texture);
  return known == borders().end() ? Border{} : known->second;
}

}  // namespace mneme::record::cuda

using namespace mneme::record::cuda;

#pragma GCC visibility push(default)
extern "C" {

Error cudaCreateTextureObject(Object* texture, const void* resource, const RuntimesSampling* sampling,
                              const void* view) {
  Error status = next_create.call_or(kNotSupported, texture, resource, sampling, view);
  if (status == kSuccess && texture && sampling) remember(*texture, sampling->border);
  return status;
}
Error cudaDestroyTextureObject(Object texture) {
  forget(texture);
  return next_destroy.call_or(kNotSupported, texture);
}
Result cuTexObjectCreate(Object* texture, const driver::Resource* resource, const driver::Sampling* sampling,
                         const driver::View* view) {
  Result status = next_create_driver.call_or(kNotSupported, texture, resource, sampling, view);
  if (status == kSuccess && texture && sampling) remember(*texture, sampling->words + driver::kBorder);
  return status;
}
Result cuTexObjectDestroy(Object texture) {
  forget(texture);
  return next_destroy_driver.call_or(kNotSupported, texture);
}

}  // extern "C"
#pragma GCC visibility pop
