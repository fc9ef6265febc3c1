// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/kernels.h"

#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "vendor/common.h"

namespace mneme::record {

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
  stub->demangled = name;                         // until resolve()
  stubs_.try_emplace(function, std::move(stub));  // a template of two units is registered twice: the first counts
}

void Kernels::remove_fat_binary(void* handle) {
  std::lock_guard lock(mutex_);
  std::erase_if(stubs_, [&](const auto& entry) { return entry.second->code.handle == handle; });
  binaries_.erase(handle);
}

void Kernels::parse(FatBinary& binary) {
  binary.parsed = true;
  binary.trouble = "it carries no IR; build the application with mneme-inject";
  if (!binary.image) return;
  try {
    binary.code = objects::device_code_of_image(binary.image, binary.size, "the application's device code");
    for (const objects::DeviceCode& code : binary.code) {
      Bytes section = objects::elf_section(code.image, objects::kEmbeddedSection, code.target);
      if (section.empty()) continue;
      auto& list = binary.lists.emplace_back(objects::parse_embedded(section, code.target));
      // Of several processors the first one's IR counts, as it does for the device that runs it.
      for (const objects::EmbeddedKernel& kernel : list) {
        binary.kernels.emplace(kernel.info.name, &kernel);
        for (const bundle::Global& global : kernel.info.globals) binary.variables.insert(global.name);
      }
    }
  } catch (const std::exception& error) {
    binary.trouble = error.what();
  }
}

void Kernels::resolve(Stub& stub) {
  stub.resolved = true;
  FatBinary& binary = binaries_[stub.code.handle];
  if (!binary.parsed) parse(binary);
  auto found = binary.kernels.find(stub.demangled);
  stub.demangled = demangle(stub.demangled);
  if (found == binary.kernels.end()) {
    stub.trouble = binary.trouble;
    auto& recording = others_[stub.demangled];
    if (!recording) recording = std::make_shared<Recording>(limits_);
    stub.recording = recording;
    return;
  }
  stub.embedded = found->second;
  stub.code.images = binary.code;
  stub.variables = &binary.variables;
  stub.demangled = found->second->info.demangled;
  auto& recording = recordings_[found->second->info.id];
  if (!recording) recording = std::make_shared<Recording>(limits_);
  stub.recording = recording;
}

std::shared_ptr<const Stub> Kernels::find(const void* function) {
  std::lock_guard lock(mutex_);
  auto found = stubs_.find(function);
  if (found == stubs_.end()) return nullptr;
  if (!found->second->resolved) resolve(*found->second);
  return found->second;
}

void Kernels::begin_again() {
  std::lock_guard lock(mutex_);
  for (auto& [name, recording] : others_) *recording = Recording(limits_);
  for (auto& [id, recording] : recordings_) *recording = Recording(limits_);
}

std::string gather_arguments(const bundle::KernelInfo& kernel, const Arguments& arguments) {
  std::string bytes(kernel.argument_bytes, '\0');
  switch (objects::gather_arguments(kernel, arguments, std::as_writable_bytes(std::span(bytes)))) {
    case objects::Gathered::kBrokenLayout:
      throw Error("its argument layout is broken");
    case objects::Gathered::kWithoutValues:
      throw Error("it was launched without its arguments");
    case objects::Gathered::kAll:
      break;
  }
  return bytes;
}

}  // namespace mneme::record
