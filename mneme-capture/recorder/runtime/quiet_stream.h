// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "recorder/runtime/devices.h"

namespace mneme::record {

// A stream of the recorder's own on a device: what it reads and writes waits for nothing of the application's, and does
// not spoil a graph that a thread notes down meanwhile. In one thread, for as long as it lives.
class QuietStream {
 public:
  QuietStream(const Devices& devices, int device);
  ~QuietStream();
  QuietStream(const QuietStream&) = delete;
  QuietStream& operator=(const QuietStream&) = delete;

  // Of device memory. False: the runtime refused.
  bool zero(uint64_t address, uint64_t size);
  bool write(uint64_t address, std::span<const std::byte> bytes);
  bool read(uint64_t address, std::span<std::byte> bytes);

 private:
  bool finish(int status);

  const Devices& devices_;
  Entered there_;
  int mode_;
  void* stream_ = nullptr;
};

}  // namespace mneme::record
