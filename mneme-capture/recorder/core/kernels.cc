// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/kernels.h"

#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
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

void Kernels::parse(void* handle, FatBinary& binary) {
  binary.parsed = true;
  binary.trouble = kNoIr;
  if (!binary.image) return;
  try {
    binary.code =
        objects::device_code_of_image(binary.image, binary.size, "the application's device code", &binary.ptx);
    auto add = [&](Bytes records, const std::string& where) {
      if (records.empty()) return;
      auto& list = binary.lists.emplace_back(objects::parse_embedded(records, where));
      // Of several processors the first one's IR counts, as it does for the device that runs it.
      for (const objects::EmbeddedKernel& kernel : list) {
        binary.kernels.emplace(kernel.info.name, &kernel);
        for (const bundle::Global& global : kernel.info.globals) binary.variables.insert(global.name);
      }
    };
    for (const objects::DeviceCode& code : binary.code) {
      add(objects::elf_section(code.image, objects::kEmbeddedSection, code.target), code.target);
    }
    if (binary.kernels.empty()) add(lifted_(handle), "the application's PTX");
  } catch (const std::exception& error) {
    binary.trouble = error.what();
  }
}

void Kernels::resolve(Stub& stub) {
  stub.resolved = true;
  FatBinary& binary = binaries_[stub.code.handle];
  if (!binary.parsed) parse(stub.code.handle, binary);
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

std::shared_ptr<const Stub> Kernels::take_code(const Stub& stub, const std::string& processor,
                                               const AskForParameters& ask, const Arguments& arguments,
                                               const IsRecorded& is_recorded) {
  auto with_code = std::make_shared<Stub>(stub);
  with_code->asks_for_code = false;
  std::vector<objects::DeviceCode> cubins, ptx;
  {
    std::lock_guard lock(mutex_);
    FatBinary& binary = binaries_[stub.code.handle];
    cubins = binary.code;
    ptx = binary.ptx;
    with_code->code.images = binary.code;
    with_code->variables = &binary.variables;
  }
  try {
    auto code = std::make_shared<KernelCode>(kernel_code(stub.name, cubins, ptx, processor, ask));
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
  if (known->second->asks_for_code) known->second = with_code;  // else another thread was faster
  return known->second;
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
