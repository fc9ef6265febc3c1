// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <functional>
#include <string>

namespace mneme {

// Jobs that are each done in a child process of its own, several at a time, so that one that crashes or does not end
// costs no other.
struct ChildJobs {
  std::string name = {};  // of one, for messages of the system's
  size_t count = 0;       // numbered from 0
  size_t at_once = 1;     // children
  double seconds = 0;     // that each may take; then it is killed, with all that it started
  size_t most_bytes = 0;  // of a result
  // In the child, which is forked from here: what a job gives. An Error of its is the job's failure.
  std::function<std::string(size_t)> body = {};
  struct Result {
    bool done = false;
    // What the body gave; or a sentence, or, where it was the child that failed, the rest of one: "was killed by …".
    std::string text = {};
    bool child_failed = false;
  };
  // Here, in the order of their numbers, as soon as it may be: other jobs go on meanwhile.
  std::function<void(size_t, Result)> take = {};

  // Returns when all are taken. An exception of take()'s ends the children, and is thrown on. No other thread may run.
  void run();
};

}  // namespace mneme
