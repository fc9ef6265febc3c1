// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the recorder (in the application) and mneme-capture (its parent) say to each other over a local socket.
// Both come from one build; the version is checked all the same, since the application may have loaded another's.
//
// A message is a frame (base/frames.h) of one field; a descriptor may come with it. Chunk, Drop, Digesting, Digests,
// Unwritten, Reserved, Code, Kernel, Counter and Stopped get no reply; the others wait for theirs. While the recorder
// waits for Ready, Prepared or Recorded, the parent has it Fetch memory.
//
//     recorder                         parent
//     Hello                            Welcome (+ counters) or Refused
//     Reserved                                                   a device's addresses are elsewhere
//     Chunk (+ memory), Drop                                     memory appears, goes
//     Much                             Ready                     so much memory that fetching it is made ready
//     Digesting                                                  before those of much memory
//     Digests                                                    before Prologue or Epilogue: of memory as it is then
//     Unwritten                                                  the same, of memory that it shares: since the last one
//     Query                            Selected                  once a kernel
//     Code                                                       before the first Kernel without IR whose code it is
//     Kernel                                                     before a kernel's first Prologue
//     Counter                                                    gives a meaning to a slot of the counters
//     Prologue                         Prepared                  memory is at rest; the parent takes its state
//                                      Fetch                     what the parent needs of memory that it cannot reach
//     Fetched                                                    where the parent wanted it; in the order asked for
//     Epilogue                         Recorded                  the launch ended
//     Stopped                                                    nothing is recorded any more
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/file.h"
#include "base/packing.h"
#include "bundle/format.h"
#include "memory/listing.h"

namespace mneme::record {

inline constexpr uint32_t kProtocolVersion = 11;
inline constexpr const char* kSocketVariable = memory::kRecordingVariable;  // meeting_point.h
inline constexpr uint64_t kMaxMessage = uint64_t{1} << 30;                  // bytes

// What lies at Hello's probe: the parent tries whether it can read the application's memory.
inline constexpr char kProbe[] = "the memory of a process that mneme-capture records";

enum class Type : uint32_t {
  kHello = 1,
  kWelcome,
  kRefused,
  kChunk,
  kDrop,
  kDigests,
  kQuery,
  kSelected,
  kKernel,
  kCounter,
  kPrologue,
  kPrepared,
  kEpilogue,
  kRecorded,
  kStopped,
  kFetch,
  kFetched,
  kReserved,
  kMuch,
  kReady,
  kDigesting,
  kUnwritten,
  kCode
};

struct Hello {
  static constexpr Type kType = Type::kHello;
  uint32_t version = kProtocolVersion;
  int64_t rank = -1;  // in an MPI job; -1: none
  // In a process that was forked, after its parent had connected for it: both, as they see themselves. Else 0.
  int32_t parent = 0, process = 0;
  uint64_t probe = 0;  // address of kProbe
  bool gpu = false;    // its kernels run on one, not on the host device
  void visit(auto& visitor) { visitor(version, rank, parent, process, probe, gpu); }
};

// Comes with the descriptor of the counters (counters.h).
struct Welcome {
  static constexpr Type kType = Type::kWelcome;
  uint64_t max_instances = 0;  // of a kernel
  uint64_t occurrences = 0;    // of launches alike
  uint64_t skip = 0;           // first launches of a kernel
  uint64_t every = 1;          // of those after them, each Nth
  bool only_config = false;    // launches are alike whose dimensions are
  uint64_t range_size = 0;     // bytes of each address range
  bool children = true;        // processes that it forks are recorded, too
  bool reads_memory = false;   // the parent reads the process's own memory: chunks of it need no descriptor
  void visit(auto& visitor) {
    visitor(max_instances, occurrences, skip, every, only_config, range_size, children, reads_memory);
  }
};

struct Refused {
  static constexpr Type kType = Type::kRefused;
  std::string reason;
  void visit(auto& visitor) { visitor(reason); }
};

// Memory at [address, address + size) of the application is the descriptor's first `size` bytes; without one it is the
// process's own, and is read there; or a device's, and fetched. No two overlap.
struct Chunk {
  static constexpr Type kType = Type::kChunk;
  uint64_t address = 0;
  uint64_t size = 0;
  bool fetched = false;
  uint32_t device = 0;  // of what is fetched
  void visit(auto& visitor) { visitor(address, size, fetched, device); }
};

// A device's range lies elsewhere than where all processes have it: in one allocation of the runtime's, which a replay
// on such a device has to be given again at the same address.
struct Reserved {
  static constexpr Type kType = Type::kReserved;
  uint64_t address = 0;
  uint64_t size = 0;
  uint32_t device = 0;
  void visit(auto& visitor) { visitor(address, size, device); }
};

struct Drop {
  static constexpr Type kType = Type::kDrop;
  uint64_t address = 0;  // of a Chunk
  void visit(auto& visitor) { visitor(address); }
};

// The process's own memory is read for Digests: what the parent does besides is in its way until they are used.
struct Digesting {
  static constexpr Type kType = Type::kDigesting;
  void visit(auto&) {}
};

// Of whole blocks of memory, one behind the other, as they are at the next Prologue or Epilogue: what has the digest
// that it had need not be read again.
struct Digests {
  static constexpr Type kType = Type::kDigests;
  uint64_t address = 0;  // of the first block
  std::vector<Digest> blocks;
  void visit(auto& visitor) { visitor(address, blocks); }
};

struct Query {
  static constexpr Type kType = Type::kQuery;
  std::string demangled;
  void visit(auto& visitor) { visitor(demangled); }
};

struct Selected {
  static constexpr Type kType = Type::kSelected;
  bool selected = false;
  void visit(auto& visitor) { visitor(selected); }
};

// Of kernels without IR, the code that ran, or the PTX beside it: of hundreds, where they are of one module, the same.
struct Code {
  static constexpr Type kType = Type::kCode;
  std::string bytes;
  bool source = false;  // it is no code, but what kernels with IR were compiled of
  void visit(auto& visitor) { visitor(bytes, source); }
};

struct Kernel {
  static constexpr Type kType = Type::kKernel;
  std::string json;
  std::string bitcode;  // empty: it has no IR
  void visit(auto& visitor) { visitor(json, bitcode); }
};

// Launches counted in `slot` were not recorded, for this reason; without one they are all of the kernel's.
struct Counter {
  static constexpr Type kType = Type::kCounter;
  uint32_t slot = 0;
  bool wanted = false;  // they would have been recorded if that were possible
  std::string kernel;
  std::string reason;
  void visit(auto& visitor) { visitor(slot, wanted, kernel, reason); }
};

struct MemoryRange {
  uint64_t address = 0;
  uint64_t size = 0;  // bytes
  void visit(auto& visitor) { visitor(address, size); }
};

// Whole blocks of memory, by address, that nobody has written since the last of these messages. It comes each time,
// also where it has none: each speaks of what was since the one before.
struct Unwritten {
  static constexpr Type kType = Type::kUnwritten;
  std::vector<MemoryRange> runs;
  void visit(auto& visitor) { visitor(runs); }
};

// `count` segments, each `stride` behind the one before.
struct WireSegment {
  uint64_t address = 0;
  uint64_t size = 0;
  uint32_t kind = 0;  // bundle::SegmentKind
  std::string symbol;
  std::string annotation;
  uint32_t device = 0;
  uint64_t count = 1, stride = 0;
  void visit(auto& visitor) { visitor(address, size, kind, symbol, annotation, device, count, stride); }
};

// Memory that kernels may reach, and of which no recording can be made.
struct OutsideMemory {
  uint64_t address = 0;
  uint64_t size = 0;
  std::string reason;  // "memory that …"
  void visit(auto& visitor) { visitor(address, size, reason); }
};

struct Prologue {
  static constexpr Type kType = Type::kPrologue;
  Digest kernel;
  uint64_t index = 0;
  bundle::Dim3 grid, block;
  uint32_t shared_bytes = 0;
  uint64_t stack_bytes = 0;
  uint32_t slot = 0;  // counts the launches alike
  uint32_t device = 0;
  std::string arguments;
  std::vector<WireSegment> segments;   // by address, disjoint
  std::vector<OutsideMemory> outside;  // by address
  std::vector<MemoryRange> ordinary;   // the process's memory that no arena gave out, by address
  std::vector<std::string> missing;    // what its arguments point to that is in no segment: sentences
  bool cooperative = false;
  bundle::Dim3 cluster;                 // blocks
  std::string textures;                 // as bundle/textures.h writes them; empty: it has none
  Digest check;                         // the choice whose variant the parent is to run on the same memory; empty: none
  std::vector<std::string> attributes;  // what the launch asked for that a replay leaves out: "priority -5"
  void visit(auto& visitor) {
    visitor(kernel, index, grid, block, shared_bytes, stack_bytes, slot, device, arguments, segments, outside, ordinary,
            missing, cooperative, cluster, textures, check, attributes);
  }
};

struct Prepared {
  static constexpr Type kType = Type::kPrepared;
  bool ready = false;
  std::string reason;  // why this kernel cannot be recorded
  bool polls = false;  // it reads host memory again and again, and may wait for the application to write it
  void visit(auto& visitor) { visitor(ready, reason, polls); }
};

struct Epilogue {
  static constexpr Type kType = Type::kEpilogue;
  bool completed = false;  // the launch and everything before it succeeded
  void visit(auto& visitor) { visitor(completed); }
};

// Device memory.
struct Piece {
  uint64_t address = 0;
  uint64_t size = 0;
  uint32_t device = 0;
  void visit(auto& visitor) { visitor(address, size, device); }
};

// The pieces are wanted one behind the other, from an offset on in memory that is the parent's: the first time, its
// descriptor comes with this. Without any, the memory there is made ready.
struct Fetch {
  static constexpr Type kType = Type::kFetch;
  uint64_t at = 0;    // bytes; a multiple of `room`
  uint64_t room = 0;  // bytes that may be used there
  uint64_t size = 0;  // of all that memory
  std::vector<Piece> pieces;
  void visit(auto& visitor) { visitor(at, room, size, pieces); }
};

struct Fetched {
  static constexpr Type kType = Type::kFetched;
  uint64_t at = 0;
  void visit(auto& visitor) { visitor(at); }
};

// There is much memory that is going to be fetched: what that takes is made ready now, by Fetches without pieces, and
// not while a launch waits for it.
struct Much {
  static constexpr Type kType = Type::kMuch;
  static constexpr uint64_t kBytes = 64 << 20;  // are not that much yet
  void visit(auto&) {}
};

struct Ready {
  static constexpr Type kType = Type::kReady;
  void visit(auto&) {}
};

struct Recorded {
  static constexpr Type kType = Type::kRecorded;
  bool go_on = true;  // false: the parent can write no more
  // Of a launch that was to be checked.
  bool same = false;   // the variant did what the application's own code did
  std::string reason;  // why not, or why that is not known
  void visit(auto& visitor) { visitor(go_on, same, reason); }
};

struct Stopped {
  static constexpr Type kType = Type::kStopped;
  std::string reason;
  void visit(auto& visitor) { visitor(reason); }
};

// ---- sending ---------------------------------------------------------------------------------------------------

struct Message {
  Type type{};
  std::string body;
  Fd descriptor;
};

// Both throw Error when the other side is gone or talks nonsense. Never raises SIGPIPE.
void send_message(int socket, Type type, std::string_view body, int descriptor = -1);
std::optional<Message> receive_message(int socket);  // nullopt: the other side has ended

void send_message(int socket, const Digests& digests, int = -1);  // megabytes, which are not copied first

template <class M>
void send_message(int socket, const M& message, int descriptor = -1) {
  send_message(socket, M::kType, pack(message), descriptor);
}

}  // namespace mneme::record
