// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/checks/launch_checks.h"

#include "device/host/checks/numbers.h"
#include "device/host/checks/races.h"
#include "device/host/checks/synchronisation.h"
#include "device/host/checks/unwritten.h"
#include "device/host/launch.h"

namespace mneme::device::host {

using codegen::host::BlockContext;
using codegen::host::Site;

std::unique_ptr<LaunchChecks> LaunchChecks::make(const codegen::host::CodeObject& code, const RunOptions& options) {
  if (code.checks == 0 || !options.findings) return nullptr;
  return std::make_unique<LaunchChecks>(code, options);
}

LaunchChecks::LaunchChecks(const codegen::host::CodeObject& code, const RunOptions& options)
    : findings_(*options.findings) {
  if (code.checks & codegen::host::kCheckRaces) races_ = std::make_unique<Races>(options, code);
  if (code.checks & codegen::host::kCheckSync) {
    synchronisation_ = std::make_unique<Synchronisation>(options, code.wave_size);
  }
  if (code.checks & (codegen::host::kCheckInit | codegen::host::kCheckSync)) {
    unwritten_ = std::make_unique<Unwritten>(options);
  }
}

LaunchChecks::~LaunchChecks() = default;

void LaunchChecks::track(const BlockContext& context, uint32_t thread, const void* address, uint64_t size,
                         uint64_t value, const Site& site) {
  if (races_) races_->access(context, thread, reinterpret_cast<uint64_t>(address), size, value, site);
  if (synchronisation_) synchronisation_->access(context, thread, reinterpret_cast<uint64_t>(address), site);
}

void LaunchChecks::track_sync(const BlockContext& context, uint32_t thread, uint32_t kind, const Site& site) {
  const auto what = static_cast<codegen::host::TrackedSync>(kind);
  if (races_ && what < codegen::host::kTrackedArrival) races_->synchronise(context, thread, what);
  if (synchronisation_) synchronisation_->synchronise(context, thread, what, site);
}

void LaunchChecks::track_mask(const BlockContext& context, uint32_t thread, uint64_t mask, uint64_t here,
                              const Site& site) {
  if (synchronisation_) synchronisation_->mask(context, thread, mask, here, site);
}

void LaunchChecks::begin(BlockContext& context) {
  if (synchronisation_) synchronisation_->begin(context);
  if (unwritten_) context.written = unwritten_->begin(context);
}

bool LaunchChecks::missed_barrier(const BlockContext& context, std::span<const uint32_t> points) {
  if (synchronisation_) synchronisation_->missed(context, points);
  return synchronisation_ != nullptr;
}

void LaunchChecks::found_number(const BlockContext& context, uint32_t thread, const char* operation, double result,
                                std::span<const double> operands, const Site& site) {
  note_number(findings_, context, thread, operation, result, operands, site);
}

void LaunchChecks::forget(const void* address, uint64_t size) {
  if (races_) races_->forget(reinterpret_cast<uint64_t>(address), size);
}

}  // namespace mneme::device::host
