// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/worker/worker.h"

#include <algorithm>

#include "base/error.h"
#include "device/host/grid/processor.h"
#include "objects/device_heap.h"

namespace mneme::run {
namespace {

const std::string& name_of(const bundle::KernelInfo& kernel) {
  return kernel.demangled.empty() ? kernel.name : kernel.demangled;
}

// A GPU's kernels allocate from what its context has, where all that is never freed stays; those that have Mneme's
// allocator do so where they were recorded on the host device only, whose heap is recorded as such. The recorded code
// says so, and other code (--ir) by what it calls, as far as it has names.
bool allocates_from_context(const Worker::Task& task, const bundle::VariantMember& variant) {
  const bool has_own_heap =
      uses(task.kernel, objects::kHeapVariable) &&
      std::ranges::count(task.instance.info.segments, bundle::kDeviceHeap, &bundle::Segment::symbol) == 0;
  if (has_own_heap) return false;
  return uses(task.kernel, bundle::kDeviceHeap) || variant.code.find("malloc") != std::string::npos;
}

}  // namespace

Worker::~Worker() {
  // What a kernel allocates on a device and does not free stays there.
  if (allocates_ && process_.serves_itself()) process_.end();
  process_.end_instance();
}

void Worker::place() {
  process_.start();
  if (placed_ == process_.number()) return;
  process_.set_task(name_of(task_.kernel), task_.instance.prologue.blocks.size() * bundle::kBlockSize);
  process_.await_device();
  process_.begin_instance(ranges());
  placed_ = process_.number();
  std::string kernel = bundle::write(task_.kernel), instance = bundle::write(task_.instance.info);
  std::string prologue = bundle::write(task_.instance.prologue), epilogue = bundle::write(task_.instance.epilogue);
  std::string blocks = prologue_blocks();
  const uint32_t filled = process_.fill(blocks, task_.block) ? static_cast<uint32_t>(blocks.size() / Digest::kSize) : 0;
  std::string_view fields[] = {kernel, instance, prologue, epilogue, raw(filled)};
  process_.send(MessageType::kInstance, fields);
  ready_ = false;
  // With nothing to ask for it goes on to what comes next; whether it could place the instance, it says by then.
  if (filled > 0) {
    process_.rest();
    return send_variation();
  }
  while (!ready_) {
    Message message = process_.receive();
    if (message.type == MessageType::kReady && message.fields.empty()) {
      ready_ = true;
    } else if (message.type == MessageType::kNeed) {
      process_.answer(std::move(message), task_.block);
    } else {
      throw Failure{"the worker does not keep to its protocol"};
    }
  }
  process_.rest();
  send_variation();
}

// The digests of those that are not zeros, by address.
std::string Worker::prologue_blocks() const {
  std::string digests;
  for (const bundle::BlockReference& block : task_.instance.prologue.blocks) {
    if (block.digest == bundle::zero_block_digest()) continue;
    std::byte bytes[Digest::kSize];
    block.digest.store(bytes);
    digests += text_of(bytes);
  }
  return digests;
}

// Where its memory is going to be.
std::vector<device::BlockRange> Worker::ranges() const {
  std::vector<device::BlockRange> ranges;
  if (process_.settings().move_globals) return ranges;  // elsewhere
  try {
    const verify::Layout layout(task_.instance.info.segments);
    for (const verify::Range& range : layout.ranges()) ranges.push_back({range.address, range.size});
  } catch (const Error&) {
    // Placing it fails for that.
  }
  return ranges;
}

void Worker::send_variation() {
  if (!baseline_ || baseline_->executions == 0) return;
  bundle::RunInfo run;
  run.kernel = task_.kernel.id;
  run.instance = task_.instance.info.id;
  run.variant = task_.baseline->info.id;
  run.status = "completed";
  run.baseline = baseline_;
  std::string json = bundle::write(run), blocks;
  for (const bundle::VaryingBlock& block : baseline_->blocks) blocks += varying_.at(block.bytes);
  std::string_view fields[] = {json, blocks};
  process_.send(MessageType::kVarying, fields);
}

Worker::Outcome Worker::converse(MessageType type, const bundle::VariantMember& variant) {
  place();
  if (allocates_from_context(task_, variant)) allocates_ = true;
  std::string json = bundle::write(variant.info);
  std::string_view fields[] = {json, variant.code};
  process_.send(type, fields);

  Outcome outcome;
  for (;;) {
    Message message = process_.receive();
    switch (message.type) {
      case MessageType::kNeed:
        process_.answer(std::move(message), task_.block);
        break;
      case MessageType::kReady:
        if (std::exchange(ready_, true)) throw Failure{"the worker does not keep to its protocol"};
        break;
      case MessageType::kObserved: {
        if (message.fields.size() != 3 || message.fields[2].size() != bundle::kBlockSize) break;
        if ((outcome.observed.size() + 1) * 2 * bundle::kBlockSize > process_.settings().max_difference) break;
        Digest digest = digest_of(message.fields[2]);
        outcome.observed.emplace(digest, std::move(message.fields[2]));
        break;
      }
      case MessageType::kResult:
        if (message.fields.size() != 1) throw Failure{"the worker does not keep to its protocol"};
        try {
          outcome.run = bundle::parse_run(message.fields[0], "the worker's result");
        } catch (const Error& error) {
          throw Failure{error.what()};
        }
        check(outcome, variant);
        return outcome;
      default:
        throw Failure{"the worker does not keep to its protocol"};
    }
  }
}

// What ran in the worker may have lied; the bundle must at least be sound.
void Worker::check(const Outcome& outcome, const bundle::VariantMember& variant) const {
  const bundle::RunInfo& run = outcome.run;
  bool sound = run.kernel == task_.kernel.id && run.instance == task_.instance.info.id &&
               run.variant == variant.info.id && run.device == process_.device();
  const auto& epilogue = task_.instance.epilogue.blocks;
  for (const bundle::BlockDifference& block : run.blocks) {
    auto recorded =
        std::lower_bound(epilogue.begin(), epilogue.end(), block.address,
                         [](const bundle::BlockReference& b, uint64_t address) { return b.address < address; });
    bool listed = recorded != epilogue.end() && recorded->address == block.address;
    sound = sound && block.expected == (listed ? recorded->digest : bundle::zero_block_digest()) &&
            (outcome.observed.count(block.actual) || block.actual == bundle::zero_block_digest());
  }
  if (run.baseline) {
    sound = sound && run.baseline->executions == process_.settings().baseline &&
            std::ranges::all_of(run.baseline->blocks, [&](const bundle::VaryingBlock& block) {
              return outcome.observed.contains(block.bytes);
            });
  }
  if (!sound) throw Failure{fmt::format("kernel '{}' spoiled the worker's result", name_of(task_.kernel))};
}

void Worker::recover(const Failure& failure) {
  process_.recover(failure);
  placed_ = 0;  // what the failed run left in memory is not known
}

void Worker::measure() {
  try {
    place();
    if (!task_.baseline->info.configuration.target.starts_with(process_.device() + ":")) {
      baseline_.emplace();
      baseline_->reason = fmt::format("it was compiled for {}, and is run on {}: give mneme-run --target",
                                      task_.baseline->info.configuration.target, process_.device());
      return;
    }
    Outcome outcome = converse(MessageType::kBaseline, *task_.baseline);
    baseline_ = outcome.run.baseline.value_or(bundle::Baseline{});
    varying_ = std::move(outcome.observed);
  } catch (const Failure& failure) {
    recover(failure);
    baseline_.emplace();
    baseline_->reason = failure.reason;
  }
}

std::string Worker::why_not_here(const bundle::VariantMember& variant) const {
  const std::string& target = variant.info.configuration.target;
  if (target.starts_with(process_.device() + ":")) return device::host::why_not_here(target);
  return fmt::format("it was compiled for {}, not for the device {}: compile it with mneme-compile --target", target,
                     process_.device());
}

Worker::Outcome Worker::failed(const bundle::VariantMember& variant, const std::string& reason) const {
  Outcome outcome;
  outcome.run.kernel = task_.kernel.id;
  outcome.run.instance = task_.instance.info.id;
  outcome.run.variant = variant.info.id;
  outcome.run.device = process_.device();
  outcome.run.status = "failed";
  outcome.run.reason = reason;
  outcome.run.warmup = process_.settings().warmup;
  return outcome;
}

Worker::Outcome Worker::run(const bundle::VariantMember& variant) {
  if (task_.baseline && !baseline_) measure();
  try {
    place();
    if (std::string why = why_not_here(variant); !why.empty()) return failed(variant, why);
    Outcome outcome = converse(MessageType::kVariant, variant);
    outcome.run.baseline = baseline_;
    return outcome;
  } catch (const Failure& failure) {
    recover(failure);
    return failed(variant, failure.reason);
  }
}

}  // namespace mneme::run
