// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What replaying costs on NVIDIA's first GPU, ahead of any kernel: making a context, alone and with all that the worker
// of mneme-run makes ready; and restoring memory through the worker's staging memory, against a plain copy from pinned
// memory in the same run.
#include <sys/mman.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/cuda/driver.h"
#include "device/device.h"
#include "replay/worker/filler.h"
#include "replay/worker/supply.h"

using namespace mneme;
using namespace mneme::device::cuda;

namespace {

constexpr uint64_t kAddress = 0x400000000000;
constexpr uint64_t kMiB = 1 << 20;

struct Sizes {
  explicit Sizes(uint64_t size) : restored(size), stored(size / 4), plain(size / 8) {}
  uint64_t restored;
  uint64_t stored;  // distinct blocks, each restored to several places
  uint64_t plain;   // copied as often as it takes
  uint64_t blocks() const { return restored / bundle::kBlockSize; }
};

double seconds(const std::function<void()>& work) {
  auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Whole pages, to the program's end.
Bytes contents(uint64_t size) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw system_error("mmap");
  std::span<std::byte> bytes(static_cast<std::byte*>(memory), size);
  bundle::Workers::for_each(size / bundle::kBlockSize, [&](size_t block) {
    auto* words = reinterpret_cast<uint64_t*>(&bytes[block * bundle::kBlockSize]);
    for (size_t i = 0; i < bundle::kBlockSize / sizeof *words; i++) words[i] = (block << 20 | i) * 0x9E3779B97F4A7C15;
  });
  return bytes;
}

// In place of a block's digest: where it is stored.
Digest digest_at(uint64_t block, Bytes stored) {
  std::byte bytes[Digest::kSize]{};
  uint64_t at = block % (stored.size() / bundle::kBlockSize) * bundle::kBlockSize;
  std::memcpy(bytes, &at, sizeof at);
  return Digest::load(bytes);
}

Bytes block_of(Bytes stored, const Digest& digest) {
  std::byte bytes[Digest::kSize];
  digest.store(bytes);
  uint64_t at = 0;
  std::memcpy(&at, bytes, sizeof at);
  return stored.subspan(at, bundle::kBlockSize);
}

// mneme-run's side, to the end of the connection.
void serve(run::Channel& worker, const run::Staging& staging, Bytes stored) {
  run::Filler filler;
  std::deque<std::string> filling;
  while (std::optional<run::Message> need = worker.receive()) {
    uint32_t slot = 0;
    std::memcpy(&slot, need->fields.at(0).data(), sizeof slot);
    filler.begin(staging.slot(slot), std::move(need->fields.at(1)),
                 [&](const Digest& digest) { return block_of(stored, digest); });
    filling.push_back(std::move(need->fields[0]));
    while (!filling.empty() && (filling.size() >= 2 || !worker.has_message())) {
      filler.finish();
      worker.send(run::MessageType::kBlocks, {filling.front()});
      filling.pop_front();
    }
  }
}

double restore(device::Device& device, Bytes stored, const Sizes& sizes) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw system_error("socketpair");
  run::Channel here(Fd(ends[0]), run::kMaxFromWorker), there(Fd(ends[1]), run::kMaxToWorker);
  static run::Staging staging(false);  // longer than the device, which has it pinned
  std::thread server([&] { serve(here, staging, stored); });
  std::vector<Digest> digests;
  for (uint64_t i = 0; i < sizes.blocks(); i++) digests.push_back(digest_at(i, stored));
  double taken = seconds([&] {
    run::Supply supply(there, staging, device);
    supply.fetch(digests, [&](size_t first, Bytes blocks) {
      device.begin_write(kAddress + first * bundle::kBlockSize, blocks);
    });
    check(driver().cuCtxSynchronize(), "waiting for the GPU");
  });
  there = {};
  server.join();
  return taken;
}

// From memory that is pinned already: in one copy after another as large as they may be, and as the worker copies.
struct FromPinned {
  double plain = 0, in_slots = 0;
};

FromPinned copy_from_pinned(device::Device& device, Bytes stored, const Sizes& sizes) {
  void* memory = const_cast<std::byte*>(stored.data());
  check(driver().cuMemHostRegister_v2(memory, sizes.plain, kRegisterPortable), "pinning memory");
  auto copy = [&](uint64_t at_once) {
    for (uint64_t at = 0; at < sizes.restored; at += at_once) {
      device.begin_write(kAddress + at, stored.subspan(at % sizes.plain, at_once));
      device.mark(0);
    }
    device.wait_for(0);
  };
  FromPinned taken;
  taken.plain = seconds([&] { copy(sizes.plain); });
  taken.in_slots = seconds([&] { copy(run::Staging::kSlotSize); });
  check(driver().cuMemHostUnregister(memory), "unpinning memory");
  return taken;
}

void check_restored(device::Device& device, Bytes stored, const Sizes& sizes) {
  std::vector<std::byte> block(bundle::kBlockSize);
  for (uint64_t i = 0; i < sizes.blocks(); i += 61) {
    device.read(kAddress + i * bundle::kBlockSize, block);
    if (std::memcmp(block.data(), block_of(stored, digest_at(i, stored)).data(), block.size()) != 0) {
      throw Error::of("block {} was not restored", i);
    }
  }
}

void measure_context() {
  Context* context = nullptr;
  int number = 0;
  std::printf("a context alone: %.3f s\n", seconds([&] {
                check(driver().cuDeviceGet(&number, 0), "finding the GPU");
                check(driver().cuDevicePrimaryCtxRetain(&context, number), "making a context");
                check(driver().cuCtxSetCurrent(context), "making the context current");
                check(driver().cuCtxSynchronize(), "waiting for the GPU");
              }));
}

void measure_restoring(const Sizes& sizes) {
  std::unique_ptr<device::Device> device;
  std::printf("all that a worker makes ready: %.3f s\n", seconds([&] { device = device::make_device("cuda"); }));
  Bytes stored = contents(sizes.stored);
  device->map(kAddress, sizes.restored);
  FromPinned pinned = copy_from_pinned(*device, stored, sizes);
  double first = restore(*device, stored, sizes);
  check_restored(*device, stored, sizes);
  double next = restore(*device, stored, sizes);
  double gigabytes = static_cast<double>(sizes.restored) / 1e9;
  auto rate = [&](const char* what, double taken) {
    std::printf("%s: %.1f GB/s, %.2f of a plain pinned copy\n", what, gigabytes / taken, pinned.plain / taken);
  };
  std::printf("%.1f GB\n", gigabytes);
  rate("plain pinned copy", pinned.plain);
  rate("pinned memory in slots", pinned.in_slots);
  rate("restored by mneme-run and its worker, slots pinned on the way", first);
  rate("and once more", next);
}

}  // namespace

// `context`: only that. Else the rest; how many MiB are restored, 8192 unless given.
int main(int argc, char** argv) {
  try {
    std::string what = argc > 1 ? argv[1] : "8192";
    what == "context" ? measure_context() : measure_restoring(Sizes(std::stoull(what) * kMiB));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
