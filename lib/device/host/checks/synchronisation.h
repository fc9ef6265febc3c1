// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The check "sync": barriers that some work-items miss, masks of CUDA's collectives that name lanes that do not come,
// or not the caller, and barriers of AMD's with no fence for the shared memory that was written before.
#pragma once
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "codegen/host/abi.h"
#include "device/host/launch.h"

namespace mneme::device::host {

class Synchronisation {
 public:
  Synchronisation(const RunOptions& options, uint32_t wave_size) : options_(options), wave_size_(wave_size) {}

  void begin(const codegen::host::BlockContext& context);
  void access(const codegen::host::BlockContext& context, uint32_t thread, uint64_t address,
              const codegen::host::Site& site);
  void synchronise(const codegen::host::BlockContext& context, uint32_t thread, codegen::host::TrackedSync kind,
                   const codegen::host::Site& site);
  void mask(const codegen::host::BlockContext& context, uint32_t thread, uint64_t mask, uint64_t here,
            const codegen::host::Site& site);
  // A barrier was released; `points` as Services::diverged has them.
  void missed(const codegen::host::BlockContext& context, std::span<const uint32_t> points);

 private:
  struct Item {
    const codegen::host::Site* barrier = nullptr;  // that it came to last
    const codegen::host::Site* written = nullptr;  // a store to shared memory since the last fence
    bool ended = false;
  };
  using Items = std::vector<Item>;

  Items& items_of(const codegen::host::BlockContext& context);
  void report(const codegen::host::BlockContext& context, const char* kind, std::string what,
              const codegen::host::Site& site, const codegen::host::Site* other = nullptr, bool lesser = false);

  const RunOptions& options_;
  uint32_t wave_size_;
  std::unordered_map<const codegen::host::BlockContext*, Items> blocks_;
};

}  // namespace mneme::device::host
