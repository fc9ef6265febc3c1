// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMD's first GPU as a Device. A kernel that faults usually ends the process, which is replaced then. There are no
// images: memory is compared and restored by the host.
#include "device/hip/hip_device.h"

#include <algorithm>

#include "base/error.h"
#include "device/hip/kernel_timer.h"
#include "device/hip/memory.h"
#include "device/hip/module.h"
#include "device/moved_globals.h"

namespace mneme::device {
namespace hip {
namespace {

// The cache that all of a GPU's kernels share, in front of its memory.
class SecondCache {
 public:
  SecondCache() = default;
  ~SecondCache() {
    if (filler_) runtime().hipFree(filler_);
  }
  SecondCache(const SecondCache&) = delete;
  SecondCache& operator=(const SecondCache&) = delete;

  uint64_t size() const {  // bytes; 0: the GPU does not say
    int bytes = 0;
    check(runtime().hipDeviceGetAttribute(&bytes, kSecondCacheSize, 0), "asking for the size of the GPU's cache");
    return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
  }
  void empty() {
    constexpr uint64_t kTimesTheCache = 2;  // what it drops for what is new need not be the oldest
    const uint64_t filled = kTimesTheCache * size();
    if (filled == 0) throw Error("--cache cold: the GPU does not say how large its cache is");
    if (!filler_) check(runtime().hipMalloc(&filler_, filled), "--cache cold: allocating what empties the cache");
    check(runtime().hipMemset(filler_, 0, filled), "emptying the GPU's cache");
  }

 private:
  void* filler_ = nullptr;
};

class HipDevice final : public Device {
 public:
  std::string name() const override { return "hip"; }
  std::string clock() const override { return timer_.clock(); }
  bool runs_in_this_process() const override { return false; }

  void expect(std::span<const BlockRange> ranges) override { memory_.expect(ranges); }
  void map(uint64_t address, uint64_t size) override { memory_.map(address, size); }

  void write(uint64_t address, Bytes bytes) override {
    memory_.check_mapped(address, bytes.size());
    copy(address, reinterpret_cast<uint64_t>(bytes.data()), bytes.size(), "writing the recorded memory");
  }

  void read(uint64_t address, std::span<std::byte> out) override {
    memory_.check_mapped(address, out.size());
    copy(reinterpret_cast<uint64_t>(out.data()), address, out.size(), "reading memory back");
  }

  void unmap() override {
    synchronize("waiting for the GPU");  // nothing that is still to be done may meet other memory
    memory_.unmap();
  }

  std::unique_ptr<Code> load(const bundle::KernelInfo& kernel, Bytes code) override {
    // The runtime has a heap of its own, elsewhere, and nobody else sees what is in it.
    if (std::ranges::any_of(kernel.globals, [](const auto& global) { return global.name == bundle::kDeviceHeap; })) {
      throw Error::of("kernel '{}' allocates memory itself, which cannot be replayed on an AMD GPU", kernel.demangled);
    }
    return std::make_unique<LoadedModule>(kernel, code);
  }

  uint64_t execute(Code& code, const Launch& launch) override {
    auto& loaded = static_cast<LoadedModule&>(code);
    if (launch.poison_shared) throw Error("--poison is for the host device: a GPU's shared memory is its own");
    if (launch.cluster.count() > 1) throw Error("AMD's GPUs have no clusters of blocks");
    if (launch.warn && !loaded.misplaced().empty()) launch.warn(loaded.misplaced());
    const Moves moves = moves_of(loaded, launch);
    translate(moves, true);
    copy_variables(loaded, launch, true);
    std::string arguments = launch.arguments;
    moves.there(std::as_writable_bytes(std::span(arguments)));
    if (launch.cold) cache_.empty();
    synchronize("waiting for the GPU");
    if (launch.timed) timer_.start();
    check(start(loaded, launch, arguments), ("launching kernel '" + loaded.kernel() + "'").c_str());
    const Result stopped = launch.timed ? timer_.stop() : 0;
    const std::string running = "running kernel '" + loaded.kernel() + "'";
    synchronize(running.c_str());
    check(stopped, running.c_str());
    const uint64_t taken = launch.timed ? timer_.taken(launch) : 0;
    copy_variables(loaded, launch, false);
    translate(moves, false);
    return taken;
  }

  uint64_t cache_size() const override { return cache_.size(); }
  bool still_works() override { return succeeds(runtime().hipDeviceSynchronize()); }

 private:
  static void synchronize(const char* doing) { check(runtime().hipDeviceSynchronize(), doing); }

  static void copy(uint64_t to, uint64_t from, uint64_t size, const char* doing) {
    if (size) check(runtime().hipMemcpy(pointer_to(to), pointer_to(from), size, kCopyAnyWay), doing);
  }

  static Result start(const LoadedModule& code, const Launch& launch, std::string& arguments) {
    const bundle::Dim3 &grid = launch.grid, &block = launch.block;
    if (!launch.cooperative) {
      size_t size = arguments.size();
      void* extra[] = {pointer_to(kArgumentBuffer), arguments.data(), pointer_to(kArgumentSize), &size,
                       pointer_to(kArgumentEnd)};
      return runtime().hipModuleLaunchKernel(code.function(), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                             launch.shared_bytes, nullptr, nullptr, extra);
    }
    if (!runtime().hipModuleLaunchCooperativeKernel) {
      throw Error::of("kernel '{}' was launched as a cooperative one: this HIP runtime cannot do that with a module's",
                      code.kernel());
    }
    std::vector<void*> list;
    for (const bundle::Argument& argument : code.arguments()) {
      if (argument.offset > arguments.size() || argument.size > arguments.size() - argument.offset) {
        throw Error::of("kernel '{}' was recorded with too few bytes of arguments", code.kernel());
      }
      list.push_back(arguments.data() + argument.offset);
    }
    return runtime().hipModuleLaunchCooperativeKernel(code.function(), grid.x, grid.y, grid.z, block.x, block.y,
                                                      block.z, launch.shared_bytes, nullptr, list.data());
  }

  static Moves moves_of(const LoadedModule& code, const Launch& launch) {
    std::vector<Move> moves;
    for (const bundle::Segment& segment : launch.segments) {
      if (segment.symbol.empty()) continue;
      std::optional<LoadedModule::Variable> variable = code.variable(segment.symbol);
      if (variable) moves.push_back({segment.address, segment.size, variable->address});
    }
    return Moves(std::move(moves));
  }

  // Between where variables were recorded and where the loader placed them. One that the code does not have it does not
  // use.
  void copy_variables(const LoadedModule& code, const Launch& launch, bool to_code) {
    for (const bundle::Segment& segment : launch.segments) {
      if (segment.symbol.empty()) continue;
      std::optional<LoadedModule::Variable> variable = code.variable(segment.symbol);
      if (!variable) continue;
      memory_.check_mapped(segment.address, segment.size);
      if (variable->size != segment.size) {
        throw Error::of("the variable '{}' has {} bytes in the code of kernel '{}' and {} in the recording",
                        segment.symbol, variable->size, code.kernel(), segment.size);
      }
      const uint64_t to = to_code ? variable->address : segment.address;
      copy(to, to_code ? segment.address : variable->address, segment.size, "copying a variable");
    }
  }

  // Addresses of variables that lie in memory, from the recording's to where the loader placed the variables, or back.
  void translate(const Moves& moves, bool there) {
    if (moves.all().empty()) return;
    constexpr uint64_t kPiece = uint64_t{16} << 20;
    std::vector<std::byte> before, after;
    for (auto [begin, end] : memory_.ranges()) {
      for (uint64_t at = begin; at < end; at += before.size()) {
        before.resize(std::min(kPiece, end - at));
        copy(reinterpret_cast<uint64_t>(before.data()), at, before.size(), "translating addresses");
        after = before;
        there ? moves.there(after) : moves.back(after);
        if (after == before) continue;
        copy(at, reinterpret_cast<uint64_t>(after.data()), after.size(), "translating addresses");
      }
    }
  }

  RecordedMemory memory_;
  KernelTimer timer_;
  SecondCache cache_;
};

}  // namespace
}  // namespace hip

std::unique_ptr<Device> make_hip_device() { return std::make_unique<hip::HipDevice>(); }

}  // namespace mneme::device
