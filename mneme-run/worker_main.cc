// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-run-worker: holds one instance's memory on a device and executes variants of its kernel there. It is a
// process of its own because it runs a stranger's code, which may crash, hang, or do worse.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstring>

#include "base/confine.h"
#include "base/error.h"
#include "channel.h"
#include "device/device.h"
#include "device/moved_globals.h"
#include "replay.h"
#include "verify/device_kernel.h"
#include "worker.h"

namespace mneme::run {
namespace {

std::string_view raw(const auto& value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

// mneme-run is gone, or ended the conversation: there is nobody to tell.
[[noreturn]] void leave() { ::_exit(0); }

Message expect(Channel& parent, MessageType type, size_t fields) {
  std::optional<Message> message = parent.receive();
  if (!message || message->type != type || message->fields.size() != fields) leave();
  return std::move(*message);
}

void fetch(Channel& parent, std::span<const Digest> digests, const Replay::Take& take) {
  if (digests.empty()) return;
  std::string wanted(digests.size() * Digest::kSize, '\0');
  for (size_t i = 0; i < digests.size(); i++) {
    digests[i].store(reinterpret_cast<std::byte*>(wanted.data()) + i * Digest::kSize);
  }
  parent.send(MessageType::kNeed, {wanted});
  std::string blocks = std::move(expect(parent, MessageType::kBlocks, 1).fields[0]);
  if (blocks.size() != digests.size() * bundle::kBlockSize) leave();
  for (size_t i = 0; i < digests.size(); i++) {
    take(i, bytes_of(blocks).subspan(i * bundle::kBlockSize, bundle::kBlockSize));
  }
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

void serve(Channel& parent) {
  Message first = expect(parent, MessageType::kInstance, 6);
  RunSettings settings;
  if (first.fields[5].size() != sizeof settings) leave();
  std::memcpy(&settings, first.fields[5].data(), sizeof settings);
  std::unique_ptr<device::Device> device;
  try {
    device = device::make_device(first.fields[0]);
  } catch (const Error& error) {
    parent.send(MessageType::kNoDevice, {error.what()});
    return;
  }
  // A driver goes on to open what it needs.
  if (device->runs_in_this_process()) confine_process();

  bundle::KernelInfo kernel = bundle::parse_kernel(first.fields[1], "the kernel");
  bundle::InstanceMember instance;
  instance.info = bundle::parse_instance(first.fields[2], "the instance");
  instance.prologue = bundle::parse_state(bytes_of(first.fields[3]), "the prologue");
  instance.epilogue = bundle::parse_state(bytes_of(first.fields[4]), "the epilogue");
  first = {};
  if (settings.move_globals) device = device::move_globals(std::move(device), instance.info.segments);
  // What is read back is compared on the host.
  std::unique_ptr<device::Device> host = device->name() == "host" ? nullptr : device::make_device("host");
  std::unique_ptr<verify::ElementKernel> comparing = verify::make_device_kernel(host ? *host : *device);
  Replay replay(
      *device, std::move(instance),
      [&](std::span<const Digest> digests, const Replay::Take& take) { fetch(parent, digests, take); }, *comparing);
  parent.send(MessageType::kReady, {device->name()});

  Replay::Foreign foreign = [&](bool begins) { parent.send(begins ? MessageType::kForeign : MessageType::kOwn, {}); };
  Replay::Observed observed = [&](uint64_t address, const Digest& expected, Bytes actual) {
    parent.send(MessageType::kObserved, {raw(address), expected.hex(), text_of(actual)});
  };
  for (;;) {
    std::optional<Message> message = parent.receive();
    if (!message || message->fields.size() != 2) leave();
    if (message->type == MessageType::kVarying) {
      replay.set_variation(variation_of(*message));
      continue;
    }
    bundle::VariantInfo variant = bundle::parse_variant(message->fields[0], "the variant");
    Bytes code = bytes_of(message->fields[1]);
    bundle::RunInfo run;
    if (message->type == MessageType::kBaseline) {
      run = replay.measure(kernel, variant, code, settings, foreign, observed);
    } else if (message->type == MessageType::kVariant) {
      run = replay.run(kernel, variant, code, settings, foreign, observed);
    } else {
      leave();
    }
    parent.send(MessageType::kResult, {bundle::write(run)});
  }
}

// Standard output carries mneme-run's bundle: what a kernel prints goes to standard error.
void settle() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::close_range(kWorkerSocket + 1, ~0U, 0);
}

int work() {
  settle();
  Channel parent(Fd(kWorkerSocket), kMaxToWorker);
  try {
    serve(parent);
    return 0;
  } catch (const std::exception& error) {
    parent.send(MessageType::kRefused, {error.what()});
    return 0;
  }
}

}  // namespace
}  // namespace mneme::run

int main() {
  // What the kernel left behind (threads, handlers that run at exit) must not delay or spoil the end.
  ::_exit(mneme::run::work());
}
