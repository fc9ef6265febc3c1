// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/worker/working.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "base/confine.h"
#include "base/error.h"
#include "device/device.h"
#include "device/moved_globals.h"
#include "replay/replay.h"
#include "replay/worker/channel.h"
#include "replay/worker/fork_server.h"
#include "replay/worker/phase.h"
#include "replay/worker/supply.h"
#include "replay/worker/worker_process.h"
#include "verify/device_kernel.h"

namespace mneme::run {
namespace {

// mneme-run is gone, or ended the conversation: there is nobody to tell.
[[noreturn]] void leave() { ::_exit(0); }

Message receive(Channel& parent) {
  std::optional<Message> message = parent.receive();
  if (!message) leave();
  return std::move(*message);
}

void check_form(const Message& message, MessageType type, size_t fields) {
  if (message.type != type || message.fields.size() != fields) leave();
}

// What a worker before this one found out.
verify::Variation variation_of(const Message& message) {
  bundle::RunInfo run = bundle::parse_run(message.fields.at(0), "the baseline");
  Bytes bytes = bytes_of(message.fields.at(1));
  verify::Variation variation;
  for (const bundle::VaryingBlock& block : run.baseline.value().blocks) {
    variation.set(block.address, bytes.first(bundle::kBlockSize));
    bytes = bytes.subspan(bundle::kBlockSize);
  }
  return variation;
}

struct Session {
  Channel& parent;
  Supply& supply;
  Phase& phase;
  device::Device& device;
  verify::ElementKernel& comparing;
  verify::ImageKernel* on_device;  // may be null
  RunSettings settings;
};

// Places an instance, and executes variants until something else comes, which is returned.
Message serve_instance(const Session& session, const Message& first) {
  Channel& parent = session.parent;
  bundle::KernelInfo kernel = bundle::parse_kernel(first.fields[0], "the kernel");
  bundle::InstanceMember instance;
  instance.info = bundle::parse_instance(first.fields[1], "the instance");
  instance.prologue = bundle::parse_state(bytes_of(first.fields[2]), "the prologue");
  instance.epilogue = bundle::parse_state(bytes_of(first.fields[3]), "the epilogue");
  uint32_t filled = 0;
  if (first.fields[4].size() != sizeof filled) leave();
  std::memcpy(&filled, first.fields[4].data(), sizeof filled);
  session.supply.begin(filled);
  std::unique_ptr<device::Device> moved;
  if (session.settings.move_globals) moved = device::move_globals(session.device, instance.info.segments);
  Replay replay(
      moved ? *moved : session.device, std::move(instance),
      [&](std::span<const Digest> digests, const Replay::Take& take) { session.supply.fetch(digests, take); },
      session.comparing, session.on_device, [&](size_t blocks) { return session.supply.hold(blocks); });
  parent.send(MessageType::kReady, {});

  Replay::Foreign foreign = [&](bool begins) { session.phase.begin(begins); };
  Replay::Observed observed = [&](uint64_t address, const Digest& expected, Bytes actual) {
    parent.send(MessageType::kObserved, {raw(address), expected.hex(), text_of(actual)});
  };
  for (;;) {
    Message message = receive(parent);
    if (message.fields.size() != 2) return message;
    if (message.type == MessageType::kVarying) {
      replay.set_variation(variation_of(message));
      continue;
    }
    bundle::VariantInfo variant = bundle::parse_variant(message.fields[0], "the variant");
    Bytes code = bytes_of(message.fields[1]);
    bool baseline = message.type == MessageType::kBaseline;
    if (!baseline && message.type != MessageType::kVariant) leave();
    bundle::RunInfo run;
    try {
      run = baseline ? replay.measure(kernel, variant, code, session.settings, foreign, observed)
                     : replay.run(kernel, variant, code, session.settings, foreign, observed);
    } catch (const Error& error) {
      foreign(false);
      if (!session.device.still_works()) throw;
      parent.send(MessageType::kFailed, {error.what()});
      return receive(parent);
    }
    parent.send(MessageType::kResult, {bundle::write(run)});
  }
}

// Calls `serve`; if it throws, `to` hears of it.
void answering(Channel& to, const std::function<void()>& serve) {
  try {
    serve();
  } catch (const Supply::Ended&) {
  } catch (const std::exception& error) {
    to.send(MessageType::kRefused, {error.what()});
  }
}

void serve(Channel& parent, const Staging& staging, Phase& phase) {
  Message first = receive(parent);
  check_form(first, MessageType::kDevice, 3);
  RunSettings settings;
  if (first.fields[1].size() != sizeof settings) leave();
  std::memcpy(&settings, first.fields[1].data(), sizeof settings);
  std::unique_ptr<device::Device> device;
  try {
    device = device::make_device(first.fields[0]);
  } catch (const Error& error) {
    parent.send(MessageType::kNoDevice, {error.what()});
    return;
  }
  std::vector<device::BlockRange> ranges(first.fields[2].size() / sizeof(device::BlockRange));
  first.fields[2].copy(reinterpret_cast<char*>(ranges.data()), ranges.size() * sizeof(device::BlockRange));
  device->expect(ranges);
  // A driver goes on to open what it needs.
  const bool forks = device->runs_in_this_process();
  if (forks) confine_process();
  // Where memory has images it is compared beside them; what is read back, on the host.
  std::unique_ptr<device::Device> host = device->name() == "host" ? nullptr : device::make_device("host");
  std::unique_ptr<verify::ElementKernel> comparing = verify::make_device_kernel(host ? *host : *device);
  std::unique_ptr<verify::ImageKernel> on_device = verify::make_image_kernel(*device);
  parent.send(MessageType::kHere, {device->name(), raw(forks)});

  auto serve_instances = [&](Channel& to) {
    phase.begin(false);
    Supply supply(to, staging, *device);
    for (Message next = receive(to);;) {
      check_form(next, MessageType::kInstance, 5);
      next = serve_instance({to, supply, phase, *device, *comparing, on_device.get(), settings}, next);
      device->unmap();
    }
  };
  if (!forks) serve_instances(parent);
  serve_in_children(parent, *device, [&](Channel to) { answering(to, [&] { serve_instances(to); }); });
}

// Standard output carries mneme-run's bundle: what a kernel prints goes to standard error.
void settle() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::close_range(kWorkerPhase + 1, ~0U, 0);
}

}  // namespace

int work() {
  settle();
  Channel parent(Fd(kWorkerSocket), kMaxToWorker, Channel::Takes::kDescriptors);
  answering(parent, [&] {
    Phase phase{Fd(kWorkerPhase)};
    serve(parent, Staging(Fd(kWorkerStaging)), phase);
  });
  return 0;
}

}  // namespace mneme::run
