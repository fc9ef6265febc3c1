// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recording.h"

#include <algorithm>

#include "cli/options.h"

namespace mneme::capture {
namespace {

bundle::SegmentKind kind_of(uint32_t number) {
  if (number > static_cast<uint32_t>(bundle::SegmentKind::kHost)) throw Error("a segment is of an unknown kind");
  return static_cast<bundle::SegmentKind>(number);
}

std::vector<bundle::Segment> segments_of(const record::Prologue& prologue) {
  std::vector<bundle::Segment> segments;
  uint64_t end = 0;
  for (const record::WireSegment& wire : prologue.segments) {
    if (wire.address < end || wire.address + wire.size < wire.address) throw Error("segments overlap");
    end = wire.address + wire.size;
    segments.push_back({wire.address, wire.size, kind_of(wire.kind), wire.symbol, wire.annotation});
  }
  return segments;
}

}  // namespace

Recording::Recording(Capture& capture, Fd counters) : capture_(capture), counters_(counters) {}

Recording::~Recording() {
  capture_.launches += counters_.value(record::Counters::kLaunches);
  for (const auto& [instance, slot] : slots_) {
    capture_.summary.occurrences.push_back({instance, std::max<uint64_t>(counters_.value(slot), 1)});
  }
  for (const record::Counter& counter : counters_named_) {
    bundle::Skipped skipped{counter.kernel, counters_.value(counter.slot), counter.reason};
    if (skipped.launches == 0) continue;
    if (counter.wanted) capture_.unrecordable.push_back(skipped);
    capture_.summary.skipped.push_back(std::move(skipped));
  }
}

void Recording::chunk(const record::Chunk& chunk, Fd memory) {
  if (!memory) throw Error("memory came without its descriptor");
  memory_.add(chunk.address, chunk.size, std::move(memory));
}

record::Selected Recording::query(const record::Query& query) const {
  return {!capture_.kernels || std::regex_search(query.demangled, *capture_.kernels)};
}

void Recording::kernel(const record::Kernel& kernel) {
  bundle::KernelInfo info = bundle::parse_kernel(kernel.json, "the application's kernel");
  KnownKernel known{info.demangled, {}};
  if (digest_of(kernel.bitcode) != info.bitcode) {
    known.refused = "its IR in the application is damaged; build the application again";
  } else if (capture_.kernels_known.insert(info.id).second) {
    capture_.queue.add([info, bitcode = kernel.bitcode](bundle::Writer& writer) {
      writer.add(bundle::kernel_json_name(info.id), bundle::write(info));
      writer.add(bundle::kernel_bitcode_name(info.id), bitcode);
    });
  }
  kernels_.emplace(info.id, std::move(known));
}

record::Prepared Recording::prologue(const record::Prologue& prologue) {
  auto known = kernels_.find(prologue.kernel);
  if (known == kernels_.end()) throw Error("a launch came before its kernel");
  if (!known->second.refused.empty()) return {false, known->second.refused};
  Launch launch;
  launch.slot = prologue.slot;
  bundle::InstanceInfo& instance = launch.instance;
  instance.kernel = prologue.kernel;
  instance.index = prologue.index;
  instance.grid = prologue.grid;
  instance.block = prologue.block;
  instance.shared_bytes = prologue.shared_bytes;
  instance.arguments = prologue.arguments;
  instance.segments = segments_of(prologue);
  try {
    launch.before = std::make_shared<Snapshot>(Snapshot::take(instance.segments, memory_, last_.get()));
  } catch (const Error& error) {
    return {false, error.what()};
  }
  last_ = launch.before;
  instance.prologue = digest_of(bundle::write(launch.before->state()));
  instance.id = bundle::instance_id(instance);
  launch_ = std::move(launch);
  return {true, {}};
}

record::Recorded Recording::epilogue(const record::Epilogue& epilogue) {
  if (!launch_) throw Error("a launch ended that never began");
  Launch launch = std::move(*launch_);
  launch_.reset();
  if (epilogue.completed) {
    auto after = std::make_shared<Snapshot>(Snapshot::take(launch.instance.segments, memory_, launch.before.get()));
    last_ = after;
    launch.instance.epilogue = digest_of(bundle::write(after->state()));
    add(std::move(launch), std::move(after));
  }
  bool failed = capture_.queue.failed();
  if (failed && !std::exchange(capture_.told_of_failure, true)) {
    cli::warn("the bundle can be written no further: the application runs on unrecorded");
  }
  return {!failed};
}

void Recording::add(Launch launch, std::shared_ptr<Snapshot> after) {
  const bundle::InstanceInfo& instance = launch.instance;
  // A launch that repeats another one in everything is in the bundle already.
  if (!capture_.instances.insert(instance.id).second) return;
  slots_.emplace_back(instance.id, launch.slot);
  if (capture_.verbose)
    cli::note(fmt::format("recorded {} <<<({}, {}, {}), ({}, {}, {})>>> as {}", kernels_.at(instance.kernel).name,
                          instance.grid.x, instance.grid.y, instance.grid.z, instance.block.x, instance.block.y,
                          instance.block.z, instance.id.hex().substr(0, 12)));
  capture_.queue.add([instance, before = std::move(launch.before), after = std::move(after)](bundle::Writer& writer) {
    writer.add_instance(instance, before->state(), after->state(),
                        [&](uint64_t address, bool epilogue) { return (epilogue ? *after : *before).block(address); });
  });
}

}  // namespace mneme::capture
