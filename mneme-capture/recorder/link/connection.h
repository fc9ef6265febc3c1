// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <deque>
#include <memory>
#include <mutex>

#include "base/file.h"
#include "base/uncancelled.h"
#include "recorder/link/counters.h"
#include "recorder/link/kept_descriptor.h"
#include "recorder/link/protocol.h"

namespace mneme::record {

// The application's end of the socket. Safe to use from several threads: messages do not mix, and one question is
// asked at a time. Everything throws Error once the parent is gone.
class Connection {
 public:
  // Connects to the capture that started this process; nullptr where there is none any more, or it does not want this
  // process. Throws Error when it is there and out of reach.
  static std::unique_ptr<Connection> open(bool gpu = false);
  // One with nobody at its other end, for a process that is not recorded.
  static std::unique_ptr<Connection> closed();
  // The same in three steps, of which only the last waits for the capture. nullptr: there is none any more.
  static std::unique_ptr<Connection> connect();
  void greet(bool gpu, int32_t parent = 0);  // by which process it was connected, if not by this one
  bool enter();                              // false: the capture does not want this process

  bool is_closed() const { return socket() < 0; }

  const Welcome& welcome() const { return welcome_; }
  Counters& counters() { return *counters_; }

  template <class M>
  void tell(const M& message, int descriptor = -1) {
    Uncancelled uncancelled;
    std::lock_guard lock(sending_);
    send_message(socket_.get(), message, descriptor);
  }

  template <class Reply, class M>
  Reply ask(const M& message) {
    return ask<Reply>(message, [](const Fetch&, Fd) { throw Error("mneme-capture wants memory too early"); }, [] {});
  }
  // `fetch` begins what the parent asks for before it replies, and `finish` waits until the oldest that has begun is
  // done: one begins before the one before it is done, so that the device has something to do all the time.
  template <class Reply, class M, class Begin, class Finish>
  Reply ask(const M& message, const Begin& fetch, const Finish& finish) {
    std::lock_guard lock(asking_);
    return ask_alone<Reply>(message, fetch, finish);
  }
  // The same, but not while another question is under way: nullopt.
  template <class Reply, class M, class Begin, class Finish>
  std::optional<Reply> ask_if_idle(const M& message, const Begin& fetch, const Finish& finish) {
    std::unique_lock lock(asking_, std::try_to_lock);
    if (!lock) return std::nullopt;
    return ask_alone<Reply>(message, fetch, finish);
  }

  // For a process that forked: the socket is its parent's, the counters are both's.
  void leave_to_parent() { socket_.close(); }

 private:
  explicit Connection(Fd socket) : socket_(std::move(socket)) {}

  template <class Reply, class M, class Begin, class Finish>
  Reply ask_alone(const M& message, const Begin& fetch, const Finish& finish) {
    Uncancelled uncancelled;
    tell(message);
    std::deque<uint64_t> under_way;
    for (;;) {
      if (!under_way.empty() && (under_way.size() == kAtOnce || !is_told_more())) {
        finish();
        tell(Fetched{under_way.front()});
        under_way.pop_front();
        continue;
      }
      Message reply = receive();
      if (reply.type == Reply::kType) return unpack<Reply>(reply.body);
      if (reply.type != Type::kFetch) throw Error("mneme-capture gave another answer than was asked for");
      Fetch wanted = unpack<Fetch>(reply.body);
      fetch(wanted, std::move(reply.descriptor));
      under_way.push_back(wanted.at);
    }
  }

  int socket() const { return socket_.get(); }  // -1: the application closed it
  Message receive();
  bool is_told_more() const;  // receive() would not wait

  static constexpr size_t kAtOnce = 2;

  KeptDescriptor socket_;
  Welcome welcome_;
  std::unique_ptr<Counters> counters_;
  std::mutex sending_, asking_;
};

}  // namespace mneme::record
