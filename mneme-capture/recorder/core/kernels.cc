// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/kernels.h"

#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "objects/cubin.h"
#include "objects/cuda_fatbin.h"
#include "recorder/core/linked_units.h"
#include "objects/source.h"
#include "vendor/common.h"

namespace mneme::record {
namespace {

constexpr char kNoIr[] = "it carries no IR; build the application with mneme-inject";

}  // namespace

std::string demangle(const std::string& name) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : name;
}

void Kernels::add_fat_binary(void* handle, const std::byte* image) {
  std::lock_guard lock(mutex_);
  FatBinary& binary = binaries_[handle];
  binary.image = image;
}

void Kernels::add_module(void* handle, std::string image) {
  std::lock_guard lock(mutex_);
  FatBinary& binary = binaries_[handle];
  binary.owned = std::move(image);
  binary.image = reinterpret_cast<const std::byte*>(binary.owned.data());
  binary.size = binary.owned.size();
}

void Kernels::add_stub(void* handle, const void* function, const char* name) {
  std::lock_guard lock(mutex_);
  auto stub = std::make_shared<Stub>();
  stub->function = function;
  stub->code.handle = handle;
  stub->name = name;
  stubs_.try_emplace(function, std::move(stub));  // a template of two units is registered twice: the first counts
}

void Kernels::remove_fat_binary(void* handle) {
  std::lock_guard lock(mutex_);
  std::erase_if(stubs_, [&](const auto& entry) { return entry.second->code.handle == handle; });
  binaries_.erase(handle);
}

void Kernels::open(void* handle, FatBinary& binary) {
  binary.opened = true;
  binary.trouble = kNoIr;
  if (!binary.image) return;
  binary.code = objects::packed_code_of_image(binary.image, binary.size, "the application's device code", &binary.ptx);
  add(lifted_(handle), "the application's PTX", binary);
}

void Kernels::add(Bytes records, const std::string& where, FatBinary& binary) {
  if (records.empty()) return;
  binary.parsed = true;
  auto& list = binary.lists.emplace_back(objects::parse_embedded(records, where));
  // Of several processors the first one's IR counts, as it does for the device that runs it.
  for (const objects::EmbeddedKernel& kernel : list) {
    binary.kernels.emplace(kernel.info.name, &kernel);
    for (const bundle::Global& global : kernel.info.globals) binary.variables.insert(global.name);
  }
}

void Kernels::parse(FatBinary& binary) {
  for (objects::DeviceCode& code : binary.code) {
    const Bytes image = objects::image_of(code);
    add(objects::elf_section(image, objects::kEmbeddedSection, code.target), code.target, binary);
    const Bytes sources = objects::elf_section(image, objects::kSourceSection, code.target);
    for (Bytes source : objects::parse_sources(sources, code.target)) binary.sources.emplace(digest_of(source), source);
  }
}

// nvcc's fat binaries have no IR, and code for many processors, which takes long to unpack: the first of them that has
// the kernel tells that no other has its IR.
void Kernels::look_for(const std::string& kernel, void* handle, FatBinary& binary) try {
  if (!binary.opened) open(handle, binary);
  if (binary.parsed || binary.trouble != kNoIr) return;
  for (objects::DeviceCode* code : by_preference(binary.code, processor_())) {
    Bytes image = objects::image_of(*code);
    if (!objects::elf_section(image, objects::kEmbeddedSection, code->target).empty()) return parse(binary);
    if (code->target.starts_with(objects::kCudaTriple) && objects::has_kernel(image, kernel, code->target)) return;
  }
} catch (const std::exception& error) {
  binary.trouble = error.what();
}

void Kernels::add_linked_units(FatBinary& binary) {
  if (!binary.ptx.empty() || std::exchange(binary.looked_for_units, true)) return;
  objects::DeviceCode linked = ptx_of_linked_units(binary.image);
  if (!linked.target.empty()) binary.ptx.push_back(std::move(linked));
}

void Kernels::resolve(Stub& stub) {
  stub.resolved = true;
  FatBinary& binary = binaries_[stub.code.handle];
  look_for(stub.name, stub.code.handle, binary);
  auto found = binary.kernels.find(stub.name);
  stub.demangled = demangle(stub.name);
  if (found == binary.kernels.end()) {
    stub.trouble = binary.trouble;
    stub.asks_for_code = binary.trouble == kNoIr && binary.image;
    auto& recording = others_[stub.demangled];
    if (!recording) recording = std::make_shared<Recording>(limits_);
    stub.recording = recording;
    return;
  }
  const objects::EmbeddedKernel& embedded = *found->second;
  stub.info = &embedded.info;
  stub.json = embedded.json;
  stub.bytes = embedded.bitcode;
  if (auto source = binary.sources.find(embedded.info.source_text); source != binary.sources.end()) {
    stub.source = source->second;
  }
  stub.code.images = binary.code;
  stub.variables = &binary.variables;
  stub.demangled = embedded.info.demangled;
  stub.recording = recording_of(embedded.info.id);
}

std::shared_ptr<Recording> Kernels::recording_of(const Digest& id) {
  auto& recording = recordings_[id];
  if (!recording) recording = std::make_shared<Recording>(limits_);
  return recording;
}

std::shared_ptr<const Stub> Kernels::take_code(const Stub& stub, int device, const std::string& processor,
                                               const AskForParameters& ask, const Arguments& arguments,
                                               const IsRecorded& is_recorded) {
  std::shared_ptr<Stub> with_code;
  ChosenCode chosen;
  std::string trouble;
  {
    std::lock_guard lock(mutex_);
    with_code = std::make_shared<Stub>(stub);
    with_code->asks_for_code = false;
    with_code->on_device.clear();
    with_code->processor = processor;
    FatBinary& binary = binaries_[stub.code.handle];
    with_code->code.images = binary.code;
    with_code->variables = &binary.variables;
    try {
      add_linked_units(binary);
      chosen = choose_code(stub.name, binary.code, binary.ptx, processor);
    } catch (const Error& error) {
      trouble = error.what();
    }
  }
  try {
    if (!trouble.empty()) throw Error(trouble);
    auto code = std::make_shared<KernelCode>(kernel_code(stub.name, chosen, processor, ask));
    code->info.demangled = stub.demangled;
    tell_pointers(code->info, arguments, is_recorded);
    with_code->info = &code->info;
    with_code->bytes = code->code;
    with_code->ptx = code->ptx;
    with_code->trouble.clear();
    with_code->code_only = std::move(code);
  } catch (const Error& error) {
    with_code->trouble = error.what();
  }
  std::lock_guard lock(mutex_);
  if (with_code->info) with_code->recording = recording_of(with_code->info->id);
  auto known = stubs_.find(stub.function);
  if (known == stubs_.end()) return with_code;
  auto& on_device = known->second->on_device;
  // Another device has the same processor; or another thread was faster.
  std::shared_ptr<const Stub> one = with_code;
  for (const auto& [number, other] : on_device) {
    if (other->processor == processor) one = other;
  }
  return on_device.try_emplace(device, one).first->second;
}

std::shared_ptr<const Stub> Kernels::find(const void* function, int device) {
  std::lock_guard lock(mutex_);
  auto found = stubs_.find(function);
  if (found == stubs_.end()) return nullptr;
  Stub& stub = *found->second;
  if (!stub.resolved) resolve(stub);
  auto known = stub.on_device.find(device);
  return known == stub.on_device.end() ? found->second : known->second;
}

void Kernels::begin_again() {
  std::lock_guard lock(mutex_);
  for (auto& [name, recording] : others_) *recording = Recording(limits_);
  for (auto& [id, recording] : recordings_) *recording = Recording(limits_);
}

}  // namespace mneme::record
