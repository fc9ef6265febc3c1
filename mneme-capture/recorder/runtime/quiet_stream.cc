// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/runtime/quiet_stream.h"

#include "recorder/runtime/next.h"

namespace mneme::record {
namespace {

// Both vendors'.
constexpr int kRelaxed = 2;           // of a thread that notes down a graph: other streams do as they like
constexpr unsigned kNonBlocking = 1;  // does not wait for the default stream

}  // namespace

QuietStream::QuietStream(const Devices& devices, int device)
    : devices_(devices), there_(devices, device), mode_(kRelaxed) {
  devices_.succeeds(devices_.exchange_capture_mode(&mode_));
  if (!devices_.succeeds(devices_.create_stream(&stream_, kNonBlocking))) stream_ = nullptr;
}

QuietStream::~QuietStream() {
  if (stream_) devices_.succeeds(devices_.destroy_stream(stream_));
  devices_.succeeds(devices_.exchange_capture_mode(&mode_));
}

bool QuietStream::finish(int status) {
  return devices_.succeeds(status) && devices_.succeeds(devices_.synchronize_stream(stream_));
}

bool QuietStream::zero(uint64_t address, uint64_t size) {
  if (!stream_) return false;
  return finish(devices_.set_async(reinterpret_cast<void*>(address), 0, size, stream_));
}

bool QuietStream::write(uint64_t address, std::span<const std::byte> bytes) {
  if (!stream_) return false;
  return finish(
      devices_.copy_async(reinterpret_cast<void*>(address), bytes.data(), bytes.size(), kHostToDevice, stream_));
}

bool QuietStream::read(uint64_t address, std::span<std::byte> bytes) {
  if (!stream_) return false;
  return finish(
      devices_.copy_async(bytes.data(), reinterpret_cast<const void*>(address), bytes.size(), kDeviceToHost, stream_));
}

}  // namespace mneme::record
