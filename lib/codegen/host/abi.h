// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel compiled for the host device and whoever calls it agree on. Plain data, no LLVM: the
// code generator lays out the same structures in IR (neutral/context.cc, forms/variables.cc), and a test compares the
// two.
#pragma once
#include <cstdint>

namespace mneme::codegen::host {

inline constexpr uint32_t kAbiVersion = 8;
inline constexpr char kEntrySymbol[] = "mneme_code_object";  // a CodeObject, in the shared object

struct Services;
struct BlockContext;

// A place in the kernel's source, for findings. The same each time for one instruction.
struct Site {
  const char* place;  // "reduce.hip:12"; empty: not known
  uint32_t flags;     // MemoryAccess, and TrackedFlags
};

// Four channels of an image: floats, or the bits of integers.
using Texel = uint32_t __attribute__((vector_size(16)));

// A work-item of the context's block.
using ItemFunction = void (*)(BlockContext*, uint32_t x, uint32_t y, uint32_t z);

// Where in a launch's implicit arguments, of which AMD leaves these 64 bytes free, CUDA's cooperative groups keep the
// grid's barrier. Zeros at first.
inline constexpr uint32_t kGridWorkspace = 128;

// Everything that the work-items of one block see. One a thread of the CPU; `group` changes from
// block to block.
struct BlockContext {
  const void* arguments;    // the kernel's argument bytes
  const void* implicit;     // 256 bytes laid out as AMDGPU's implicit arguments (code object v5); see kGridWorkspace
  const void* dispatch;     // 64 bytes laid out as an AQL kernel dispatch packet
  void* shared;             // static shared memory, then dynamic, aligned to 128
  void* frames;             // room for what work-items keep across barriers
  uint64_t frames_size;     // bytes
  uint32_t group[3];        // block index
  uint32_t block[3];        // threads in a block
  uint32_t grid[3];         // blocks in the grid
  uint32_t shared_dynamic;  // bytes of dynamic shared memory
  // How the block ended, set by the code: 0 well; see BlockFault.
  uint32_t fault;
  uint32_t fault_thread;  // linear index in the block
  const Services* services;
  void* launch;                         // the caller's own, for its services
  const struct WrittenMemory* written;  // of code with kCheckInit or kCheckSync
};

// Shadow memory of a range of addresses: a byte each, all ones where something was written.
struct WrittenRange {
  uint64_t begin;
  uint64_t size;  // the shadow has kMostWritten bytes more
  uint8_t* shadow;
};
inline constexpr uint64_t kMostWritten = 256;  // bytes of an access that is followed

// Memory that is written when first it is given out, or is not followed, is in neither range.
struct WrittenMemory {
  WrittenRange shared;  // the block's
  WrittenRange device;
  const uint8_t* all;  // kMostWritten bytes of ones
  uint8_t* anything;   // as many, for shadows of what is not followed
};

enum BlockFault : uint32_t {
  kNoFault = 0,
  kFramesExhausted = 1,  // `frames_size` is too small for what the block's work-items keep
  kTrapped = 2,          // __builtin_trap and the like
  kAborted = 3,          // abort()
  kAssertionFailed = 4,  // stop()'s text is the message
  kWildCall = 5,         // a call through a pointer to no function of the device's
  kOther = 6,            // stop()'s text says what, as a verb's phrase: "uses a texture that …"
  kMisaligned = 7        // an address is not a multiple of what the access asks for
};

// What code may ask of whoever runs it. Each is called on the thread that runs the block, with the block's context and
// the asking work-item's linear index in the block. In IR: `mneme.service.<member>(what follows those two)`
// (neutral.h, services.cc).
struct Services {
  // Ends the launch and does not return. `text`: null, or more about it.
  void (*stop)(BlockContext*, uint32_t thread, uint32_t fault, const char* text);

  // printf as HIP's device library sends it: begun for stdout (1) or stderr (2), then the format and each string
  // argument
  // (`length` counts the final zero; null for a null pointer), and other arguments as up to seven 64-bit words. The one
  // with `last` set ends it and gives what printf returns; the others give the message to pass to the next.
  uint64_t (*print_begin)(BlockContext*, uint32_t thread, uint32_t stream);
  uint64_t (*print_string)(BlockContext*, uint32_t thread, uint64_t message, const char* bytes, uint64_t length,
                           uint32_t last);
  uint64_t (*print_words)(BlockContext*, uint32_t thread, uint64_t message, uint32_t count, uint64_t, uint64_t,
                          uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint32_t last);

  // The device's heap. Null: it is full.
  void* (*allocate)(BlockContext*, uint32_t thread, uint64_t size);
  void (*release)(BlockContext*, uint32_t thread, void* address);

  // Before each access to memory that is not the work-item's own, in code compiled to be checked. Does not return if
  // `size` bytes at `address`, which is to be a multiple of `align`, are not to be had. The address was computed from
  // `origin`: where that is memory of the device's, only the same piece of it will do.
  void (*check)(BlockContext*, uint32_t thread, const void* origin, const void* address, uint64_t size,
                uint32_t access /* MemoryAccess */, uint32_t align);

  // A barrier of the grid (called once a block, when all its work-items have come).
  void (*converge_grid)(BlockContext*, uint32_t thread);

  // assert(): says so on stderr and ends the launch.
  void (*fail_assertion)(BlockContext*, uint32_t thread, const char* assertion, const char* file, uint32_t line,
                         const char* function);
  // Ticks since some moment, kWallClockRate of them a millisecond.
  uint64_t (*wall_clock)(BlockContext*, uint32_t thread);

  // For code in the fiber form (fiber_form.cc). Calls `item` for each work-item of the block, each on a stack of its
  // own. Returns when all have ended.
  void (*run_items)(BlockContext*, uint32_t thread, ItemFunction item, uint32_t wave_size);
  // A work-item comes to the convergence point with this number (convergence.h) of the function it is in. Returns when
  // the others have, with what the operation gives.
  uint64_t (*converge)(BlockContext*, uint32_t thread, uint32_t collective /* CollectiveKind */, uint32_t point,
                       uint64_t value, uint64_t otherwise, uint32_t lane);
  // Before and after a call of a function with convergence points: the call's own number.
  void (*enter)(BlockContext*, uint32_t thread, uint32_t point);
  void (*leave)(BlockContext*, uint32_t thread);

  // A barrier was released that not all work-items of the block came to. Each of `count` is, by its linear index, at
  // the barrier of the given number, or has ended (kEndedPoint). `thread` is 0.
  void (*diverged)(BlockContext*, uint32_t thread, const uint32_t* points, uint32_t count);

  // Images, by the addresses of their descriptors (device/host/services/images.h). A texel outside reads as zeros and
  // takes no stores. `shape`: ImageShape.
  Texel (*image_load)(BlockContext*, uint32_t thread, uint64_t image, int32_t x, int32_t y, int32_t z);
  void (*image_store)(BlockContext*, uint32_t thread, uint64_t image, int32_t x, int32_t y, int32_t z, Texel);
  Texel (*image_sample)(BlockContext*, uint32_t thread, uint64_t image, uint64_t sampler, uint32_t shape, float x,
                        float y, float z, float layer, float level);
  Texel (*image_gather)(BlockContext*, uint32_t thread, uint64_t image, uint64_t sampler, uint32_t channel, float x,
                        float y);
  uint32_t (*image_query)(BlockContext*, uint32_t thread, uint64_t image, uint32_t what /* ImageQuery */);
  // The level of detail at which texels are as large as the longer of two vectors in texture coordinates.
  float (*image_level)(BlockContext*, uint32_t thread, uint64_t image, uint64_t sampler, uint32_t shape, float x0,
                       float y0, float z0, float x1, float y1, float z1);
  // CUDA's surfaces: bytes (1, 2, 4, 8, 16) of an image, whatever its format, at byte x of a row. `bounds`:
  // SurfaceBounds.
  Texel (*surface_load)(BlockContext*, uint32_t thread, uint64_t image, uint32_t bytes, uint32_t bounds, int32_t x,
                        int32_t y, int32_t z);
  void (*surface_store)(BlockContext*, uint32_t thread, uint64_t image, uint32_t bytes, uint32_t bounds, int32_t x,
                        int32_t y, int32_t z, Texel);

  // All work-items of the block that have not ended wait, some of them for memory that another block may change.
  // `moved`: 1 if something else has happened in the block since it last said so. Returns for them to look again.
  void (*yield)(BlockContext*, uint32_t thread, uint32_t moved);

  // What CUDA's printf returns: how many arguments the format takes.
  uint32_t (*print_count)(BlockContext*, uint32_t thread, const char* format);

  // The heap of a program whose kernels have Mneme's allocator: `heap` is its variable (objects/device_heap.h). Where
  // that says that there is none it is the device's.
  void* (*allocate_in)(BlockContext*, uint32_t thread, const void* heap, uint64_t size);
  void (*release_in)(BlockContext*, uint32_t thread, const void* heap, void* address);

  // Before each access to memory that is not the work-item's own, in code that collects findings (CodeObject::checks).
  // `value`: what is stored there, where `site` has kTrackedValue.
  void (*track)(BlockContext*, uint32_t thread, const void* address, uint64_t size, uint64_t value, const Site* site);
  // At synchronisation that is in the source, in such code; see TrackedSync.
  void (*track_sync)(BlockContext*, uint32_t thread, uint32_t kind /* TrackedSync */, const Site* site);
  // A collective of a wave that names its lanes in a mask; `here`: those that have come to it together.
  void (*track_mask)(BlockContext*, uint32_t thread, uint64_t mask, uint64_t here, const Site* site);

  // A read of bytes of which some were never written, or, where `site` has kReadsLane, of the lane `address`, which
  // does not take part. Gives the read a number, from 1 on, below kComputedRead.
  uint32_t (*unwritten_read)(BlockContext*, uint32_t thread, const void* address, uint64_t size, const Site* site);
  // Something depends on a value that comes from the read with this number. `how`: UseOfUnwritten. `address`: of
  // kStoresResult; null: none.
  void (*unwritten_use)(BlockContext*, uint32_t thread, uint32_t number, uint32_t how, const void* address,
                        const Site* site);
  // The value is stored: a read of these bytes is the read with that number.
  void (*unwritten_keep)(BlockContext*, uint32_t thread, uint32_t number, const void* address, uint64_t size);
  // `size` bytes are written, or, unless `from` is null, copied from there.
  void (*written)(BlockContext*, uint32_t thread, const void* to, const void* from, uint64_t size);

  // In such code, behind an operation on `count` numbers, at most 3, whose result is a NaN or an infinity. `operation`
  // is its name, or its sign between two.
  void (*found_number)(BlockContext*, uint32_t thread, const char* operation, uint32_t count, double result, double a,
                       double b, double c, const Site* site);
};

enum ImageShape : uint32_t {
  kImageDimensions = 3,  // how many
  kImageLayers = 4,      // a layer is given
  kImageCube = 8,        // x, y and z are a direction; of two dimensions
  kImageLevel = 16       // a level of detail is given; else it is the first
};
enum ImageQuery : uint32_t {
  kChannelType = 0,
  kChannelOrder = 1,
  kImageWidth = 2,   // texels, likewise
  kImageHeight = 3,  //
  kImageDepth = 4,   // or layers
  kImageLevels = 5
};
// Of what lies outside: it ends the launch, is the nearest inside, or reads as zeros and takes no stores.
enum SurfaceBounds : uint32_t { kTrapOutside = 0, kClampToInside = 1, kZeroOutside = 2 };
// Bytes from a texture object's image to its sampler, as in HIP's device headers.
inline constexpr uint64_t kSamplerOffset = 48;

inline constexpr uint32_t kEndedPoint = ~0u;
// Of a block, static and dynamic together: no less than any GPU has, so that what was recorded there can be replayed.
inline constexpr uint32_t kMaxSharedBytes = 256 * 1024;
// The lower halves of addresses in shared memory are no less, so that one tells from a distance from its beginning.
inline constexpr uint32_t kLeastSharedAddress = 1 << 20;
static_assert(kMaxSharedBytes <= kLeastSharedAddress);
inline constexpr uint32_t kWallClockRate = 100'000;  // kHz, as on AMD's GPUs

// Collectives, as neutral.h describes them.
enum CollectiveKind : uint32_t {
  kBlockBarrier = 0,
  kBlockCount = 1,
  kGridBarrier = 2,
  kWaveSync = 3,
  kWaveBallot = 4,
  kWavePermute = 5,
  kWaveFirst = 6,
  kYield = 7  // none: the others go on, but with `value` 1 not the wave's lanes at later collectives
};

enum MemoryAccess : uint32_t { kReads = 0, kWrites = 1, kUpdates = 2 };

// Bits of Site::flags, above MemoryAccess.
enum TrackedFlags : uint32_t {
  kTrackedAccess = 3,    // MemoryAccess
  kTrackedAtomic = 4,    // an atomic operation
  kTrackedVolatile = 8,  // a volatile access
  kTrackedAcquire = 16,  // orders what follows
  kTrackedRelease = 32,  // orders what came before
  kTrackedBlock = 64,    // atomic, or in order, for the block's work-items only
  kTrackedValue = 128,   // the value is known
  kTrackedShared = 256,  // in shared memory, as far as that shows
  kReadsLocal = 512,     // of unwritten_read: of a local variable
  kReadsLane = 1024,     // likewise, of another lane
  kMissedAtEnd = 2048    // of a barrier: work-items that do not come to it do nothing any more
};

enum TrackedSync : uint32_t {
  kTrackedBarrier = 0,      // the work-item has left a barrier of the block
  kTrackedGridBarrier = 1,  // likewise, of the grid
  kTrackedWave = 2,         // it comes to a collective of its wave
  kTrackedFence = 3,        // it passes a fence
  kTrackedBlockFence = 4,   // one for the block's work-items
  kTrackedArrival = 5,      // it comes to a barrier of the block or grid
  kTrackedBareBarrier = 6,  // likewise, with no fence before
  kTrackedEnd = 7           // it ends
};

enum UseOfUnwritten : uint32_t {
  kDecidesBranch = 0,
  kIsAddress = 1,
  kIsUpdate = 2,     // an operand of an atomic operation, or what that changes
  kStoresResult = 3  // of an operation, to memory that is not the block's own
};
// A bit of a read's number: the value is the result of an operation.
inline constexpr uint32_t kComputedRead = 1u << 31;

// The checks that code was compiled for: bits of CodeObject::checks.
enum TrackedChecks : uint32_t {
  kCheckInit = 1,
  kCheckNan = 2,
  kCheckRaces = 4,
  kCheckSync = 8,
  kInStep = 16  // no check: the lanes of a wave run in step, so that a fence orders what they do
};

// Members of Services, in order.
inline constexpr const char* kServiceNames[] = {
    "stop",           "print_begin",   "print_string",   "print_words",  "allocate",      "release",
    "check",          "converge_grid", "fail_assertion", "wall_clock",   "run_items",     "converge",
    "enter",          "leave",         "diverged",       "image_load",   "image_store",   "image_sample",
    "image_gather",   "image_query",   "image_level",    "surface_load", "surface_store", "yield",
    "print_count",    "allocate_in",   "release_in",     "track",        "track_sync",    "track_mask",
    "unwritten_read", "unwritten_use", "unwritten_keep", "written",      "found_number"};
static_assert(sizeof kServiceNames == sizeof(Services));

// A device variable that the code refers to. Its memory is the caller's, who stores its address
// before the first block runs. `initial` is what a fresh one holds (for a constant, always); pointers
// inside it to other variables are listed in `relocations`.
struct GlobalRelocation {
  uint64_t offset;  // in `initial`: 8 bytes to add the address of `target` to
  uint64_t target;  // index of a variable
};
struct GlobalSlot {
  const char* name;
  uint64_t size;
  uint64_t align;
  const void* initial;  // `size` bytes; null: zeros
  const GlobalRelocation* relocations;
  uint64_t relocation_count;
  void* address;  // written by the caller
};

// How blocks wait for each other: bits.
enum Waits : uint32_t {
  kWaitAtGrid = 1,  // at converge_grid: all must be there at once
  kWaitByYield = 2  // those that wait give way to others
};

// Bits: stacks, and in the frames what the lanes of a wave share.
enum Keeps : uint32_t {
  kKeepsNothing = 0,  // BlockContext's `frames` may be null
  kKeepsFrames = 1,   // in `frames`
  kKeepsStacks = 2    // on stacks of their own: run_items
};

struct CodeObject {
  uint32_t version;  // kAbiVersion
  uint32_t keeps;    // where work-items keep what outlives a barrier: Keeps
  uint32_t ordered;  // 1: the result depends on the order of blocks (order of atomics): run them in order
  uint32_t waits;    // for other blocks: Waits
  void (*run_block)(BlockContext*);
  uint64_t shared_static;  // bytes of static shared memory
  GlobalSlot* globals;
  uint64_t global_count;
  const char* kernel;     // demangled name, for messages
  uint32_t most_threads;  // that a block may have, by the kernel's launch bounds
  // For each dimension: the code takes the grid's size times this, too, to be a number of work-items that a launch may
  // have (blockIdx.x * 256 + threadIdx.x). 0: no such number.
  uint32_t block_strides[3];
  // Not 0: the code is for blocks of which the lanes of each wave differ in the first so many dimensions.
  uint32_t wave_dimensions;
  uint32_t wave_size;
  uint32_t checks;  // findings that the code collects: TrackedChecks
};

}  // namespace mneme::codegen::host
