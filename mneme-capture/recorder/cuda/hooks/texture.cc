// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions that make and destroy textures and surfaces, as the application finds them first: for what reads beyond
// a texture's border, of which the driver says nothing later; and for kernels without IR, of whose arguments nothing
// tells handles from numbers but that there are such handles.
#include <algorithm>
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
std::map<Object, Handled>& handles() {  // never destroyed: textures are made and destroyed to the last
  static auto* all = new std::map<Object, Handled>;
  return *all;
}

void remember_texture(Object texture, const uint32_t* border) noexcept try {
  std::lock_guard lock(mutex);
  Handled& handled = handles()[texture];
  handled.texture = true;
  std::copy(border, border + handled.border.size(), handled.border.begin());
} catch (const std::bad_alloc&) {
}
void remember_surface(Object surface) noexcept try {
  std::lock_guard lock(mutex);
  handles()[surface].surface = true;
} catch (const std::bad_alloc&) {
}
void forget(Object object, bool Handled::* kind) {
  std::lock_guard lock(mutex);
  auto known = handles().find(object);
  if (known == handles().end()) return;
  known->second.*kind = false;
  if (!known->second.texture && !known->second.surface) handles().erase(known);
}

Status create(CudaRuntime&, const Real& real, Object* texture, const void*, const RuntimesSampling* sampling,
              const void*) {
  const Status status = real();
  if (status == kSuccess && texture && sampling) remember_texture(*texture, sampling->border);
  return status;
}
Status create_drivers(CudaRuntime&, const Real& real, Object* texture, const driver::Resource*,
                      const driver::Sampling* sampling, const driver::View*) {
  const Status status = real();
  if (status == kSuccess && texture && sampling) remember_texture(*texture, sampling->words + driver::kBorder);
  return status;
}

Status destroy(CudaRuntime&, const Real& real, Object texture) {
  forget(texture, &Handled::texture);
  return real();
}

Status create_surface(CudaRuntime&, const Real& real, Object* surface, const void*) {
  const Status status = real();
  if (status == kSuccess && surface) remember_surface(*surface);
  return status;
}
Status destroy_surface(CudaRuntime&, const Real& real, Object surface) {
  forget(surface, &Handled::surface);
  return real();
}

}  // namespace

bool any_handled() {
  std::lock_guard lock(mutex);
  return !handles().empty();
}

Handled handled_by(Object object) {
  std::lock_guard lock(mutex);
  auto known = handles().find(object);
  return known == handles().end() ? Handled() : known->second;
}

HOOK(create, cudaCreateTextureObject, Object*, const void*, const RuntimesSampling*, const void*)
HOOK(create_drivers, cuTexObjectCreate, Object*, const driver::Resource*, const driver::Sampling*, const driver::View*)
HOOK(destroy, cudaDestroyTextureObject, Object)
HOOK(destroy, cuTexObjectDestroy, Object)
HOOK(create_surface, cudaCreateSurfaceObject, Object*, const void*)
HOOK(create_surface, cuSurfObjectCreate, Object*, const void*)
HOOK(destroy_surface, cudaDestroySurfaceObject, Object)
HOOK(destroy_surface, cuSurfObjectDestroy, Object)

}  // namespace mneme::record::cuda
