// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "applying/applying.h"
#include "base/file.h"
#include "bundle_queue.h"

namespace mneme::capture {

// Runs variants on launches that are recorded to check them, and judges them: by mneme-run and mneme-verify, which read
// the recording as it is made. A variant that faults ends a child of theirs.
class Checker {
 public:
  explicit Checker(const Applying& applying);
  ~Checker();
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  // Where variants are run, as mneme-run takes it.
  void run_on(std::string device) { device_ = std::move(device); }
  // Where the bundle goes.
  int fd() const { return bundle_.get(); }
  // Nothing more is recorded.
  void close();

  // Before the instance is added to the bundle: adds what is to be run on it. The first time, starts both. Throws
  // Error.
  void prepare(const Digest& choice, const Digest& instance, BundleQueue& queue);
  struct Verdict {
    bool same = false;
    std::string reason;  // a sentence, unless it is the same
  };
  // Waits for it.
  Verdict verdict(const Digest& choice, const Digest& instance);

 private:
  using Pair = std::pair<Digest, Digest>;  // instance and variant

  void start();
  bool read_line();

  const Applying& applying_;
  std::string device_;
  Fd bundle_, bundle_end_, verdicts_;
  std::vector<pid_t> processes_;
  std::map<Pair, Digest> variants_;  // by choice and instance: the one that is run
  std::set<Digest> added_;
  std::map<Pair, Verdict> known_;
  std::string text_;  // read, and no whole line yet
};

}  // namespace mneme::capture
