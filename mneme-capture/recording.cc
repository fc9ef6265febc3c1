// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recording.h"

#include <algorithm>
#include <iterator>

#include "base/long_names.h"
#include "bundle/adding.h"
#include "bundle/segment_runs.h"
#include "bundle/textures.h"
#include "cli/options.h"
#include "outside_references.h"
#include "process_memory.h"
#include "reached_segments.h"
#include "ready_heap.h"
#include "rehearsal/rehearsal.h"

namespace mneme::capture {
namespace {

// For a launch that is tried: one that seems to poll memory may wait for the application, which waits for this.
constexpr std::chrono::seconds kPatience{10}, kLittlePatience{1};

bundle::SegmentKind kind_of(uint32_t number) {
  if (number > static_cast<uint32_t>(bundle::SegmentKind::kHost)) throw Error("a segment is of an unknown kind");
  return static_cast<bundle::SegmentKind>(number);
}

// More memory than an instance can list.
struct TooMany : Error {
  TooMany() : Error("there are more allocations than a bundle can list") {}
};

std::vector<bundle::Segment> segments_of(const record::Prologue& prologue) {
  std::vector<bundle::Segment> segments;
  uint64_t end = 0, count = 0;
  for (const record::WireSegment& wire : prologue.segments) count += std::min(wire.count, bundle::kMaxSegments + 1);
  if (count > bundle::kMaxSegments) throw TooMany();
  segments.reserve(count);
  for (const record::WireSegment& wire : prologue.segments) {
    bundle::Segment segment{wire.address, wire.size, kind_of(wire.kind), wire.symbol, wire.annotation, wire.device};
    for (uint64_t i = 0; i < wire.count; ++i, segment.address += wire.stride) {
      if (segment.address < end || segment.address + segment.size < segment.address) throw Error("segments overlap");
      end = segment.address + segment.size;
      segments.push_back(segment);
    }
  }
  if (bundle::count_entries(segments) > bundle::kMaxEntries) throw TooMany();
  return segments;
}

// A block of memory there is not wholly to be had: user space ends within it. (A variable on the first thread's stack.)
bool ends_at_the_top(const bundle::Segment& segment) {
  constexpr uint64_t kLastBlock = 0x7fffffff0000;
  return segment.size > 0 && segment.address + segment.size > kLastBlock;
}

void seal(bundle::InstanceInfo& instance, const Snapshot& before, const Snapshot& after) {
  instance.prologue = digest_of(bundle::write(before.state()));
  instance.epilogue = digest_of(bundle::write(after.state()));
  instance.id = bundle::instance_id(instance);
}

// What is known of memory holds while it is at rest.
class ChangesAfterwards {
 public:
  explicit ChangesAfterwards(ApplicationMemory& memory) : memory_(memory) {}
  ~ChangesAfterwards() { memory_.forget(); }
  ChangesAfterwards(const ChangesAfterwards&) = delete;
  ChangesAfterwards& operator=(const ChangesAfterwards&) = delete;

 private:
  ApplicationMemory& memory_;
};

}  // namespace

Recording::Recording(Capture& capture, const Fd& counters, uint64_t launches_before, pid_t readable, int socket,
                     bool gpu)
    : capture_(capture), counters_(counters), launches_before_(launches_before), gpu_(gpu), memory_(readable, socket) {
  counters_.set(record::Counters::kLaunches, launches_before);
}

Recording::~Recording() {
  capture_.queue.resume();
  want_no_more();
  capture_.launches += launched();
  if (uint64_t unrecorded = counters_.value(record::Counters::kUnrecorded)) {
    add_skipped({"(all kernels)", unrecorded, "recording had ended: " + stopped_}, true);
  }
  if (uint64_t of_children = counters_.value(record::Counters::kOfChildren)) {
    add_skipped({"(all kernels)", of_children, "by processes that were forked, which --children leave leaves alone"},
                false);
  }
  for (const auto& [instance, slot] : slots_) {
    capture_.summary.occurrences.push_back({instance, std::max<uint64_t>(counters_.value(slot), 1)});
  }
  for (const auto& [instance, slot] : known_) {
    auto known = std::ranges::find(capture_.summary.occurrences, instance, &bundle::Occurrence::instance);
    if (known != capture_.summary.occurrences.end()) known->count += counters_.value(slot);
  }
  for (const record::Counter& counter : counters_named_) {
    uint64_t launches = counters_.value(counter.slot);
    if (counter.reason.empty()) {
      capture_.summary.totals->of(counter.kernel).launches += launches;
    } else if (launches > 0) {
      add_skipped({counter.kernel, launches, counter.reason}, counter.wanted);
    }
  }
}

void Recording::counter(record::Counter counter) {
  if (counter.reason.empty()) capture_.summary.totals->of(counter.kernel);  // has its place in the order now
  counters_named_.push_back(std::move(counter));
}

void Recording::add_skipped(bundle::Skipped skipped, bool wanted) {
  auto add = [&](std::vector<bundle::Skipped>& list) {
    auto alike = std::ranges::find_if(list, [&](const bundle::Skipped& other) {
      return other.kernel == skipped.kernel && other.reason == skipped.reason;
    });
    if (alike == list.end()) {
      list.push_back(skipped);
    } else {
      alike->launches += skipped.launches;
    }
  };
  add(capture_.summary.skipped);
  if (wanted) add(capture_.unrecordable);
}

void Recording::stop(const std::string& reason) {
  if (stopped_.empty()) stopped_ = reason;
}

void Recording::want_no_more() { capture_.ready.want_less(std::exchange(wanted_, 0)); }

void Recording::leave() {
  stop("the application closed its connection to mneme-capture, as programs do that close all descriptors");
  want_no_more();
  memory_.clear();
  launch_.reset();
  last_.reset();
}

void Recording::chunk(const record::Chunk& chunk, Fd memory) {
  if (!chunk.fetched) return memory_.add(chunk.address, chunk.size, std::move(memory));
  memory_.add_distant({chunk.address, chunk.size, chunk.device});
  wanted_ += chunk.size;
  capture_.ready.want(chunk.size);
  if (wanted_ <= record::Much::kBytes) return;
  memory_.fetching().prepare();
  make_heap_ready(wanted_);
}

record::Ready Recording::much() {
  try {
    memory_.fetching().get_ready();
  } catch (const Error&) {  // the launch is told that needs it
  }
  return {};
}

void Recording::reserved(const record::Reserved& reserved) {
  if (!capture_.on_gpu) capture_.reserved.push_back(reserved);
}

void Recording::drop(const record::Drop& drop) {
  if (auto there = memory_.distant(drop.address, UINT64_MAX)) {
    wanted_ -= there->size;
    capture_.ready.want_less(there->size);
  }
  memory_.remove(drop.address);
}

// Each speaks of what was since the one before: the first after a snapshot, of what was since the snapshot.
void Recording::unwritten(record::Unwritten unwritten) {
  if (!std::exchange(is_told_since_, true) && last_) memory_.tell_unwritten(std::move(unwritten.runs));
}

record::Selected Recording::query(const record::Query& query) const {
  note_name(query.demangled);
  if (capture_.checker) return {false};
  return {!capture_.kernels || capture_.kernels->matches(query.demangled)};
}

// The first kernel decides where that is.
bool Recording::runs_where_the_bundle_does(bool has_source) {
  if (!capture_.has_source) {
    capture_.has_source = has_source;
    if (!capture_.on_gpu) capture_.on_gpu = gpu_;
    capture_.begin(*capture_.on_gpu, has_source);
  }
  return gpu_ == *capture_.on_gpu;
}

void Recording::code(record::Code code) {
  const Digest digest = digest_of(code.bytes);
  const bool runs = runs_where_the_bundle_does(code.source);
  if (code.source && !*capture_.has_source) {
    return cli::warn("the source of a kernel is left out: the bundle began with a kernel that has none");
  }
  codes_.insert(digest);
  if (!runs) return;
  const uint64_t size = code.bytes.size();
  if (capture_.verbose) {
    const char* what = code.source ? "source of kernels" : "code of kernels without IR";
    cli::note(fmt::format("recorded {} bytes of {} as {}", size, what, digest.hex().substr(0, 12)));
  }
  auto write = [digest, bytes = std::move(code.bytes)](bundle::Writer& writer) {
    bundle::add_code(writer, digest, bytes);
  };
  capture_.queue.add(std::move(write), size);
}

void Recording::kernel(const record::Kernel& kernel) {
  bundle::KernelInfo info = bundle::parse_kernel(kernel.json, "the application's kernel");
  if (!codes_.contains(info.source_text)) info.source_text = {};
  KnownKernel known{info, {}, false, {}, {}};
  auto came = [this](const bundle::KernelFile& file) { return codes_.contains(file.digest); };
  if (!runs_where_the_bundle_does(!info.source_text.empty())) {
    known.refused = fmt::format("it ran on {}, and the launches in the bundle on {}: choose one with --device",
                                gpu_ ? "a GPU" : "the host device", gpu_ ? "the host device" : "a GPU");
  } else if (has_ir(info) && digest_of(kernel.bitcode) != info.bitcode) {
    known.refused = "its IR in the application is damaged; build the application again";
  } else if (!has_ir(info) && !std::ranges::all_of(files_of(info), came)) {
    known.refused = "its code in the application has changed since it was loaded";
  } else if (capture_.kernels_known.insert(info.id).second) {
    bundle::KernelMember member{info, kernel.bitcode};  // code and source are in the bundle already
    capture_.queue.add([member = std::move(member)](bundle::Writer& writer) { bundle::add(writer, member); });
  }
  if (!gpu_) {
    known.json = kernel.json;
    known.bitcode = kernel.bitcode;
  }
  kernels_.emplace(info.id, std::move(known));
}

record::Prepared Recording::prologue(const record::Prologue& prologue) {
  capture_.ready.enough();
  capture_.queue.pause();  // until the launch has ended: most are short
  ChangesAfterwards changes(memory_);
  auto known = kernels_.find(prologue.kernel);
  if (known == kernels_.end()) throw Error("a launch came before its kernel");
  if (!known->second.refused.empty()) return {false, known->second.refused};
  Launch launch;
  launch.slot = prologue.slot;
  launch.check = prologue.check;
  bundle::InstanceInfo& instance = launch.instance;
  instance.kernel = prologue.kernel;
  instance.index = prologue.index;
  instance.grid = prologue.grid;
  instance.block = prologue.block;
  instance.shared_bytes = prologue.shared_bytes;
  instance.stack_bytes = prologue.stack_bytes;
  instance.arguments = prologue.arguments;
  instance.device = prologue.device;
  instance.cooperative = prologue.cooperative;
  instance.cluster = prologue.cluster;
  instance.attributes = prologue.attributes;
  try {
    instance.segments = segments_of(prologue);
  } catch (const TooMany& error) {
    return {false, error.what()};
  }
  if (!prologue.textures.empty()) {
    bundle::read_textures(prologue.textures, "what the application's recorder says of textures", instance);
  }
  auto take = [&](const std::vector<bundle::Segment>& segments) {
    return Snapshot::take(segments, memory_, last_.get(), capture_.pool);
  };
  try {
    if (capture_.reach == bundle::kReachArguments) {
      instance.reach = capture_.reach;
      instance.segments = reached_segments(instance, known->second.info.code.empty(), instance.segments, take);
    }
    launch.before = std::make_shared<Snapshot>(take(instance.segments));
  } catch (const Error& error) {
    return {false, error.what()};
  }
  last_ = launch.before;
  is_told_since_ = false;
  instance.missing = prologue.missing;
  if (!instance.segments.empty() && ends_at_the_top(instance.segments.back())) {
    instance.missing.push_back(
        fmt::format("the memory at {:#x} lies in the last 64 KiB that a process can have, and is restored nowhere else",
                    instance.segments.back().address));
  }
  FollowedPointers followed = reach(known->second, launch, prologue);
  std::ranges::move(followed.missing, std::back_inserter(instance.missing));
  launch_ = std::move(launch);
  return {true, {}, followed.polls};
}

FollowedPointers Recording::reach(const KnownKernel& kernel, const Launch& launch,
                                  const record::Prologue& prologue) const {
  const bundle::InstanceInfo& instance = launch.instance;
  FollowedPointers followed = follow_pointers(kernel.info, prologue, instance.segments, *launch.before);
  std::ranges::move(references_to(prologue.outside, instance.segments, *launch.before),
                    std::back_inserter(followed.missing));
  bool open = !followed.missing.empty() || followed.strays || reaches_further(kernel.info);
  if (gpu_ || !open || !instance.missing.empty()) return followed;
  Rehearsed rehearsed = rehearse(
      {kernel.json, kernel.bitcode, instance, *launch.before, memory_.shared(), prologue.ordinary, prologue.outside},
      followed.polls ? kLittlePatience : kPatience);
  followed.polls |= rehearsed.waits;
  if (!rehearsed.known) return followed;
  followed.polls = false;  // it does not wait for what the application has still to write
  if (rehearsed.missing.empty()) {
    followed.missing.clear();
  } else if (followed.missing.empty()) {
    followed.missing.push_back(rehearsed.missing);
  }
  return followed;
}

record::Recorded Recording::epilogue(const record::Epilogue& epilogue) {
  capture_.queue.pause();
  ChangesAfterwards changes(memory_);
  if (!launch_) throw Error("a launch ended that never began");
  Launch launch = std::move(*launch_);
  launch_.reset();
  if (epilogue.completed) {
    try {
      launch.after = std::make_shared<Snapshot>(
          Snapshot::take(launch.instance.segments, memory_, launch.before.get(), capture_.pool));
      last_ = launch.after;
      is_told_since_ = false;
      taken_ = std::move(launch);
    } catch (const ProcessGone&) {  // killed: what it has recorded before is whole
    }
  }
  bool failed = capture_.queue.failed();
  if (failed && !std::exchange(capture_.told_of_failure, true)) {
    cli::warn("the bundle can be written no further: the application runs on unrecorded");
  }
  if (failed) stop("the bundle can be written no further");
  record::Recorded recorded;
  recorded.go_on = !failed;
  return recorded;
}

void Recording::keep_and_check(record::Recorded& recorded) {
  const Digest choice = taken_->check;
  if (!taken_->instance.missing.empty()) {
    recorded.reason = "a launch that was to be checked could not be recorded whole: " + taken_->instance.missing[0];
    taken_.reset();
    return capture_.queue.resume();
  }
  taken_->instance.missing.clear();
  seal(taken_->instance, *taken_->before, *taken_->after);
  const Digest instance = taken_->instance.id;
  capture_.checker->prepare(choice, instance, capture_.queue);
  keep();
  const Checker::Verdict verdict = capture_.checker->verdict(choice, instance);
  recorded.same = verdict.same;
  recorded.reason = verdict.reason;
}

void Recording::keep() {
  capture_.queue.resume();
  std::optional<Launch> taken = std::exchange(taken_, std::nullopt);
  if (!taken) return;
  seal(taken->instance, *taken->before, *taken->after);
  add(std::move(*taken));
}

void Recording::add(Launch launch) {
  const bundle::InstanceInfo& instance = launch.instance;
  // A launch that repeats another one in everything is in the bundle already.
  std::pair slot(instance.id, launch.slot);
  if (!capture_.instances.insert(instance.id).second) {
    bool counted = std::ranges::count(slots_, slot) + std::ranges::count(known_, slot) > 0;
    if (!counted) known_.push_back(slot);
    return;
  }
  slots_.push_back(slot);
  bundle::Totals& totals = *capture_.summary.totals;
  ++totals.of(kernels_.at(instance.kernel).info.demangled).recorded;
  bool& changes = capture_.changing[kernels_.at(instance.kernel).info.demangled];
  changes = changes || instance.prologue != instance.epilogue;
  for (const bundle::Segment& segment : instance.segments) totals.seen_bytes += 2 * segment.size;
  if (KnownKernel& kernel = kernels_.at(instance.kernel);
      !instance.missing.empty() && !std::exchange(kernel.told_of_missing, true)) {
    cli::warn(fmt::format("the recording of '{}' is not complete: {}", kernel.info.demangled, instance.missing[0]));
  }
  if (capture_.verbose)
    cli::note(fmt::format("recorded {} <<<({}, {}, {}), ({}, {}, {})>>> as {}{}{}",
                          kernels_.at(instance.kernel).info.demangled, instance.grid.x, instance.grid.y,
                          instance.grid.z, instance.block.x, instance.block.y, instance.block.z,
                          instance.id.hex().substr(0, 12), instance.attributes.empty() ? "" : ", without ",
                          fmt::join(instance.attributes, ", ")));
  uint64_t bytes = launch.before->copied_bytes() + launch.after->copied_bytes();
  auto write = [instance = std::move(launch.instance), before = std::move(launch.before),
                after = std::move(launch.after), &queue = capture_.queue](bundle::Writer& writer) {
    writer.add_instance(instance, before->state(), after->state(), [&](uint64_t address, bool epilogue) {
      queue.rest();
      return (epilogue ? *after : *before).block(address);
    });
  };
  capture_.queue.add(std::move(write), bytes);
}

}  // namespace mneme::capture
