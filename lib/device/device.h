// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bundle/format.h"
#include "device/image.h"

namespace mneme::device {

// A kernel's code, loaded. Destroying it unloads it; before the Device that made it.
class Code {
 public:
  virtual ~Code() = default;
};

struct Launch {
  bundle::Dim3 grid;
  bundle::Dim3 block;
  uint32_t shared_bytes = 0;
  std::string arguments;                                       // bytes
  std::vector<bundle::Segment> segments;                       // globals among them are found by symbol
  bool poison_shared = false;                                  // shared memory does not begin as zeros
  std::function<void(const std::string& sentence)> warn = {};  // about the kernel; from several threads
};

// Where kernels run. One process uses one device; addresses are the recording's. All throw Error;
// a fault of the kernel itself may also end the process, which is why replays run in a child.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;   // "host", "cuda", "hip"
  virtual std::string clock() const = 0;  // what execute() measures with: "steady", …
  // Whether kernels run as part of this process and can do what it can.
  virtual bool runs_in_this_process() const = 0;

  // Backs the addresses [address, address + size), both multiples of kBlockSize, with zeroed memory.
  // Throws Error naming the range when something else is there already.
  virtual void map(uint64_t address, uint64_t size) = 0;
  virtual void write(uint64_t address, Bytes bytes) = 0;
  virtual void read(uint64_t address, std::span<std::byte> out) = 0;

  // Of what is mapped in these ranges, by address; its contents are not defined yet. nullptr: the device has none, or
  // no room for one. To be destroyed before the device.
  virtual std::unique_ptr<Image> make_image(std::span<const BlockRange>) { return nullptr; }

  virtual std::unique_ptr<Code> load(const bundle::KernelInfo& kernel, Bytes code) = 0;
  // Runs one launch to its end; nanoseconds of the kernel alone.
  virtual uint64_t execute(Code& code, const Launch& launch) = 0;
};

std::unique_ptr<Device> make_host_device();
std::unique_ptr<Device> make_cuda_device();  // NVIDIA's first
// By name; "auto" takes the first GPU found, else the host. Throws Error (Exit::kMissing).
std::unique_ptr<Device> make_device(const std::string& name);

}  // namespace mneme::device
