// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bundle's on-disk structures, version 6: the only authority in code. FORMAT.md says the same in
// prose. Json texts are compact, one line, keys in the order of the members below.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"

namespace mneme::bundle {

inline constexpr int kFormatVersion = 6;       // the newest that is read
inline constexpr int kFirstFormatVersion = 1;  // what a bundle has that needs nothing newer: older readers take it
// From this one on a variant may be without code: it failed, or another one's is the same.
inline constexpr int kVariantsWithoutCode = 2;
// A tool has been at work that adds variants that are launched otherwise than was recorded, or run on one instance
// only.
inline constexpr int kOtherLaunches = 3;
// Recorded on an NVIDIA GPU or the CPU: arguments may hold handles of a CUDA program's textures and surfaces, which a
// replay has to make anew.
inline constexpr int kTexturesRecorded = 4;
// Bundles were merged: memory is "kept".
inline constexpr int kKeptBlocks = 5;
// Recorded on an NVIDIA GPU: kernels may be without IR, and have the code that ran in its place.
inline constexpr int kKernelsWithoutIr = 6;
inline constexpr uint64_t kBlockSize = 64 << 10;      // bytes; blocks are aligned to their size
inline constexpr size_t kBlocksPerPack = 128;         // 8 MiB of blocks
inline constexpr uint64_t kMaxJsonSize = 64 << 20;    // bytes of one json member
inline constexpr uint64_t kMaxCodeSize = 512u << 20;  // bytes of one kernel.bc or code member
inline constexpr uint64_t kMaxStateSize = 1u << 30;   // bytes of one state member

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  bool operator==(const Dim3&) const = default;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

// How a kernel is launched.
struct LaunchSize {
  Dim3 grid;                  // blocks
  Dim3 block;                 // threads
  uint32_t shared_bytes = 0;  // dynamic shared memory of a block
  bool operator==(const LaunchSize&) const = default;
};

// ---- bundle.json ------------------------------------------------------------------------------

struct Provenance {
  std::string tool;
  std::string version;
  std::vector<std::string> arguments;
  int input_format = 0;  // format version of the bundle read; 0 for the tool that made it
};

struct AddressRange {
  std::string name;  // "device" or "host"
  uint64_t base = 0;
  uint64_t size = 0;  // bytes
};

struct BundleInfo {
  int version = kFirstFormatVersion;
  std::string device;  // what the recording ran on: "host", "cuda", "hip"
  std::vector<AddressRange> ranges;
  // Or "kept" (packs whose blocks stay at hand until a member says which do), "raw" (what mneme-restore writes), or
  // "none" (mneme-run consumed it).
  std::string memory = "packs";
  std::vector<Provenance> provenance;
  bool has_source = false;  // kernels' source text is in it; in json only if true
};

// ---- kernels/<static>/kernel.json -------------------------------------------------------------

struct ByteRange {
  uint32_t offset = 0;
  uint32_t size = 0;
};

struct Argument {
  uint32_t offset = 0;  // in the argument bytes
  uint32_t size = 0;
  std::string kind;                // "pointer", "scalar", "struct"
  std::string type;                // element type as LLVM spells it: "i32", "double", "ptr", "%struct.Body"
  std::vector<ByteRange> padding;  // within the argument; recorded as zeros
  std::string name = {};           // in the source; in json only where it is known
};

struct Global {
  std::string name;
  uint64_t size = 0;
  uint32_t align = 1;
  bool constant = false;
};

// Elements of an array that lies within what a pointer leads to: the first, and those behind it.
struct Elements {
  uint64_t stride = 0;  // bytes
  uint64_t count = 0;
  bool operator==(const Elements&) const = default;
};

// Where a pointer lies before it is followed: `offset` bytes behind what another pointer points to, or behind a
// variable's beginning, or in the argument bytes; and any multiple of `stride` from there, ahead or behind, within what
// is allocated there or within the argument; there in any element of each of the arrays.
struct PointerPlace {
  int64_t pointer = -1;          // the other's place among the kernel's pointers
  std::string symbol;            // of a variable. Neither: in the argument bytes
  int64_t offset = 0;            // bytes; not negative but behind a pointer
  uint64_t stride = 0;           // bytes; 0: exactly there
  std::vector<Elements> arrays;  // in json only if there are any
  bool operator==(const PointerPlace&) const = default;
};

// A pointer through which a kernel accesses memory.
struct Pointer {
  std::vector<PointerPlace> at;  // one of them
  bool polled = false;           // whether a loop goes on depends on what is read there; in json only if true
  // It is no pointer: 64 bits that an element's number is computed from. Places that are not exactly known are left
  // out.
  bool number = false;  // in json only if true
  bool operator==(const Pointer&) const = default;
};

// The device's heap, among the globals of kernels that allocate from it: one a process, and as large as that makes it;
// its size here is 0. Where there is one, each instance's segment with it has this symbol.
inline constexpr char kDeviceHeap[] = "__mneme_device_heap";

// Among the globals of CUDA kernels that use textures or surfaces, with no bytes: handles stand for those.
inline constexpr char kTextures[] = "__mneme_textures";

// A handle of a texture or a surface that a kernel uses.
struct Handle {
  int64_t argument = -1;  // its offset in the argument bytes, of which it is 8; -1: it comes from elsewhere
  bool surface = false;
  bool operator==(const Handle&) const = default;
};

// What a kernel stores through a pointer.
struct StoreType {
  int64_t argument = -1;  // the pointer's offset in the argument bytes; -1: it is no argument
  std::string symbol;  // of a variable that is stored to; else empty. Neither: pointers of other origin, all together
  std::string type;    // "f64", "i32", …; "mixed" if there are several, or one that is no number
  // Through an argument that is declared __restrict__: pointers of other origin do not lead where it does.
  bool restrict = false;
};

// Also the header that mneme-inject embeds in the executable (objects/embedded.h).
struct KernelInfo {
  Digest id;         // static hash
  std::string name;  // as the linker sees it
  std::string demangled;
  std::string target;  // triple and processor: "amdgcn-amd-amdhsa--gfx90a"
  uint32_t wave_size = 64;
  uint32_t argument_bytes = 0;  // explicit arguments only
  std::vector<Argument> arguments;
  std::vector<Global> globals;         // device variables it can reach
  std::vector<std::string> functions;  // functions whose address it takes
  std::vector<Pointer> pointers;       // as far as its IR tells
  std::string source;                  // the file that was compiled
  Digest bitcode;                      // of kernel.bc
  // What their addresses are in the program that was recorded, as many as there are functions; 0: not known. Empty:
  // none is; the host device makes them of names (objects/function_address.h). In json only if there are any, and then
  // the id covers them: code for this kernel has to have functions at the same addresses.
  std::vector<uint64_t> function_addresses = {};
  // Pass plugins of the application's own, by file name, that its IR has gone through: it is as they left it, optimised
  // at the application's level. In json only if there are any.
  std::vector<std::string> own_passes = {};
  // "ptx": its IR was made of PTX. In json only if it was.
  std::string lifted = {};
  // Of a CUDA kernel that uses textures or surfaces; in json only if there are any. None at all, where kTextures is
  // among the globals: an older mneme-inject did not look for them.
  std::vector<Handle> handles = {};
  // What it stores where. In json only if its IR tells mneme-inject all of it.
  std::optional<std::vector<StoreType>> stores = {};
  // Of a kernel that was recorded without IR: the file with the code that ran, kCubinFile or, where the driver compiled
  // that, kPtxFile; there is no kernel.bc, and `bitcode` is empty. The id covers this code and the name.
  std::string code = {};  // empty: it has IR, and what follows is empty, too
  Digest code_digest = {};
  Digest ptx = {};  // of kPtxFile beside a cubin, where its fat binary had PTX, too
  // The command that compiled `source`: directory, compiler, arguments. In json only where it is known.
  std::vector<std::string> command = {};
  Digest source_text = {};  // of the preprocessed source, in the bundle as kSourceFile; in json only if it is there
};

// Names, and in old bundles the members behind kernel.json.
inline constexpr char kCubinFile[] = "kernel.cubin", kPtxFile[] = "kernel.ptx", kSourceFile[] = "kernel.source";

inline bool has_ir(const KernelInfo& kernel) { return kernel.code.empty(); }

// What a kernel has beside its json, in order, with digests: kernel.bc, which follows kernel.json; or the code that
// ran, which lies in code members ahead of it.
struct KernelFile {
  std::string name;  // "kernel.bc"
  Digest digest;
};
std::vector<KernelFile> files_of(const KernelInfo& kernel);

// Whether it can reach the variable of that name, or what stands for more than a variable (above).
inline bool uses(const KernelInfo& kernel, std::string_view name) {
  return std::ranges::find(kernel.globals, name, &Global::name) != kernel.globals.end();
}

// ---- variants/<static>/<variant>/variant.json --------------------------------------------------

// One replay configuration. Its canonical json is hashed, with the kernel's id, to the variant id. Its keys are listed
// in json/configuration.cc.
struct Configuration {
  std::string target;         // "host:x86-64-v3"
  std::string passes;         // LLVM pipeline text: "default<O3>"; or one of those below, where no IR was compiled
  int codegen_opt = 3;        // 0..3
  std::string form;           // host device: "auto", "loop", "fiber"
  bool fuse = false;          // multiply-adds may be fused
  Digest ir;                  // of the edited IR given by --ir; empty: the recorded one
  bool check_memory = false;  // every access is checked; in json only if true
  bool baseline = false;      // the recorded code, for mneme-run --baseline only: no run is made of it; likewise
  // NVIDIA's GPUs: what makes a cubin of the PTX: "ptxas", "nvjitlink". Empty: the code stays PTX, and what follows has
  // no meaning; in json only otherwise.
  std::string assembler = {};
  int ptxas_level = 3;         // how much it optimises, 0..3
  uint32_t max_registers = 0;  // of a thread; 0: as many as it likes; in json only if there is a limit
  // What follows is in json only if it is set. docs/configurations.md says how lists in texts are written.
  std::string cpu = {};       // as LLVM calls it; empty: what the target says
  std::string features = {};  // of the processor: "+avx512vnni,-fma"
  uint32_t code_object = 0;   // AMD's GPUs: the code object's version, 4 to 6; 0: as the IR has it
  uint32_t max_threads = 0;   // launch bounds: of a block; 0: as the IR has it
  uint32_t min_blocks = 0;    // that a multiprocessor is to hold; likewise
  std::optional<uint32_t> unroll_threshold = {}, inline_threshold = {};  // LLVM's, where they are not its defaults
  std::string fast_math = {};                                            // flags of floating-point operations
  std::string attributes = {};                                           // of the kernel's function
  std::string plugins = {};                                              // digests of the files with further passes
  std::optional<Dim3> grid = {}, block = {};                             // of the launch, where not as recorded
  std::optional<uint32_t> shared_mem = {};                               // bytes of dynamic shared memory; likewise
  std::string specialize_args = {};                                      // arguments that are constants: "0,2", "all"
  bool specialize_dims = false;                                          // grid and block are
  Digest instance = {};                                  // whose values those are: it is run on no other
  std::optional<uint32_t> warmup = {}, iterations = {};  // executions, where mneme-run's options are not to say
  bool contract = false;                                 // multiply-adds are fused where the IR allows it
  Digest code = {};         // of the file given by --code, which this code is, or was assembled of
  std::string checks = {};  // host device: findings that the code collects, sorted: "init,races" (docs/checks.md)
  bool algebra = false;     // host device: floating-point values are elements of a ring (docs/checks.md)
  std::optional<uint32_t> opt_bisect = {};  // how many of the pipeline's passes run; the others are skipped
  std::string llvm = {};                    // another LLVM compiled it: its version
};

// What a configuration has as `passes` where no IR was compiled: the code is what ran, or an assembler's of its PTX, or
// --code's.
inline constexpr char kAsRecorded[] = "as recorded", kRecordedPtx[] = "recorded PTX", kGivenCode[] = "given code";

struct ConstantBank {
  uint32_t bank = 0;
  uint64_t bytes = 0;
  bool operator==(const ConstantBank&) const = default;
};

// What a kernel takes of an AMD GPU beside that, as its code object says. Numbers, none of them bytes.
struct AmdResources {
  uint32_t scalar_registers = 0;        // of a wave
  uint32_t accumulation_registers = 0;  // of a thread; `registers` counts them where they share a file
  uint32_t spilled_registers = 0, spilled_scalar_registers = 0;  // that did not suffice
  uint32_t wave_size = 0;                                        // threads
  uint32_t occupancy = 0;  // waves that a SIMD can hold at once, as far as the kernel's registers and shared memory go
  bool operator==(const AmdResources&) const = default;
};

// What a kernel takes of a GPU, as NVIDIA's assembler or AMD's code object says. In bytes, but for the registers.
struct Resources {
  uint32_t registers = 0;                      // of a thread: AMD's vector registers
  uint64_t stack = 0;                          // local memory of a thread: the kernel's own frame
  uint64_t spill_stores = 0, spill_loads = 0;  // of registers that did not suffice; of the kernel and what it calls
  uint64_t shared = 0;                         // of a block, of fixed size
  std::vector<ConstantBank> constants;         // by bank
  std::optional<AmdResources> amd = {};        // in json only then
  bool operator==(const Resources&) const = default;
};

struct VariantInfo {
  Digest id;
  Digest kernel;
  Configuration configuration;
  std::string code;  // the code member's file name: "code.so"
  Digest code_digest;
  std::string form;  // the form that was chosen: "loop", "fiber"
  std::vector<StoreType> stores;
  std::string assembled_by = {};            // "ptxas 13.0.88"; in json only where there was an assembler
  std::optional<Resources> resources = {};  // of code for a GPU, where it says so
  // Functions of AMD's device library, or instructions, that the recorded kernel has, and that the host device and the
  // GPU compute with different bits: "pow_f32"; in json only if there are any.
  std::vector<std::string> replaced = {};
  // A variant of the same kernel, ahead of this one, whose code member this one's code is; in json only then.
  Digest same_as = {};
  // Why there is no code: a sentence. In json only then, and nothing else with it but ids and configuration.
  std::string failed = {};

  bool has_code_member() const { return same_as.empty() && failed.empty(); }
};

// ---- instances/<static>/<dynamic>.json ---------------------------------------------------------

enum class SegmentKind { kHeap, kGlobal, kHost };

struct Segment {
  uint64_t address = 0;
  uint64_t size = 0;  // bytes
  SegmentKind kind = SegmentKind::kHeap;
  std::string symbol;      // of a global; else empty
  std::string annotation;  // json object text; empty: none
  uint32_t device = 0;     // whose memory it is; in json only if it is not the first's
};

// What textures and surfaces of a CUDA program stand for, in the numbers of CUDA's driver interface.

// Texels where only the driver knows: an array, which may have levels (mipmaps), layers or faces. Its contents are in a
// segment, as textures.h has them.
struct TextureArray {
  uint64_t address = 0;                       // of that segment
  uint64_t width = 0, height = 0, depth = 0;  // of the first level; 0: it has no such dimension; layers are depth
  uint32_t format = 0;                        // CUarray_format
  uint32_t channels = 0;
  uint32_t flags = 0;   // CUDA_ARRAY3D_…
  uint32_t levels = 0;  // 0: it is no mipmapped array
  bool operator==(const TextureArray&) const = default;
};

inline constexpr char kArraySymbol[] = "__mneme_array_";  // of an array's segment, followed by its number

enum class TextureSource : uint32_t { kArray, kMipmappedArray, kLinear, kPitched };  // CUresourcetype

struct TextureObject {
  uint32_t argument = 0;  // where its handle lies in the argument bytes
  bool surface = false;
  TextureSource source = TextureSource::kArray;
  uint64_t address = 0;                       // of the array's segment, or of memory
  uint32_t format = 0, channels = 0;          // of memory
  uint64_t width = 0, height = 0, pitch = 0;  // likewise; linear memory has only a width, in bytes
  // CUDA_TEXTURE_DESC, up to its reserved words: three address modes, filter, flags, anisotropy, filter of levels,
  // bias, least and greatest level, four border colours. A surface has none.
  std::array<uint32_t, 14> sampling = {};
  // CUDA_RESOURCE_VIEW_DESC likewise: format, width, height, depth, first and last level, first and last layer.
  std::optional<std::array<uint64_t, 8>> view = {};
  bool operator==(const TextureObject&) const = default;
};

// What an instance has of the memory that kernels can see: allocations that the arguments lead to, and what the
// pointers in these lead to.
inline constexpr char kReachArguments[] = "arguments";

struct InstanceInfo {
  Digest id;                      // dynamic hash
  Digest kernel;                  // static hash
  uint64_t index = 0;             // of this launch among all launches of the application, from 0
  Dim3 grid;                      // blocks
  Dim3 block;                     // threads
  uint32_t shared_bytes = 0;      // dynamic shared memory
  std::string arguments;          // the argument bytes, padding zeroed (hexadecimal in json)
  std::vector<Segment> segments;  // by address, disjoint
  Digest prologue;                // state ids
  Digest epilogue;
  // Sentences: what the kernel could reach that is not recorded. In json, with "complete": false, only if there are
  // any.
  std::vector<std::string> missing;
  uint32_t device = 0;       // that it ran on; in json only if it was not the first
  bool cooperative = false;  // all blocks run at once, and may wait for each other; in json only if true
  Dim3 cluster;              // blocks of a cluster, where the launch asked for clusters; likewise
  uint64_t stack_bytes =
      0;  // of each thread, where the application asked a GPU for more than it has by itself; likewise
  // What the launch asked for that says when and how fast the kernel runs, and that a replay leaves out: "priority -5";
  // likewise
  std::vector<std::string> attributes;
  std::string reach;                    // kReachArguments: no more is recorded than this; empty: all memory; likewise
  std::vector<TextureArray> arrays;     // that textures and surfaces stand for, by address; likewise
  std::vector<TextureObject> textures;  // by argument; likewise
};

// ---- runs/<static>/<dynamic>/<variant>.json ----------------------------------------------------

// A segment's errors of one kind, aggregated in each way (verify/errors.h says what an error is).
struct ErrorNorms {
  double linf = 0, l1 = 0, l2 = 0;  // may be infinite
  uint64_t worst = 0;               // index of the element with the largest
  std::string expected, actual;     // that element's bytes (hexadecimal in json)
  bool operator==(const ErrorNorms&) const = default;
};

// A segment read as elements of a type.
struct Observation {
  std::string type;       // as verify/element_type.h spells it
  uint64_t elements = 0;  // whole ones that are not ignored
  uint64_t differ = 0;    // those of which the bytes differ
  uint64_t tail = 0;      // bytes that differ behind the last whole element
  ErrorNorms absolute, relative;
  // Not there in runs of versions before 0.2. `scale` is what `scaled` was measured by: the root mean square of the
  // segment's elements as recorded, or the annotation's.
  std::optional<double> scale = {};
  std::optional<ErrorNorms> scaled = {}, ulps = {};
  bool operator==(const Observation&) const = default;
};

struct SegmentDifference {
  uint64_t address = 0;                         // of the segment
  uint64_t bytes = 0;                           // bytes that differ from the recorded epilogue
  uint64_t first = 0;                           // offset in the segment of the first of them
  uint32_t expected = 0;                        // that byte as recorded
  uint32_t actual = 0;                          // and as replayed
  std::optional<Observation> observation = {};  // where the segment's type is known
  // Of what differs, how much does not vary by itself: elements where the type is known, else bytes. Only where the run
  // has a baseline.
  std::optional<uint64_t> steady = {};
  bool operator==(const SegmentDifference&) const = default;
};

struct BlockDifference {
  uint64_t address = 0;
  Digest expected;
  Digest actual;
};

// A block of which some bytes were not the same after every execution of the recorded code.
struct VaryingBlock {
  uint64_t address = 0;
  Digest bytes;  // of a block of 64 KiB: a byte that varies is 1, others are 0
};

// How the recorded code's results vary by themselves, when it is replayed again and again: its executions compared with
// each other, not with the recording.
struct Baseline {
  uint32_t executions = 0;  // at least 2, or 0 where there is no baseline
  std::string reason;       // and why there is none
  // For each segment that varies, by address: every figure is the largest of those that tell how the other executions
  // differ from the first.
  std::vector<SegmentDifference> spread;
  std::vector<VaryingBlock> blocks;  // up to --max-diff, by address
  bool blocks_complete = true;       // false when --max-diff cut `blocks` and `spread` short
  uint64_t unlike = 0;               // bytes that do not vary, but are not as recorded
};

inline constexpr size_t kMaxOutcomes = 64;

// A fault that checked code found in a kernel (docs/checks.md).
struct Finding {
  std::string check;     // "races", "init", "sync", "nan"
  std::string kind;      // within the check: "write-read"
  std::string sentence;  // names kernel, threads, lines, address and allocation
  std::string line;      // "reduce.hip:12", of the access that found it; empty: not known
  std::string other;     // of the other access; in json only if there is one
  bool lesser = false;   // a result that hardware gives all the same; mneme-verify does not fail; in json only if true
  uint64_t count = 1;    // how often it was found
  bool operator==(const Finding&) const = default;
};

struct RunInfo {
  Digest kernel;
  Digest instance;
  Digest variant;
  std::string device;
  std::string status;  // "completed" or "failed"
  std::string reason;  // why it failed
  std::string clock;   // "steady", "events", "cupti", "rocprofiler-sdk"
  uint32_t warmup = 0;
  std::vector<uint64_t> nanoseconds;  // one an iteration, round after round
  uint64_t changed_bytes = 0;         // bytes that the kernel changed: replayed memory against the prologue
  uint64_t compared_bytes = 0;
  std::vector<SegmentDifference> differences;  // only segments that differ, by address; of one execution
  std::vector<BlockDifference> blocks;         // the blocks that differ, up to --max-diff; of the same execution
  bool blocks_complete = true;                 // false when --max-diff cut `blocks` short
  // What executions left that left something else again, each once, up to kMaxOutcomes; where there were more, the last
  // one has the largest of each figure of all that are not there by themselves. In json only if there are any.
  std::vector<std::vector<SegmentDifference>> others;
  std::optional<Baseline> baseline = {};  // where one was asked for
  bool cold = false;    // caches were emptied ahead of each execution that was timed; in json only if true
  Digest same_as = {};  // the variant that was executed, where it was another one with the same code; in json only then
  uint32_t rounds = 1;  // the instance's variants were executed in turn so many times; in json only if more than once
  uint64_t stray_bytes = 0;            // of those changed first that lie in no segment; in json only if there are any
  std::vector<Finding> findings = {};  // of a variant with checks; in json only if there are any
};

// ---- choices/<static>/<id>.json ----------------------------------------------------------------

// Bytes that a launch's arguments must have at this offset of the argument bytes.
struct Guard {
  uint32_t offset = 0;
  std::string bytes;  // not empty (hexadecimal in json)
  bool operator==(const Guard&) const = default;
};

// For a kernel's launches with this key, one variant was verified, and is faster than the baseline. The code may have
// the launch's dimensions and the guarded bytes as constants.
struct Choice {
  Digest id;           // over the key: equal keys have equal ids
  Digest kernel;       // static hash; it and what follows, up to the guards, is the key
  std::string device;  // "host", "cuda", "hip": what the code runs on, and ran on
  std::string target;  // as the variant's configuration says it: "host:x86-64-v3", "cuda:sm_90", "hip:gfx90a:xnack+"
  // The launch as the application makes it.
  Dim3 grid;                  // blocks
  Dim3 block;                 // threads
  uint32_t shared_bytes = 0;  // dynamic shared memory of a block
  bool cooperative = false;   // in json only if true
  Dim3 cluster;               // blocks of a cluster; in json only where there are clusters
  std::vector<Guard> guards;  // those of specialised arguments, without padding; by offset, disjoint; likewise
  Digest variant;             // the key ends: of the kernel, has code, and neither `baseline` nor `check_memory`
  // How the variant is launched where its configuration says another launch than the application makes: what
  // launch_size() (launch.h) gives; in json only then.
  std::optional<LaunchSize> launch = {};
  // Sums, over the instances, of the medians of what mneme-run timed. In nanoseconds.
  uint64_t baseline_ns = 0, median_ns = 0;
  double ratio = 0;          // of the baseline's time to the variant's, above 1: 2 is twice as fast
  double low = 0, high = 0;  // its 95 % interval (verify/speedup.h); both 0, and not in json, of too few rounds
  uint64_t instances = 0;    // how many prove it, at least 1
};

// ---- summary.json ------------------------------------------------------------------------------

struct Occurrence {
  Digest instance;
  uint64_t count = 0;  // launches alike in kernel, dimensions and scalar arguments
};

struct Skipped {
  std::string kernel;  // name as far as it is known
  uint64_t launches = 0;
  std::string reason;
};

struct KernelCount {
  std::string kernel;     // name as far as it is known
  uint64_t launches = 0;  // all of them
  uint64_t recorded = 0;  // those that became an instance
};

// What was seen and what was stored of it while recording, whatever was made of the bundle since.
struct Totals {
  std::vector<KernelCount> kernels;  // those launched, in the order of their first launches
  uint64_t seen_bytes = 0;           // of the instances' segments, before and after
  uint64_t stored_bytes = 0;         // of the packs and states that hold them

  KernelCount& of(const std::string& kernel);  // added if it was not there
};

struct Summary {
  std::vector<Occurrence> occurrences;
  std::vector<Skipped> skipped;
  std::string application;  // how it ended: "exited with status 0"
  bool truncated = false;
  std::optional<Totals> totals;
  bool failed = false;  // a tool failed before this, and has said why; in json only if true
};

// ---- member names ------------------------------------------------------------------------------

inline constexpr std::string_view kBundleMember = "bundle.json";
inline constexpr std::string_view kSummaryMember = "summary.json";
std::string code_name(const Digest& code);
std::string kernel_json_name(const Digest& kernel);
std::string kernel_bitcode_name(const Digest& kernel);
std::string kernel_file_name(const Digest& kernel, std::string_view file);
std::string variant_json_name(const Digest& kernel, const Digest& variant);
std::string variant_code_name(const Digest& kernel, const Digest& variant, std::string_view file);
std::string state_name(const Digest& state);
std::string pack_name(uint64_t number);
std::string keep_name(uint64_t number);
std::string instance_name(const Digest& kernel, const Digest& instance);
std::string run_name(const Digest& kernel, const Digest& instance, const Digest& variant);
std::string choice_name(const Digest& kernel, const Digest& choice);

// ---- json: write() is canonical; parse_…() throws Error on what is missing, ill-typed or out of
// range, and ignores keys that it does not know. `where` names the member in messages. -----------

std::string write(const BundleInfo&);
std::string write(const KernelInfo&);
std::string write(const Configuration&);
std::string write(const VariantInfo&);
std::string write(const InstanceInfo&);
std::string write(const RunInfo&);
std::string write(const Choice&);
std::string write(const Summary&);
BundleInfo parse_bundle(std::string_view json, const std::string& where);
KernelInfo parse_kernel(std::string_view json, const std::string& where);
Configuration parse_configuration(std::string_view json, const std::string& where);
VariantInfo parse_variant(std::string_view json, const std::string& where);
InstanceInfo parse_instance(std::string_view json, const std::string& where);
RunInfo parse_run(std::string_view json, const std::string& where);
Choice parse_choice(std::string_view json, const std::string& where);
Summary parse_summary(std::string_view json, const std::string& where);

Digest variant_id(const Digest& kernel, const Configuration&);
// Of a kernel without IR. `code`: the digest of the code that ran, which may be that of several kernels.
Digest kernel_id(const Digest& code, std::string_view name);
// Of a kernel with function_addresses, whose id would be `code` without.
Digest kernel_id(const Digest& code, const std::vector<uint64_t>& function_addresses);
// Over kernel, grid, block, shared bytes, arguments, segments' annotations and the prologue's digest.
Digest instance_id(const InstanceInfo&);
// Over the json text of an object of the key alone.
Digest choice_id(const Choice&);

// ---- states/<digest> ---------------------------------------------------------------------------
// "MNST" u32 version u64 count, then count × { u64 address, 16-byte digest }, ascending addresses
// that are multiples of kBlockSize; integers little-endian. The id is the digest of these bytes.

struct BlockReference {
  uint64_t address = 0;
  Digest digest;
};

struct State {
  std::vector<BlockReference> blocks;
};

std::string write(const State&);
State parse_state(Bytes bytes, const std::string& where);
const Digest& zero_block_digest();

// ---- memory/<n>.keep ---------------------------------------------------------------------------
// "MNKP" u32 version u64 count, then count × 16-byte digest, ascending: where memory is "kept", the blocks that stay at
// hand from here on besides those that the instance before cites.

std::string write_kept(const std::vector<Digest>& blocks);
std::vector<Digest> parse_kept(Bytes bytes, const std::string& where);

// ---- memory/<n>.pack ---------------------------------------------------------------------------
// "MNPK" u32 version u32 count u32 reserved(0), then count × { 16-byte digest of the block, 16-byte
// digest of the block it was XORed with, or zeros, u32 stride: 0, 4 or 8, u32 reserved(0) }, then one
// zstd frame, with its content size, of the count × kBlockSize bytes in the index's order. Encoding a block: XOR, then,
// for a stride s, its bytes 0, s, 2s, …, then 1, 1+s, … A base is in an earlier pack, or in this one without a base.

}  // namespace mneme::bundle
