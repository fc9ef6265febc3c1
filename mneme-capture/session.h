// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "listener.h"
#include "ranks.h"
#include "recording.h"

namespace mneme::capture {

struct SessionSettings {
  uint64_t max_instances = 4;
  uint64_t occurrences = 1;
  uint64_t skip = 0;
  uint64_t every = 1;
  bool only_config = false;
  uint64_t range_size = 0;       // bytes of each address range
  Ranks ranks = Ranks::only(0);  // of an MPI job's processes, those to record
  bool host_only = false;        // the application is to run on the host device
  bool children = true;          // the processes that a process starts are recorded, too
};

// The parent's side of the protocol, on a thread of its own: waits for processes that want to be recorded, and serves
// them until they end. If children are left alone, one process is recorded, or of several ranks one each, also when it
// goes on as another program (exec), and others are told to run on as they are; only a process that launched nothing (a
// launcher, say) leaves its place to a later one.
class Session {
 public:
  Session(const SessionSettings& settings, Capture& capture);
  ~Session();  // as abort()

  // What goes into the application's environment.
  const std::string& socket_name() const { return listener_.address(); }
  void start();
  // No more processes are taken; those that are being recorded are served to their ends.
  void close();
  // Ends at once.
  void abort();
  // Readable once the session has ended.
  int ended_descriptor() const { return ended_.get(); }
  // Waits for the end; then, why recording broke off, if it did.
  void join();
  const std::string& failure() const { return failure_; }

 private:
  // One that is being recorded.
  struct Process {
    Fd socket;
    pid_t id = 0;
    int64_t place = 0;  // its rank, if several are recorded
    std::unique_ptr<Recording> recording;
  };

  void run();
  void serve_until_closed();
  void accept(int listener);
  void fail_to_hear(const std::string& why);  // a process that runs on unrecorded
  void hear(Fd visitor);
  void greet(Fd socket);
  void refuse(int socket, const std::string& reason);
  // One message, and what came while it was answered; false: the connection has ended.
  bool handle(Process& process);
  bool handle(Process& process, record::Message message);
  bool handle_or_fail(Process& process);  // the same, whatever the process says
  void leave(size_t process);             // its connection has ended
  void hear_out(pid_t process);           // reads what is there to be read
  bool was_there(int64_t place, pid_t process) const;
  void forget_ended();  // and have launched nothing

  const SessionSettings settings_;
  Capture& capture_;
  Listener listener_;
  Fd closing_, aborting_, ended_;
  Fd spare_;  // given up for a moment where no more descriptors are to be had
  std::thread thread_;

  std::vector<Fd> visitors_;  // whose hello has not come
  std::vector<Process> processes_;
  std::vector<Process> left_;  // without a connection any more; those that live on count what they launch
  std::set<int64_t> taken_;    // places of processes that are being recorded, or launched kernels when they were
  std::string failure_;
};

}  // namespace mneme::capture
