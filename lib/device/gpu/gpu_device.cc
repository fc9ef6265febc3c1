// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/gpu/gpu_device.h"

#include "base/error.h"
#include "device/gpu/gpu_image.h"
#include "device/gpu/kernel_timer.h"
#include "device/gpu/l2_flush.h"
#include "device/gpu/loaded_code.h"
#include "device/gpu/recorded_memory.h"
#include "device/gpu/staging.h"
#include "device/gpu/translation.h"

namespace mneme::device::gpu {
namespace {

class GpuDevice final : public Device {
 public:
  GpuDevice(const std::string& name, std::unique_ptr<Gpu> gpu) : name_(name), owned_(std::move(gpu)) {}

  std::string name() const override { return name_; }
  std::string clock() const override { return gpu_.timer().clock(); }
  bool runs_in_this_process() const override { return false; }

  void expect(std::span<const BlockRange> ranges) override { memory_.expect(ranges); }
  void map(uint64_t address, uint64_t size) override { memory_.map(address, size); }

  void write(uint64_t address, Bytes bytes) override {
    memory_.check_mapped(address, bytes.size());
    gpu_.write(address, bytes, "writing the recorded memory");
  }

  void read(uint64_t address, std::span<std::byte> out) override {
    memory_.check_mapped(address, out.size());
    gpu_.read(address, out, "reading memory back");
  }

  void unmap() override {
    gpu_.wait("waiting for the GPU");  // nothing that is still to be done may meet other memory
    gpu_.forget_launches();
    memory_.unmap();
  }

  void begin_write(uint64_t address, Bytes bytes) override {
    memory_.check_mapped(address, bytes.size());
    gpu_.begin_write(address, bytes, "writing the recorded memory");
  }
  void mark(uint32_t number) override { marks_.set(number); }
  void wait_for(uint32_t number) override { marks_.wait_for(number); }
  void pin(std::span<std::byte> memory) override { pinned_.add(memory); }

  std::unique_ptr<Image> make_image(std::span<const BlockRange> ranges) override {
    return gpu::make_image(gpu_, ranges);
  }

  std::unique_ptr<Code> load(const bundle::KernelInfo& kernel, Bytes code) override { return gpu_.load(kernel, code); }

  uint64_t execute(Code& code, const Launch& launch) override {
    auto& loaded = static_cast<LoadedCode&>(code);
    const std::string launching = "launching kernel '" + loaded.kernel() + "'";
    const std::string running = "running kernel '" + loaded.kernel() + "'";
    if (launch.poison_shared) throw Error("--poison is for the host device: a GPU's shared memory is its own");
    gpu_.admit(loaded, launch);
    give_stacks(launch);
    const Moves moves = loaded.moves(launch);
    translation_.there(moves);
    gpu_.warn(launch);
    loaded.copy_variables(gpu_, launch, true);
    std::string arguments = launch.arguments;
    moves.there(std::as_writable_bytes(std::span(arguments)));
    gpu_.prepare(loaded, launch, arguments);
    std::vector<void*> values = loaded.values_in(arguments);
    if (launch.cold) cache_.empty();
    if (launch.timed) {
      gpu_.wait("waiting for the GPU");
      gpu_.timer().start();
    }
    gpu_.start(loaded, launch, arguments, values, launching.c_str());
    if (launch.timed) gpu_.timer().stop(running.c_str());
    gpu_.wait(running.c_str());
    const uint64_t taken = launch.timed ? gpu_.timer().taken(launch) : 0;
    gpu_.finish(launch);
    loaded.copy_variables(gpu_, launch, false);
    translation_.back(moves);
    return taken;
  }

  uint64_t cache_size() const override { return gpu_.cache_size(); }
  // It does not where a kernel faulted: all calls fail from then on.
  bool still_works() override { return gpu_.works(); }

 private:
  // Gives threads what the application had, since how deep kernels call is often known to it alone, and never less than
  // there is: it stays for later launches.
  void give_stacks(const Launch& launch) {
    const uint64_t wanted = launch.stack_bytes;
    if (wanted == 0) return;
    std::optional<size_t> there = gpu_.stack_size();
    if (there && *there < wanted) {
      const std::string doing =
          fmt::format("giving each thread the {} bytes of stack that the application asked for", wanted);
      gpu_.give_stacks(wanted, doing.c_str());
      there = gpu_.stack_size();
    }
    if (!launch.warn || there >= wanted) return;
    launch.warn(
        there ? fmt::format("threads have {} bytes of stack here, and the application asked for {}: kernels that call "
                            "deep may fault",
                            *there, wanted)
              : fmt::format(
                    "the application asked for {} bytes of stack of each thread, and this runtime cannot be asked",
                    wanted));
  }

  std::string name_;
  std::unique_ptr<Gpu> owned_;
  Gpu& gpu_ = *owned_;
  RecordedMemory& memory_ = gpu_.memory();
  Translation translation_{gpu_, memory_.ranges()};
  L2Flush cache_{gpu_};
  Marks marks_{gpu_};
  PinnedMemory pinned_{gpu_};
};

}  // namespace

std::unique_ptr<Device> make_gpu_device(const std::string& name, std::unique_ptr<Gpu> gpu) {
  return std::make_unique<GpuDevice>(name, std::move(gpu));
}

}  // namespace mneme::device::gpu
