// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The recorder's core on a fake device, talking to a session.
#pragma once
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "annotate/mneme/MnemeAnnotation.hpp"
#include "bundle/reader.h"
#include "memory/arena.h"
#include "objects/elf_builder.h"
#include "objects/embedded.h"
#include "recorder/core/core.h"
#include "recorder/runtime/fake_runtime.h"
#include "session.h"

namespace mneme::capture {

using record::Core;
using record::FakeRuntime;
using record::LaunchRequest;
using record::Space;

inline constexpr char kBitcode[] = "not really bitcode";

inline bundle::KernelInfo add_one() {
  bundle::KernelInfo info;
  info.id = digest_of("add_one");
  info.name = "_Z7add_onePii";
  info.demangled = "add_one(int*, int)";
  info.target = "amdgcn-amd-amdhsa--gfx90a";
  info.argument_bytes = 12;
  info.arguments = {{0, 8, "pointer", "ptr", {}}, {8, 4, "scalar", "i32", {}}};
  info.globals = {{"table", 16, 4, false}};
  info.pointers = {{{{-1, {}, 0, 0, {}}}}};
  info.bitcode = digest_of(kBitcode);
  return info;
}

template <typename Number>
void append(std::string& out, Number value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// An offload bundle with one kernel's IR, as a registration has it.
inline std::string fat_binary(const bundle::KernelInfo& info, std::string_view bitcode = kBitcode) {
  std::string section = objects::write_embedded(bundle::write(info), bytes_of(bitcode));
  std::string elf = objects::build_elf({{std::string(objects::kEmbeddedSection), section}});
  std::string triple = "hipv4-amdgcn-amd-amdhsa--gfx90a";
  std::string out = "__CLANG_OFFLOAD_BUNDLE__";
  append(out, uint64_t{1});
  append(out, uint64_t{1024});
  append(out, uint64_t{elf.size()});
  append(out, uint64_t{triple.size()});
  out += triple;
  out.resize(1024, '\0');
  return out + elf;
}

class SessionTest : public ::testing::Test {
 protected:
  // Starts the session and connects a recorder to it, as a process with `rank` would.
  void begin(const char* rank = nullptr) {
    settings_.range_size = FakeRuntime::kRange;
    session_.emplace(settings_, capture_);
    queue_.add([](bundle::Writer& writer) {
      bundle::BundleInfo info;
      info.device = "host";
      writer.add(std::string(bundle::kBundleMember), bundle::write(info));
    });
    session_->start();
    std::string address = session_->socket_name();
    if (by_file_) address.replace(0, address.find(':'), "nobody");
    ::setenv(record::kSocketVariable, address.c_str(), 1);
    if (rank) ::setenv("PMI_RANK", rank, 1);
    std::unique_ptr<record::Connection> connection = record::Connection::open();
    ::unsetenv("PMI_RANK");
    if (!connection) return;
    core_ = std::make_unique<Core>(runtime_, std::move(connection));
    core_->add_fat_binary(&binary_, reinterpret_cast<const std::byte*>(binary_.data()));
    core_->add_stub(&binary_, &stub_, "_Z7add_onePii");
  }

  // One launch of add_one over `data` on the fake device.
  int launch(int* data, int count, uint32_t grid = 1, int status = 0) {
    void* arguments[] = {static_cast<void*>(&data), &count};
    LaunchRequest request;
    request.function = &stub_;
    request.grid = {grid, 1, 1};
    request.arguments.list = arguments;
    return core_->launch(request, [&] {
      if (status == 0) {
        for (int i = 0; i < count; ++i) ++data[i];
      }
      return status;
    });
  }

  int* device_ints(uint64_t count) { return static_cast<int*>(core_->allocate(Space::kDevice, count * sizeof(int))); }

  // The application ends; what the bundle then has.
  std::vector<bundle::InstanceMember> end() {
    core_.reset();
    session_->close();
    session_->join();
    queue_.finish();
    writer_.add(std::string(bundle::kSummaryMember), bundle::write(capture_.summary));
    writer_.finish();
    ::lseek(file_.get(), 0, SEEK_SET);
    reader_.emplace(file_.get(), "test", bundle::Memory::kDecode);
    std::vector<bundle::InstanceMember> instances;
    while (std::optional<bundle::Item> item = reader_->next()) {
      if (auto* instance = std::get_if<bundle::InstanceMember>(&*item)) instances.push_back(*instance);
      if (auto* kernel = std::get_if<bundle::KernelMember>(&*item)) kernels_.push_back(*kernel);
    }
    EXPECT_FALSE(reader_->truncated()) << reader_->truncation();
    return instances;
  }

  std::string reason() const { return capture_.summary.skipped.empty() ? "" : capture_.summary.skipped[0].reason; }

  bool by_file_ = false;  // applications do not see the other socket
  std::string binary_ = fat_binary(add_one());
  int stub_ = 0;
  FakeRuntime runtime_;
  Fd file_ = memory_file("bundle");
  bundle::Writer writer_{file_.get(), "test"};
  BundleQueue queue_{writer_, 64 << 20};
  Capture capture_{queue_};
  SessionSettings settings_;
  std::optional<Session> session_;
  std::unique_ptr<Core> core_;
  std::optional<bundle::Reader> reader_;
  std::vector<bundle::KernelMember> kernels_;
};

}  // namespace mneme::capture
