// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The check "init": values that come from bytes that nobody wrote (codegen/host/checks/initialisation.h), and of the
// check "sync" those that come from a lane that does not take part.
//
// Code follows the values itself, and comes here with a read of unwritten bytes, which gets a number, and with what is
// done with a value that has one. A read is reported once, with the first use that makes it a finding.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "codegen/host/abi.h"
#include "device/host/launch.h"

namespace mneme::device::host {

// Nothing of it is followed: for code with checks that runs without them.
const codegen::host::WrittenMemory& unfollowed_memory();

class Unwritten {
 public:
  explicit Unwritten(const RunOptions& options) : options_(options) {}

  // A block begins, with shared memory that nobody has written. Gives its BlockContext::written.
  const codegen::host::WrittenMemory* begin(const codegen::host::BlockContext& context);

  // Members of Services (codegen/host/abi.h).
  uint32_t read(const codegen::host::BlockContext& context, uint32_t thread, uint64_t address, uint64_t size,
                const codegen::host::Site& site);
  void use(const codegen::host::BlockContext& context, uint32_t number, codegen::host::UseOfUnwritten how,
           uint64_t address, const codegen::host::Site& site);
  void keep(const codegen::host::BlockContext& context, uint32_t number, uint64_t address, uint64_t size);
  void write(const codegen::host::BlockContext& context, uint64_t to, uint64_t from, uint64_t size);

 private:
  // The most reads of one place that are kept apart. A further read replaces the last of them.
  static constexpr uint32_t kMostOfPlace = 16;
  static constexpr size_t kMostKept = 1 << 20;

  struct Read {
    const codegen::host::Site* site = nullptr;
    uint64_t address = 0, size = 0;
    uint32_t thread = 0;
  };
  struct Block {
    codegen::host::WrittenMemory memory = {};
    std::vector<uint8_t> shadow;
    std::unordered_map<uint64_t, uint32_t> kept;  // numbers of reads, by where values of theirs are stored
  };

  Block& block_of(const codegen::host::BlockContext& context) { return *blocks_.at(&context); }
  uint32_t kept_at(const codegen::host::BlockContext& context, uint64_t address, uint64_t size);
  std::unordered_map<uint64_t, uint32_t>& kept_for(const codegen::host::BlockContext& context, uint64_t address);
  static uint8_t* shadow_of(const codegen::host::WrittenMemory& memory, uint64_t address, uint64_t size);

  const RunOptions& options_;
  std::unordered_map<const codegen::host::BlockContext*, std::unique_ptr<Block>> blocks_;
  std::unordered_map<uint64_t, uint32_t> kept_;  // likewise, outside of shared memory
  std::vector<Read> reads_;                      // by number - 1
  std::unordered_map<const codegen::host::Site*, std::vector<uint32_t>> of_place_;
};

}  // namespace mneme::device::host
