// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "base/file.h"
#include "recorder/link/protocol.h"

namespace mneme::capture {

// Has the recorder of one process bring what only that process reaches, through memory that the two share: while some
// of it is taken, the recorder fills the rest. Only while the recorder waits for an answer. Not thread-safe.
class Fetching {
 public:
  static constexpr uint64_t kRoom = 16 << 20;  // bytes that are fetched at once
  static constexpr size_t kSlots = 4;          // times as much is shared

  explicit Fetching(int socket) : socket_(socket) {}  // borrowed
  ~Fetching();
  Fetching(const Fetching&) = delete;
  Fetching& operator=(const Fetching&) = delete;

  // Makes the memory ready in the background: much is going to be fetched.
  void prepare();

  // The same, and the recorder's part of it, which waits for an answer. Throws as fetch() does.
  void get_ready();

  // Fetches load after load that `next` says, of kRoom bytes at most, until one is empty. Calls `take` for each in
  // turn, with its pieces' bytes, one behind the other, which stay during the call; `next` is some loads ahead. Throws
  // ProcessGone when the process ends or records no more, and what these two do.
  using Load = std::vector<record::Piece>;
  using Next = std::function<Load()>;
  using Take = std::function<void(const std::byte* bytes)>;
  void fetch(const Next& next, const Take& take);

  // What else the recorder said meanwhile, in its order: other threads of the application went on.
  std::vector<record::Message> heard() { return std::exchange(heard_, {}); }

 private:
  void make_memory();
  void ask(size_t slot, const Load& load);
  void await(size_t slot);

  const int socket_;
  std::byte* memory_ = nullptr;
  Fd unsent_;  // the memory's descriptor, until the recorder has it
  std::vector<record::Message> heard_;
  std::thread preparing_;
};

}  // namespace mneme::capture
