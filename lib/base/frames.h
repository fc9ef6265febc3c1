// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages between processes of one machine, over a connected socket of stream type. A frame is { u32 type,
// u32 fields, u64 size }; for each field its size (u64); and `size` bytes, which are all fields. Of no fields, the
// bytes are one. A descriptor may come with a frame. What types there are, and what is in them, is the matter of each
// pair of processes.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace mneme {

struct Frame {
  uint32_t type = 0;
  std::vector<std::string> fields;
};

using Deadline = std::optional<std::chrono::steady_clock::time_point>;
struct TimedOut {};  // thrown when a deadline passes

struct Sending {
  bool as_one = false;            // the pieces are one field's
  Deadline deadline = {};         // none: as long as it takes
  int descriptor = -1;            // for the peer, which has one of its own then; -1: none
  const char* peer = "the peer";  // as messages call it
};

// False, with errno, when it cannot be sent: mostly, the peer is gone. Never raises SIGPIPE.
bool send_frame(int socket, uint32_t type, std::span<const std::string_view> pieces, const Sending& how = {});

struct Receiving {
  const char* peer = "the peer";   // as messages call it
  uint64_t limit = 0;              // bytes of a frame
  bool takes_descriptors = false;  // of a peer that is trusted
  size_t ahead = 0;                // bytes that are read at once, of whatever frames
};

class FrameReader {
 public:
  explicit FrameReader(const Receiving& how) : how_(how) {}

  // nullopt: the peer has ended, perhaps in the middle of a frame. Throws Error on a frame that is malformed or larger
  // than the limit.
  std::optional<Frame> receive(int socket, const Deadline& deadline = std::nullopt);
  bool has_some() const { return taken_ < ahead_.size(); }  // of the next frame
  // That came with the last frame, if it is one that has one.
  Fd take_descriptor() { return std::move(descriptor_); }

 private:
  bool read(int socket, char* out, size_t size, const Deadline& deadline);
  ssize_t take(int socket, char* out, size_t size, bool waits);

  Receiving how_;
  std::string ahead_;  // read already, with what came before
  size_t taken_ = 0;   // of it
  Fd descriptor_;      // that came, of the last frame or the next
};

}  // namespace mneme
