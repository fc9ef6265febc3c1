// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/settled.h"

#include <cstring>

namespace mneme::record {

const Settled::Slots* Settled::find(const LaunchRequest& request, int device) const {
  auto found = entries_.find(request.function);
  if (found == entries_.end()) return nullptr;
  const Entry& entry = found->second;
  if (entry.device != device) return nullptr;
  if (entry.all) return &entry.slots;
  bool alike = entry.grid == request.grid && entry.block == request.block && entry.cluster == request.cluster &&
               entry.shared_bytes == request.shared_bytes;
  if (!alike) return nullptr;
  void* const* list = request.arguments.list;
  if (!list && !entry.values.empty()) return nullptr;
  const char* bytes = entry.bytes.data();
  for (const Value& value : entry.values) {
    const void* given = list[value.argument];
    if (!given || std::memcmp(given, bytes, value.size) != 0) return nullptr;
    bytes += value.size;
  }
  return &entry.slots;
}

void Settled::remember_all(const void* function, int device, Slots slots) {
  Entry& entry = entries_[function];
  entry.device = device;
  entry.all = true;
  entry.slots = slots;
}

void Settled::remember_alike(const LaunchRequest& request, int device, const bundle::KernelInfo& kernel,
                             bool only_config, Slots slots) {
  if (!request.arguments.list && !kernel.arguments.empty()) return;  // packed ones are rare
  Entry& entry = entries_[request.function];
  entry.device = device;
  entry.all = false;
  entry.grid = request.grid;
  entry.block = request.block;
  entry.cluster = request.cluster;
  entry.shared_bytes = request.shared_bytes;
  entry.values.clear();
  entry.bytes.clear();
  entry.slots = slots;
  if (only_config) return;
  for (uint32_t i = 0; i < kernel.arguments.size(); ++i) {
    const bundle::Argument& argument = kernel.arguments[i];
    if (argument.kind == "pointer") continue;
    entry.values.push_back({i, argument.size});
    entry.bytes.append(static_cast<const char*>(request.arguments.list[i]), argument.size);
  }
}

}  // namespace mneme::record
