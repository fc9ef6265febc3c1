// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A device for tests: its memory is files in memory at the real addresses, its launches are calls.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <map>
#include <vector>

#include "recorder/runtime/runtime.h"

namespace mneme::record {

class FakeRuntime : public Runtime {
 public:
  static constexpr uint64_t kRange = 256 << 20;  // bytes of address space that tests ask for

  ~FakeRuntime() override {
    for (const MemoryRange& range : reserved_) ::munmap(pointer(range.address), range.size);
  }

  MemoryRange reserve(uint64_t base, uint64_t size, int) override {
    if (elsewhere) {
      base = elsewhere;
      size = std::min(size, memory_left);
    }
    if (taken || size > largest_range) throw Error::of("the address range {:#x} is taken", base);
    ::mmap(pointer(base), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    reserved_.push_back({base, size});
    return {base, size};
  }
  void unreserve(uint64_t base, uint64_t size) override {
    ::munmap(pointer(base), size);
    std::erase_if(reserved_, [&](const MemoryRange& range) { return range.address == base && range.size == size; });
  }
  std::optional<Fd> back(uint64_t address, uint64_t size, int) override {
    if (memory_left < size) return std::nullopt;
    memory_left -= size;
    Fd memory = memory_file("fake");
    if (::ftruncate(memory.get(), static_cast<off_t>(size)) != 0) return std::nullopt;
    ::mmap(pointer(address), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory.get(), 0);
    return fetching ? Fd() : std::move(memory);
  }
  void unback(uint64_t address, uint64_t size) override {
    ::mmap(pointer(address), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    memory_left += size;
  }
  bool fetches() override { return fetching; }
  std::string processor(int) override { return its_processor; }
  void digests(const std::vector<Piece>& pieces, const TakeDigests& take) override {
    digested = pieces;
    for (const Piece& piece : pieces) {
      Digests run{piece.address, {}};
      for (uint64_t at = 0; at < piece.size; at += bundle::kBlockSize) {
        run.blocks.push_back(
            digest_of(Bytes(static_cast<std::byte*>(pointer(piece.address + at)), bundle::kBlockSize)));
      }
      if (knows_digests) take(run);
    }
  }
  void fetch(const std::vector<Piece>& pieces, std::byte* to, bool adopted) override {
    if (while_fetching) while_fetching();
    fetched_to_adopted = adopted;
    for (const Piece& piece : pieces) {
      if (piece.address == lost) throw Error("the fake device lost its memory");
      std::memcpy(to, pointer(piece.address), piece.size);
      to += piece.size;
      fetched += piece.size;
    }
  }
  void await_fetched() override { ++awaited; }
  bool survives_fork() override { return true; }
  bool adopt_host(void*, uint64_t size) override {
    if (sees_host_elsewhere) throw Error("the fake device sees host memory elsewhere");
    adopted.push_back(size);
    return true;
  }
  void disown_host(void*) override { adopted.pop_back(); }
  int device_count() override { return devices; }
  int device() override { return current_device; }
  int device_of(void*) override { return current_device; }
  int synchronize(std::chrono::milliseconds) override {
    ++synchronized;
    return status;
  }
  int synchronize(void*, std::chrono::milliseconds patience) override {
    patience_asked = patience;
    return status;
  }
  int wait() override { return synchronize(kPatience); }
  void hold() override { ++held; }
  void let_go() override { --held; }
  bool is_capturing(void*) override { return capturing; }
  std::string error_text(int error) override { return "fake error " + std::to_string(error); }
  bool prepare(const void*, int) override { return runnable; }
  std::optional<MemoryRange> global(const ProgramCode&, const std::string& name, int) override {
    auto found = globals.find(name);
    if (found == globals.end()) return std::nullopt;
    return found->second;
  }

  bool fetching = false;           // device memory has no descriptors
  std::string its_processor = {};  // empty: only kernels with IR are recorded
  bool knows_digests = true;
  std::vector<Piece> digested;    // last
  std::vector<uint64_t> adopted;  // sizes of host memory
  std::function<void()> while_fetching;
  uint64_t fetched = 0;  // bytes
  bool fetched_to_adopted = false;
  size_t awaited = 0;      // calls of fetch()
  uint64_t lost = 0;       // cannot be fetched from here
  uint64_t elsewhere = 0;  // where there are addresses, in place of those that are asked for
  bool taken = false, capturing = false, runnable = true, sees_host_elsewhere = false;
  int status = 0;
  int devices = 1, current_device = 0;
  int synchronized = 0;
  std::chrono::milliseconds patience_asked{0};
  int held = 0;
  uint64_t memory_left = 1 << 30;
  uint64_t largest_range = uint64_t{1} << 40;  // that can be reserved
  std::map<std::string, MemoryRange> globals;

 private:
  static void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }
  std::vector<MemoryRange> reserved_;
};

}  // namespace mneme::record
