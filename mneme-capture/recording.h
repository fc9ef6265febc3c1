// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "applying/checker.h"
#include "bundle_queue.h"
#include "cli/expression.h"
#include "followed_pointers.h"
#include "memory_view.h"
#include "ready_memory.h"
#include "recorder/link/counters.h"
#include "recorder/link/protocol.h"
#include "snapshot.h"

namespace mneme::capture {

// What all recorded processes of one capture have in common: the bundle, and what is told of it at the end.
struct Capture {
  explicit Capture(BundleQueue& bundle_queue) : queue(bundle_queue) { summary.totals.emplace(); }

  BundleQueue& queue;
  // What was written is kept for the next snapshot, within measure.
  const uint64_t most_idle = bundle::physical_memory() / 8;
  Snapshot::Pool pool = std::make_shared<bundle::BlockPool>(UINT64_MAX, most_idle);
  ReadyMemory ready{pool, most_idle};
  std::optional<cli::Expression> kernels;  // on the demangled name; all without one
  // Where the bundle's kernels run: unless it is said before, where the first one does. `begin` makes the bundle, when
  // the first one comes.
  std::optional<bool> on_gpu;
  std::function<void(bool on_gpu, bool has_source)> begin = [](bool, bool) {};
  // Whether kernels' source is in the bundle, which says so where it begins: by the first kernel. Nothing: it has not
  // begun.
  std::optional<bool> has_source;
  std::vector<record::Reserved> reserved;  // ranges that lie elsewhere, as far as it is known when it begins
  std::string reach;           // bundle::kReachArguments: of each launch, only what its arguments lead to is recorded
  Checker* checker = nullptr;  // where launches are recorded to check variants, and no others
  std::string failure;         // why recording broke off, if it did
  bool verbose = false;
  bool told_of_failure = false;
  std::unordered_set<Digest> kernels_known;  // those in the bundle
  std::unordered_set<Digest> instances;      // those in the bundle
  std::map<std::string, bool> changing;      // kernels of them, by name → whether one of these launches changed memory
  bundle::Summary summary;
  std::vector<bundle::Skipped> unrecordable;  // those of the summary that nobody asked to leave out
  uint64_t launches = 0;
  uint64_t processes = 0;    // that asked to be recorded
  uint64_t left_alone = 0;   // of them, because another one is recorded
  uint64_t other_ranks = 0;  // of them, because their ranks are not recorded
  std::string unheard;       // why one that asked runs on unrecorded, if any does
};

// Turns what the recorder of one process says into members of the bundle. One object a process; functions in the
// order of the protocol. Throws Error on a message that makes no sense.
class Recording {
 public:
  // `launches_before`: by the programs that the process was before. `readable`: the process, if its memory can be read.
  // `socket`: its recorder's, borrowed. `gpu`: where its kernels run.
  Recording(Capture& capture, const Fd& counters, uint64_t launches_before, pid_t readable, int socket,
            bool gpu = false);
  ~Recording();  // adds what was counted to the capture

  void chunk(const record::Chunk& chunk, Fd memory);
  void reserved(const record::Reserved& reserved);
  record::Ready much();
  void drop(const record::Drop& drop);
  void digesting() { capture_.queue.pause(); }
  void digests(record::Digests digests) { memory_.tell(digests.address, std::move(digests.blocks)); }
  void unwritten(record::Unwritten unwritten);
  record::Selected query(const record::Query& query) const;
  void code(record::Code code);
  void kernel(const record::Kernel& kernel);
  void counter(record::Counter counter);
  record::Prepared prologue(const record::Prologue& prologue);
  record::Recorded epilogue(const record::Epilogue& epilogue);
  // Adds to the bundle what the last epilogue() has taken. For when it is answered: the application waits for that; of
  // a launch that is checked, for the verdict, which goes to `recorded`.
  void keep();
  bool checks() const { return taken_ && !taken_->check.empty(); }
  void keep_and_check(record::Recorded& recorded);
  // What the recorder said besides while prologue() or epilogue() had memory fetched.
  std::vector<record::Message> heard() { return memory_.fetching().heard(); }

  // The process records no more, for a reason that it may have told before. What it launches is still counted.
  void stop(const std::string& reason);
  void leave();

  // How many kernels the process has launched.
  uint64_t launched() const { return counters_.value(record::Counters::kLaunches) - launches_before_; }

 private:
  struct KnownKernel {
    bundle::KernelInfo info;
    std::string refused;           // why it is not in the bundle
    bool told_of_missing = false;  // the user, of an instance that is not complete
    std::string json, bitcode;     // as the application carries it; of the host device's
  };
  // A launch between its prologue and its epilogue.
  struct Launch {
    bundle::InstanceInfo instance;
    uint32_t slot = 0;
    Digest check;  // a choice; empty: none
    std::shared_ptr<Snapshot> before, after;
  };

  bool runs_where_the_bundle_does(bool has_source);
  void add(Launch launch);
  // What the kernel's pointers tell, and, where they do not tell all, what happens when the launch is tried: if its
  // instance is not known to be incomplete anyway.
  FollowedPointers reach(const KnownKernel& kernel, const Launch& launch, const record::Prologue& prologue) const;
  void add_skipped(bundle::Skipped skipped, bool wanted);
  void want_no_more();

  Capture& capture_;
  record::Counters counters_;
  const uint64_t launches_before_;
  const bool gpu_;
  std::string stopped_;  // why
  uint64_t wanted_ = 0;  // bytes that are made ready for it
  ApplicationMemory memory_;
  std::unordered_set<Digest> codes_;  // of kernels without IR
  std::map<Digest, KnownKernel> kernels_;
  std::vector<record::Counter> counters_named_;
  std::vector<std::pair<Digest, uint32_t>> slots_;  // instance, counter of launches like it
  std::vector<std::pair<Digest, uint32_t>> known_;  // the same of instances that another process had recorded
  std::shared_ptr<Snapshot> last_;                  // the newest; blocks that did not change since are shared with it
  bool is_told_since_ = false;                      // of what was not written since
  std::optional<Launch> launch_;
  std::optional<Launch> taken_;  // that has ended, and is not in the bundle yet
};

}  // namespace mneme::capture
