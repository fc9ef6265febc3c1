// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rehearsal/rehearsal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/file.h"
#include "bundle/blocks/physical_memory.h"
#include "rehearsal/protocol.h"

extern char** environ;

namespace mneme::capture {
namespace {

using Clock = std::chrono::steady_clock;
using Outcome = RehearsalReply::Outcome;

// The addresses of a process are drawn by lot, those of an application that is recorded are not.
constexpr int kTries = 4;

template <class Range>
const Range* holder(const std::vector<Range>& ranges, uint64_t address) {
  auto found = std::ranges::find_if(
      ranges, [&](const Range& range) { return address >= range.address && address - range.address < range.size; });
  return found == ranges.end() ? nullptr : &*found;
}

bool overlaps(const std::vector<record::MemoryRange>& ranges, const record::MemoryRange& one) {
  return std::ranges::any_of(ranges, [&](const record::MemoryRange& range) {
    return range.address < one.address + one.size && one.address < range.address + range.size;
  });
}

RehearsalRequest request_of(const Rehearsal& launch, bool in_order) {
  const bundle::InstanceInfo& instance = launch.instance;
  RehearsalRequest request{.kernel_json = launch.kernel_json,
                           .bitcode = launch.bitcode,
                           .grid = instance.grid,
                           .block = instance.block,
                           .shared_bytes = instance.shared_bytes,
                           .cooperative = instance.cooperative,
                           .cluster = instance.cluster,
                           .arguments = instance.arguments,
                           .mixed = false,
                           .in_order = in_order,
                           .segments = {},
                           .memory = {},
                           .foreign = launch.ordinary,
                           .shared = {},
                           .filled = {}};
  for (const SharedChunk& chunk : launch.shared) request.shared.push_back({chunk.address, chunk.size, chunk.file});
  for (const bundle::BlockReference& block : launch.memory.state().blocks) {
    record::MemoryRange* last = request.memory.empty() ? nullptr : &request.memory.back();
    if (last && last->address + last->size == block.address) {
      last->size += bundle::kBlockSize;
    } else {
      request.memory.push_back({block.address, bundle::kBlockSize});
    }
    bool has_contents = block.digest != bundle::zero_block_digest();
    if (has_contents && !holder(launch.shared, block.address)) request.filled.push_back(block.address);
  }
  auto has_others = [&](const record::MemoryRange& memory) { return overlaps(launch.ordinary, memory); };
  request.mixed = std::ranges::any_of(request.memory, has_others);
  for (const bundle::Segment& segment : instance.segments) {
    bool named = !segment.symbol.empty() && segment.device == instance.device;
    if (!named && !request.mixed) continue;
    request.segments.push_back({segment.address,
                                segment.size,
                                static_cast<uint32_t>(segment.kind),
                                named ? segment.symbol : std::string(),
                                {}});
  }
  for (const record::OutsideMemory& piece : launch.outside) request.foreign.push_back({piece.address, piece.size});
  return request;
}

Fd request_file(const Rehearsal& launch, const RehearsalRequest& request) {
  if (request.filled.size() > bundle::physical_memory() / 8 / bundle::kBlockSize)
    throw Error("it takes too much memory to try the launch");
  std::string head = pack(request);
  uint64_t size = head.size();
  head.insert(0, reinterpret_cast<const char*>(&size), sizeof size);
  head.resize((head.size() + bundle::kBlockSize - 1) / bundle::kBlockSize * bundle::kBlockSize);
  Fd file = memory_file(kRehearseProgram, bytes_of(head));
  if (::lseek(file.get(), 0, SEEK_END) < 0) throw system_error("cannot write the files of a rehearsal");
  for (uint64_t block : request.filled) write_all(file.get(), launch.memory.block(block), "what a rehearsal needs");
  if (::lseek(file.get(), 0, SEEK_SET) < 0) throw system_error("cannot write the files of a rehearsal");
  return file;
}

class Child {
 public:
  Child(const Fd& input, const std::vector<SharedChunk>& shared) {
    std::string program = installed_part(kRehearseProgram);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("cannot create a pipe");
    output_ = Fd(ends[0]);
    Fd theirs(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    // Under its own number each: that alone has it inherited.
    for (const SharedChunk& chunk : shared) posix_spawn_file_actions_adddup2(&actions, chunk.file, chunk.file);
    char* argv[] = {program.data(), nullptr};
    int failed = ::posix_spawn(&process_, program.c_str(), &actions, nullptr, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
      errno = failed;
      throw system_error(fmt::format("cannot run '{}'", program));
    }
  }
  ~Child() {
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // All that it writes; nullopt: it has not ended by then.
  std::optional<std::string> read(Clock::time_point deadline) const {
    std::string all;
    for (std::array<char, 4096> piece{};;) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      pollfd waiting{output_.get(), POLLIN, 0};
      int ready = ::poll(&waiting, 1, static_cast<int>(std::clamp<int64_t>(left, 0, INT32_MAX)));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return std::nullopt;
      ssize_t got = ::read(output_.get(), piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return all;
      all.append(piece.data(), static_cast<size_t>(got));
    }
  }

 private:
  Fd output_;
  pid_t process_ = -1;
};

// Throws Error when there is no reply.
RehearsalReply run(const Rehearsal& launch, bool in_order, Clock::time_point deadline) {
  Fd input = request_file(launch, request_of(launch, in_order));
  RehearsalReply reply;
  reply.outcome = Outcome::kTaken;
  for (int i = 0; i < kTries && reply.outcome == Outcome::kTaken; ++i) {
    std::optional<std::string> answer = Child(input, launch.shared).read(deadline);
    if (!answer) throw Error("the rehearsal takes too long");
    reply = unpack<RehearsalReply>(*answer);
  }
  return reply;
}

Rehearsed judge(const RehearsalReply& reply, const Rehearsal& launch) {
  if (reply.outcome == Outcome::kEnded) return {.known = true, .waits = false, .missing = {}};
  if (reply.outcome == Outcome::kWaits) return {.known = false, .waits = true, .missing = {}};
  if (reply.outcome != Outcome::kFault || holder(launch.instance.segments, reply.address)) return {};
  std::string what;
  if (const record::OutsideMemory* piece = holder(launch.outside, reply.address)) {
    what = piece->reason;
  } else if (holder(launch.ordinary, reply.address)) {
    what = "memory that no allocation known to the recorder gave out";
  } else {
    return {};  // the launch itself will fail there
  }
  return {.known = true,
          .waits = false,
          .missing = fmt::format("block ({}, {}, {}) uses the address {:#x}, {}", reply.block.x, reply.block.y,
                                 reply.block.z, reply.address, what)};
}

}  // namespace

bool reaches_further(const bundle::KernelInfo& kernel) {
  auto in_memory = [](const bundle::PointerPlace& place) { return place.pointer >= 0 || !place.symbol.empty(); };
  return std::ranges::any_of(kernel.pointers, [&](const bundle::Pointer& pointer) {
    if (pointer.number) return false;
    return pointer.at.empty() || std::ranges::any_of(pointer.at, in_memory);
  });
}

Rehearsed rehearse(const Rehearsal& launch, std::chrono::milliseconds patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  try {
    RehearsalReply reply = run(launch, /*in_order=*/false, deadline);
    // Which block is the first to go wrong is chance, and the same launch is to give the same sentence.
    if (reply.outcome == Outcome::kFault) {
      RehearsalReply again = run(launch, /*in_order=*/true, deadline);
      if (again.outcome == Outcome::kFault) reply = again;
    }
    return judge(reply, launch);
  } catch (const Error&) {
    return {};  // it could not be tried: what the kernel's pointers tell is all that is known
  }
}

}  // namespace mneme::capture
