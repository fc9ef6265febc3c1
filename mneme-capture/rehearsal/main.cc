// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-rehearse: runs one launch where there is nothing but its recorded memory (rehearsal.h).
#include <oneapi/tbb/global_control.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "device/device.h"
#include "device/host/launch.h"
#include "hostgpu/compile/kernel_code.h"
#include "objects/embedded.h"
#include "rehearsal/protocol.h"

namespace mneme::capture {
namespace {

using Outcome = RehearsalReply::Outcome;

Bytes standard_input() {
  struct stat about{};
  if (::fstat(STDIN_FILENO, &about) != 0) throw system_error("cannot read standard input");
  auto size = static_cast<size_t>(about.st_size);
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0);
  if (mapped == MAP_FAILED) throw system_error("cannot read standard input");
  return {static_cast<const std::byte*>(mapped), size};
}

// Whether this process has no memory there.
bool is_clear(const std::vector<record::MemoryRange>& ranges) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
  if (!maps) return false;
  char line[4096];
  while (std::fgets(line, sizeof line, maps.get())) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line, "%lx-%lx", &begin, &end) != 2) continue;
    if (begin >> 47) continue;  // the system's, in every process
    for (const record::MemoryRange& range : ranges) {
      if (range.address < end && begin < range.address + range.size) return false;
    }
  }
  return true;
}

// What of the shared memory is recorded there, in place of zeros, to be changed by this process alone.
void put(const InheritedMemory& shared, const record::MemoryRange& recorded) {
  uint64_t begin = std::max(shared.address, recorded.address);
  uint64_t end = std::min(shared.address + shared.size, recorded.address + recorded.size);
  if (begin >= end) return;
  void* got = ::mmap(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, shared.file, static_cast<off_t>(begin - shared.address));
  if (got == MAP_FAILED) throw system_error("cannot map recorded memory");
}

void tell(const RehearsalReply& reply) {
  std::string bytes = pack(reply);
  ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
  // What the kernel left behind (threads, handlers that run at exit) must not delay the end.
  ::_exit(written == static_cast<ssize_t>(bytes.size()) ? 0 : 1);
}

// Ends the process when the kernel waits: nobody will write what it waits for.
struct Watch {
  std::atomic<int> waiting = 0;
  std::jthread thread{[this](const std::stop_token& over) {
    while (!over.stop_requested()) {
      if (waiting > 0) tell({Outcome::kWaits, 0, {}, {}});
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }};
};

RehearsalReply run(const RehearsalRequest& request, Bytes contents) {
  if (!is_clear(request.foreign)) return {Outcome::kTaken, 0, {}, {}};
  objects::EmbeddedKernel kernel;
  kernel.info = bundle::parse_kernel(request.kernel_json, "the application's kernel");
  kernel.json = request.kernel_json;
  kernel.bitcode = bytes_of(request.bitcode);
  hostgpu::CompileOptions options = hostgpu::usual_options();
  options.check_memory |= request.mixed;
  options.checks.clear();
  std::string object = hostgpu::object_of(kernel, options);
  auto device = device::make_host_device();
  for (const record::MemoryRange& range : request.memory) device->map(range.address, range.size);
  for (const InheritedMemory& shared : request.shared) {
    for (const record::MemoryRange& range : request.memory) put(shared, range);
  }
  for (uint64_t address : request.filled) {
    device->write(address, contents.first(bundle::kBlockSize));
    contents = contents.subspan(bundle::kBlockSize);
  }
  std::unique_ptr<device::Code> code = device->load(kernel.info, bytes_of(object));
  device::Launch launch;
  launch.grid = request.grid;
  launch.block = request.block;
  launch.shared_bytes = request.shared_bytes;
  launch.cooperative = request.cooperative;
  launch.cluster = request.cluster;
  launch.arguments = request.arguments;
  for (const record::WireSegment& wire : request.segments) {
    launch.segments.push_back({wire.address, wire.size, static_cast<bundle::SegmentKind>(wire.kind), wire.symbol, {}});
  }
  std::optional<oneapi::tbb::global_control> one_core;
  if (request.in_order) one_core.emplace(oneapi::tbb::global_control::max_allowed_parallelism, 1);
  Watch watch;
  launch.waiting = &watch.waiting;
  try {
    device->execute(*code, launch);
  } catch (const device::host::KernelFault& fault) {
    if (fault.address()) return {Outcome::kFault, *fault.address(), fault.block(), {}};
    return {Outcome::kFailed, 0, {}, fault.what()};
  }
  return {Outcome::kEnded, 0, {}, {}};
}

RehearsalReply rehearse() {
  try {
    Bytes all = standard_input();
    uint64_t size = 0;
    if (all.size() < sizeof size) throw Error("standard input ends early");
    std::memcpy(&size, all.data(), sizeof size);
    if (size > all.size() - sizeof size) throw Error("standard input ends early");
    std::string_view head(reinterpret_cast<const char*>(all.data()) + sizeof size, size);
    uint64_t begin = (sizeof size + size + bundle::kBlockSize - 1) / bundle::kBlockSize * bundle::kBlockSize;
    auto request = unpack<RehearsalRequest>(head);
    if (begin > all.size() || (all.size() - begin) / bundle::kBlockSize < request.filled.size()) {
      throw Error("standard input ends early");
    }
    return run(request, all.subspan(begin));
  } catch (const std::exception& error) {
    return {Outcome::kFailed, 0, {}, error.what()};
  }
}

}  // namespace
}  // namespace mneme::capture

int main() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  mneme::capture::tell(mneme::capture::rehearse());
}
