// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses in 32 bits each, as shadow memory has them: a record, and a thread of the record's block. Work-items that do
// the same at the same time share a record.
#pragma once
#include <cstdint>
#include <vector>

#include "codegen/host/abi.h"

namespace mneme::device::host {

// Whose: 0 is nobody's.
enum class Tag : uint32_t { kNone = 0 };

struct Record {
  enum Kind : uint8_t {
    kOne,    // the tag's thread
    kWave,   // it and `second`, and maybe others of their wave
    kBlock,  // it and `second`, of another wave, and maybe others of the block
    kSet     // `first`, which is none, and the accesses of `rest`
  };
  uint32_t block = 0;
  uint32_t grid_epoch = 0;  // barriers of the grid before
  uint32_t epoch = 0;       // barriers of the block before
  uint32_t count = 0;       // of the tag's thread: its own synchronisation so far
  uint32_t second_count = 0;
  uint16_t second = 0;  // thread
  Kind kind = kOne;
  const codegen::host::Site* site = nullptr;
  Tag first = Tag::kNone, rest = Tag::kNone;  // kSet
  uint32_t length = 1;                        // kSet: accesses
  bool writes_atomically = false;             // one of them does
  bool operator==(const Record&) const = default;
};

// Whether an access is one of those that never race with each other: atomic operations, and volatile accesses, by which
// code from before there were others waits for flags.
inline bool is_strong(const codegen::host::Site& site) {
  return site.flags & (codegen::host::kTrackedAtomic | codegen::host::kTrackedVolatile);
}
inline bool writes(const codegen::host::Site& site) {
  return (site.flags & codegen::host::kTrackedAccess) != codegen::host::kReads;
}

class History {
 public:
  static constexpr uint32_t kThreadBits = 10;
  static constexpr size_t kMostRecords = (size_t{1} << (32 - kThreadBits)) - 1;

  History();
  static uint32_t thread_of(Tag tag) { return static_cast<uint32_t>(tag) & ((1u << kThreadBits) - 1); }
  const Record& of(Tag tag) const { return records_[static_cast<uint32_t>(tag) >> kThreadBits]; }

  // The record, known or new.
  Tag tag(const Record& record, uint32_t thread);
  static Tag with_thread(Tag tag, uint32_t thread) {
    return static_cast<Tag>((static_cast<uint32_t>(tag) & ~((1u << kThreadBits) - 1)) | thread);
  }
  // No more fit: to be cleared, with all tags there are.
  bool is_full() const { return records_.size() >= kMostRecords - 8; }
  void clear();

 private:
  static uint64_t hash(const Record& record);
  void grow();

  std::vector<Record> records_;
  std::vector<uint32_t> table_;  // of records' numbers, by hash; 0: free
};

}  // namespace mneme::device::host
