// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "recording.h"

namespace mneme::capture {

struct SessionSettings {
  uint64_t max_instances = 4;
  uint64_t occurrences = 1;
  uint64_t skip = 0;
  uint64_t range_size = 0;  // bytes of each address range
  int64_t rank = 0;         // of an MPI job's processes, the one to record
};

// The parent's side of the protocol, on a thread of its own: waits for a process that wants to be recorded, and serves
// it until it ends. One process is recorded; others are told to run on as they are. Only a process that launched
// nothing (a launcher, say) leaves its place to a later one.
class Session {
 public:
  Session(const SessionSettings& settings, Capture& capture);
  ~Session();  // as abort()

  // What goes into the application's environment.
  const std::string& socket_name() const { return name_; }
  void start();
  // No more processes are taken; the one that is being recorded is served to its end.
  void close();
  // Ends at once.
  void abort();
  // Readable once the session has ended.
  int ended_descriptor() const { return ended_.get(); }
  // Waits for the end; then, why recording broke off, if it did.
  void join();
  const std::string& failure() const { return failure_; }

 private:
  void run();
  void serve_until_closed();
  void accept();
  void greet(Fd socket);
  void refuse(int socket, const std::string& reason);
  bool handle();  // one message; false: the process has ended

  const SessionSettings settings_;
  Capture& capture_;
  std::string name_;
  Fd listener_, closing_, aborting_, ended_;
  std::thread thread_;

  Fd socket_;  // of the process that is being recorded
  pid_t process_ = 0;
  std::unique_ptr<Recording> recording_;
  bool taken_ = false;  // a process that launched kernels has been recorded
  std::string failure_;
};

}  // namespace mneme::capture
