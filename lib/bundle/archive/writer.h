// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>
#include <string>

#include "base/digest.h"

struct archive;

namespace mneme::bundle {

// A pax tar on a descriptor: regular files only, all of the same owner, mode and time, so that the same members give
// the same bytes. A member that is complete has been written to the descriptor when the call returns; so has what was
// appended of one that is not, but for its last 64 KiB. Throws Error when writing fails, Reported where the reader at a
// pipe's other end is gone: it knows why.
class ArchiveWriter {
 public:
  ArchiveWriter(int fd, std::string name);  // borrows `fd`
  ~ArchiveWriter();                         // without finish(): no end mark is written
  ArchiveWriter(const ArchiveWriter&) = delete;
  ArchiveWriter& operator=(const ArchiveWriter&) = delete;

  void begin(const std::string& name, uint64_t size);
  void append(Bytes piece);
  // Bytes that the member begun last still lacks.
  uint64_t missing() const { return missing_; }
  void finish();
  // Whether finish() is still to come and would make a whole archive of it.
  bool can_be_ended() const { return !finished_ && missing_ == 0 && write_errno_ == 0; }
  int fd() const { return fd_; }

 private:
  static ssize_t write_some(archive*, void* self, const void* bytes, size_t size);
  ssize_t write_at_once(const void* bytes, size_t size);
  void write_gathered();
  void finish_member();
  void check(int status);

  archive* archive_;
  std::string gathered_;  // still to be written: header, small contents and padding are one write
  int fd_;
  std::string name_;
  int write_errno_ = 0;
  uint64_t missing_ = 0;
  bool finished_ = false;
  bool discard_ = false;  // what libarchive still writes goes nowhere
};

// Lets a pipe hold more, which saves switches between the processes at its ends. No pipe: nothing happens.
void widen_pipe(int fd);

}  // namespace mneme::bundle
