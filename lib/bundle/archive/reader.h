// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"

struct archive;

namespace mneme::bundle {

// The stream ended before the archive did. Not an Error: what came before it counts.
struct Truncation {
  std::string where;  // "in memory/3.pack", "after bundle.json"
};

// Bytes of a member, where they were read to: they stay as long as `owner` does.
struct Piece {
  Bytes bytes;
  std::shared_ptr<const void> owner;
};

// A tar from a descriptor, in one pass, with no copy of what was read. Distrusts it: regular files and folders (which
// are left out) only, plain names. Throws Error on anything else, Truncation where the stream ends early.
class ArchiveReader {
 public:
  struct Member {
    std::string name;
    uint64_t size = 0;  // as the archive has it; so many bytes need not come
  };

  ArchiveReader(int fd, std::string name);  // borrows `fd`
  ~ArchiveReader();
  ArchiveReader(const ArchiveReader&) = delete;
  ArchiveReader& operator=(const ArchiveReader&) = delete;

  // nullopt at the archive's end. What was left of the member before is skipped.
  std::optional<Member> next();
  // The next bytes of the member in hand, nullopt after its last.
  std::optional<Piece> piece();
  uint64_t bytes_read() const { return total_; }

 private:
  struct Chunk;
  static ssize_t read_some(archive*, void* self, const void** bytes);
  std::shared_ptr<Chunk> room();
  [[noreturn]] void fail(const std::string& doing);
  bool is_about_owner() const;
  void finish();

  archive* archive_;
  int fd_;
  std::string name_;
  std::vector<std::shared_ptr<Chunk>> chunks_;
  std::shared_ptr<Chunk> current_;
  std::exception_ptr failure_;  // of read_some, which libarchive calls
  uint64_t total_ = 0;
  bool ended_ = false;  // the descriptor's end was reached
  bool starts_as_tar_ = false;
  std::string last_;  // the member in hand
  bool last_complete_ = true;
  uint64_t position_ = 0, size_ = 0;  // in it, of it
};

}  // namespace mneme::bundle
