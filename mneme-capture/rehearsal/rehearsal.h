// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A launch on the host device is tried, before it is made, in a process that has nothing but what is recorded: whether
// the recording holds all that the kernel reaches shows there, whatever its pointers are made of.
#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "bundle/format.h"
#include "memory_view.h"
#include "recorder/link/protocol.h"
#include "snapshot.h"

namespace mneme::capture {

// Whether what the kernel accesses may be elsewhere than its arguments and variables say: it follows pointers out of
// memory, or addresses of which its IR does not tell what they are made of.
bool reaches_further(const bundle::KernelInfo& kernel);

struct Rehearsal {
  // The kernel as the application carries it.
  const std::string& kernel_json;
  const std::string& bitcode;
  const bundle::InstanceInfo& instance;
  const Snapshot& memory;
  const std::vector<SharedChunk>& shared;  // which hold what the snapshot does, where it is
  // The process's memory that is not recorded, by address.
  const std::vector<record::MemoryRange>& ordinary;
  const std::vector<record::OutsideMemory>& outside;
};

struct Rehearsed {
  // False: it is not known how the launch ends, since it took too long, say, or used an address that the application
  // has no memory at either.
  bool known = false;
  // It does not end unless others write memory that it reads.
  bool waits = false;
  // Known, and not empty: the launch needs memory that is not recorded. A sentence.
  std::string missing;
};

// Takes `patience` at most. Never throws but for want of memory.
Rehearsed rehearse(const Rehearsal& launch, std::chrono::milliseconds patience);

}  // namespace mneme::capture
