// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>
#include <mutex>

#include "base/file.h"
#include "recorder/counters.h"
#include "recorder/kept_descriptor.h"
#include "recorder/protocol.h"

namespace mneme::record {

// The application's end of the socket. Safe to use from several threads: messages do not mix, and one question is
// asked at a time. Everything throws Error once the parent is gone.
class Connection {
 public:
  // Connects to the capture that started this process; nullptr where there is none any more, or it does not want this
  // process. Throws Error when it is there and out of reach.
  static std::unique_ptr<Connection> open();
  // Says hello over a socket that is connected.
  static std::unique_ptr<Connection> over(Fd socket);

  const Welcome& welcome() const { return welcome_; }
  Counters& counters() { return *counters_; }

  template <class M>
  void tell(const M& message, int descriptor = -1) {
    std::lock_guard lock(sending_);
    send_message(socket_.get(), message, descriptor);
  }

  template <class Reply, class M>
  Reply ask(const M& message) {
    std::lock_guard lock(asking_);
    tell(message);
    return unpack<Reply>(receive(Reply::kType).body);
  }

  // The descriptor alone, for a process that forked and must not keep it. -1: the application closed it.
  int socket() const { return socket_.get(); }

 private:
  explicit Connection(Fd socket) : socket_(std::move(socket)) {}
  Message receive(Type expected);

  KeptDescriptor socket_;
  Welcome welcome_;
  std::unique_ptr<Counters> counters_;
  std::mutex sending_, asking_;
};

}  // namespace mneme::record
