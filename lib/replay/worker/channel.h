// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How mneme-run and its worker, the process that touches the device, talk: messages over a socket.
#pragma once
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/frames.h"

namespace mneme::run {

enum class MessageType : uint32_t {
  // To the worker.
  // kernel json, instance json, prologue state, epilogue state, how many of the prologue's blocks (4 bytes), zeros
  // excepted, the first slots hold: all or none
  kInstance = 1,
  kVariant = 2,   // variant json, code
  kBlocks = 3,    // the answer to kNeed: the slot (4 bytes), which holds the blocks, one after another
  kBaseline = 4,  // variant json, code: the recorded code, for a baseline; its result is a run with nothing else
  kVarying = 5,   // instead, when it is known: run json, the blocks that it cites, one after another; no result
  kDevice = 6,    // the first: device, settings, ranges of recorded device memory; answered by kHere or kNoDevice
  // To a worker that forks (fork_server.h), which serves none of the above but kDevice itself.
  kFork = 7,      // the instance's ranges; with a descriptor, the end of a connection that its child is to have
  kEnd = 8,       // the child is to end
  kHowEnded = 9,  // the child has ended, or cut its connection; answered by kEnded
  // From the worker.
  kNeed = 16,      // slot to be filled (4 bytes), digests, 16 bytes each
  kReady = 17,     // the prologue is in place
  kObserved = 20,  // address (8 bytes), digest expected, bytes of a block that differs; or of a baseline's
  kResult = 21,    // run json
  kRefused = 22,   // a sentence: the run failed, and this is the last message
  kNoDevice = 23,  // a sentence: the device is missing
  kFailed = 25,    // a sentence: the run failed; the next message is to be kInstance
  kHere = 24,      // name of the device; whether the worker forks (1 byte)
  kEnded = 26,     // what waitpid() gave of the child (4 bytes); nothing: it had not ended
};

struct Message {
  MessageType type{};
  std::vector<std::string> fields;
};

// A value's bytes as a field.
std::string_view raw(const auto& value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

// What a worker may send at most: it runs a stranger's code, which may write anything to the socket.
inline constexpr uint64_t kMaxFromWorker = 80u << 20;
inline constexpr uint64_t kMaxToWorker = uint64_t{5} << 30;

// One end of a connection. A peer that is gone: receive() gives nothing, send() false. Throws Error on a message
// that is malformed or larger than the limit.
class Channel {
 public:
  using Clock = std::chrono::steady_clock;

  Channel() : Channel(Fd(), 0) {}
  // `takes`: what the peer may send. Descriptors from a peer that is not trusted are not taken.
  enum class Takes { kMessages, kDescriptors };
  Channel(Fd fd, uint64_t limit, Takes takes = Takes::kMessages)
      : fd_(std::move(fd)), reader_({kPeer, limit, takes == Takes::kDescriptors, kAhead}) {}
  explicit operator bool() const { return static_cast<bool>(fd_); }

  // `descriptor`: see base/frames.h.
  bool send(MessageType type, std::span<const std::string_view> fields, Deadline deadline = std::nullopt,
            int descriptor = -1) {
    return send_frame(fd_.get(), static_cast<uint32_t>(type), fields,
                      {.deadline = deadline, .descriptor = descriptor, .peer = kPeer});
  }
  bool send(MessageType type, std::initializer_list<std::string_view> fields, Deadline deadline = std::nullopt) {
    return send(type, std::span(fields.begin(), fields.size()), deadline);
  }
  std::optional<Message> receive(Deadline deadline = std::nullopt);
  // Whether receive() would not wait for a message to begin; waits for that until the deadline, if there is one.
  bool has_message(Deadline deadline = std::nullopt) const;
  // That came with the last message, if it is one that has one.
  Fd take_descriptor() { return reader_.take_descriptor(); }

 private:
  static constexpr const char* kPeer = "the worker";
  static constexpr size_t kAhead = 4096;

  Fd fd_;
  FrameReader reader_;
};

}  // namespace mneme::run
