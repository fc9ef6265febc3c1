// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <memory>

#include "device/device.h"
#include "target.h"

namespace mneme::restore {

// Restores each state onto a device, at its addresses, reads it back and compares.
class CheckTarget : public Target {
 public:
  using MakeDevice = std::function<std::unique_ptr<device::Device>()>;

  explicit CheckTarget(MakeDevice make) : make_(std::move(make)) {}

  void take(const bundle::InstanceMember& instance, const bundle::Reader& reader) override;

  bool all_equal() const { return all_equal_; }
  uint64_t states() const { return states_; }
  uint64_t bytes() const { return bytes_; }

 private:
  MakeDevice make_;
  bool all_equal_ = true;
  uint64_t states_ = 0, bytes_ = 0;
};

}  // namespace mneme::restore
