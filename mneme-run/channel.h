// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How mneme-run and its worker, the process that touches the device, talk: messages over a socket.
#pragma once
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace mneme::run {

enum class MessageType : uint32_t {
  // To the worker.
  kInstance = 1,  // kernel json, instance json, prologue state, epilogue state
  kVariant = 2,   // variant json, code
  kBlocks = 3,    // the answer to kNeed: the slot (4 bytes), which holds the blocks, one after another
  kBaseline = 4,  // variant json, code: the recorded code, for a baseline; its result is a run with nothing else
  kVarying = 5,   // instead, when it is known: run json, the blocks that it cites, one after another; no result
  kDevice = 6,    // the first: device, settings, ranges of recorded device memory; answered by kHere or kNoDevice
  // From the worker.
  kNeed = 16,      // slot to be filled (4 bytes), digests, 16 bytes each
  kReady = 17,     // the prologue is in place
  kForeign = 18,   // the kernel's own code begins to run: limit its time
  kOwn = 19,       // it ended
  kObserved = 20,  // address (8 bytes), digest expected, bytes of a block that differs; or of a baseline's
  kResult = 21,    // run json
  kRefused = 22,   // a sentence: the run failed, and this is the last message
  kNoDevice = 23,  // a sentence: the device is missing
  kFailed = 25,    // a sentence: the run failed; the next message is to be kInstance
  kHere = 24,      // name of the device; whether it takes one instance after another (1 byte)
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
  using Deadline = std::optional<Clock::time_point>;
  struct TimedOut {};  // thrown when the deadline passes

  Channel() = default;
  Channel(Fd fd, uint64_t limit) : fd_(std::move(fd)), limit_(limit) {}

  bool send(MessageType type, std::span<const std::string_view> fields, Deadline deadline = std::nullopt);
  bool send(MessageType type, std::initializer_list<std::string_view> fields, Deadline deadline = std::nullopt) {
    return send(type, std::span(fields.begin(), fields.size()), deadline);
  }
  std::optional<Message> receive(Deadline deadline = std::nullopt);
  bool has_message() const;  // receive() would not wait for one to begin

 private:
  bool wait(short events, const Deadline& deadline);
  bool write(std::string_view bytes, const Deadline& deadline);
  bool read(char* out, size_t size, const Deadline& deadline);

  Fd fd_;
  uint64_t limit_ = 0;
};

}  // namespace mneme::run
