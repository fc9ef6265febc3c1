// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/testing/recording.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/process.h"
#include "bundle/textures.h"

namespace mneme::run {
namespace {

using bundle::kBlockSize;

std::string words_from(uint32_t words, uint32_t first) {
  std::string bytes(words * sizeof(uint32_t), '\0');
  for (uint32_t i = 0; i < words; i++) {
    uint32_t word = first + i * 2654435761u;
    std::memcpy(bytes.data() + i * sizeof word, &word, sizeof word);
  }
  return bytes;
}

using Blocks = std::map<uint64_t, std::string>;

void place(Blocks& blocks, uint64_t address, std::string_view bytes) {
  while (!bytes.empty()) {
    uint64_t within = address % kBlockSize, size = std::min<uint64_t>(bytes.size(), kBlockSize - within);
    std::string& block = blocks[address - within];
    block.resize(kBlockSize);
    bytes.copy(block.data() + within, size);
    address += size;
    bytes.remove_prefix(size);
  }
}

bundle::State state_of(const Blocks& blocks) {
  bundle::State state;
  for (const auto& [address, contents] : blocks) state.blocks.push_back({address, digest_of(contents)});
  return state;
}

constexpr uint64_t kRow = 250;          // texels of the arrays
constexpr uint32_t kFormatOfWords = 3;  // CU_AD_FORMAT_UNSIGNED_INT32

bundle::TextureArray array_of(uint64_t address, uint32_t words, uint32_t levels) {
  bundle::TextureArray array;
  array.address = address;
  array.width = kRow;
  array.height = words / kRow;
  array.format = kFormatOfWords;
  array.channels = 1;
  array.levels = levels;
  return array;
}

// Adds what kTextured takes to a launch of it: `memory` is before and after.
void add_textures(bundle::InstanceInfo& info, uint32_t words, Textured textured, Blocks (&memory)[2]) {
  const uint64_t handles[] = {0x1111, 0x2222};  // recorded ones mean nothing where it is replayed
  info.arguments.resize(32);
  std::memcpy(info.arguments.data() + 16, handles, sizeof handles);
  bundle::TextureObject texture, surface;
  texture.argument = 16;
  texture.address = kTextureAddress;
  texture.sampling[3] = 1;  // the filter
  surface.argument = 24;
  surface.surface = true;
  surface.address = kSurfaceAddress;
  uint64_t texels = words;
  if (textured == Textured::kLinear) {
    texture.source = bundle::TextureSource::kLinear;
    texture.format = kFormatOfWords;
    texture.channels = 1;
    texture.width = words * sizeof(uint32_t);
  } else {
    const bool levels = textured == Textured::kLevels;
    texture.source = levels ? bundle::TextureSource::kMipmappedArray : bundle::TextureSource::kArray;
    if (levels) texture.view = {0, 0, 0, 0, 0, 1, 0, 0};
    info.arrays.push_back(array_of(kTextureAddress, words, levels ? 2 : 0));
    texels = bundle::layout_of(info.arrays.back()).value().bytes / sizeof(uint32_t);
  }
  info.arrays.push_back(array_of(kSurfaceAddress, words, 0));
  info.textures = {texture, surface};
  auto segment = [&](uint64_t address, uint64_t count, const char* symbol) {
    info.segments.push_back({address, count * sizeof(uint32_t), bundle::SegmentKind::kGlobal, symbol, ""});
  };
  segment(kTextureAddress, texels, "__mneme_array_0");
  segment(kSurfaceAddress, words, "__mneme_array_1");
  std::string ones(texels * sizeof(uint32_t), '\0');
  for (size_t i = 0; i < ones.size(); i += sizeof(uint32_t)) ones[i] = 1;
  for (Blocks& blocks : memory) place(blocks, kTextureAddress, ones);
  place(memory[0], kSurfaceAddress, buffer_before(words, 77));
  place(memory[1], kSurfaceAddress, buffer_after(words, 77));
}

}  // namespace

std::string buffer_before(uint32_t words, uint32_t seed) { return words_from(words, seed); }
std::string buffer_after(uint32_t words, uint32_t seed) { return words_from(words, seed + 1); }

Recording::Recording(std::string memory) : file_(memory_file("recording")), memory_(std::move(memory)) {
  writer_ = std::make_unique<bundle::Writer>(file_.get(), "a test's bundle");
  bundle::BundleInfo info;
  info.device = "host";
  info.ranges = {{"device", 0x400000000000, uint64_t{1} << 40}, {"host", 0x600000000000, uint64_t{1} << 40}};
  info.memory = memory_;
  info.provenance = {{"mneme-capture", "0", {}, 0}};
  writer_->add(std::string(bundle::kBundleMember), bundle::write(info));
}

const bundle::KernelInfo& Recording::kernel(const std::string& name) {
  auto [found, fresh] = kernels_.try_emplace(name);
  bundle::KernelInfo& info = found->second;
  if (!fresh) return info;
  std::string bitcode = "not really bitcode of " + name;
  info.id = digest_of("kernel " + name);
  info.name = "_Z" + name;
  info.demangled = name + "(unsigned int*, unsigned int)";
  info.target = "amdgcn-amd-amdhsa--gfx90a";
  info.argument_bytes = 16;
  info.arguments = {{0, 8, "pointer", "ptr", {}}, {8, 4, "scalar", "i32", {}}};
  info.bitcode = digest_of(bitcode);
  if (name == kAllocating) info.globals = {{.name = bundle::kDeviceHeap, .size = 0, .align = 16, .constant = false}};
  if (name == kTextured) {
    info.argument_bytes = 32;
    info.arguments.push_back({16, 8, "scalar", "i64", {}});
    info.arguments.push_back({24, 8, "scalar", "i64", {}});
    info.globals = {{.name = bundle::kTextures, .size = 0, .align = 1, .constant = true}};
    info.handles = {{16, false}, {24, true}};
  }
  writer_->add(bundle::kernel_json_name(info.id), bundle::write(info));
  writer_->add(bundle::kernel_bitcode_name(info.id), bitcode);
  return info;
}

Digest Recording::add_variant(const std::string& fixture, const std::string& kernel) {
  bundle::VariantInfo variant;
  variant.configuration.target = "host:x86-64";
  variant.configuration.form = "auto";
  variant.code = "code.so";
  variant.form = "loop";
  return add_code(std::move(variant), fixture, read_file(std::string(RUN_FIXTURES) + "/" + fixture + ".so"), kernel);
}

Digest Recording::add_fake_variant(const std::string& played, const std::string& kernel) {
  bundle::VariantInfo variant;
  variant.configuration.target = "cuda:sm_90";
  variant.code = "code.ptx";
  return add_code(std::move(variant), played, played, kernel);
}

Digest Recording::add_code(bundle::VariantInfo variant, const std::string& what, const std::string& code,
                           const std::string& kernel) {
  variant.kernel = this->kernel(kernel).id;
  variant.configuration.passes = what;  // tells the variants of a test apart
  variant.id = bundle::variant_id(variant.kernel, variant.configuration);
  variant.code_digest = digest_of(code);
  writer_->add(bundle::variant_json_name(variant.kernel, variant.id), bundle::write(variant));
  writer_->add(bundle::variant_code_name(variant.kernel, variant.id, variant.code), code);
  return variant.id;
}

Digest Recording::add_instance(uint32_t words, uint32_t seed, Change change, const std::string& kernel) {
  bundle::InstanceInfo info;
  info.kernel = this->kernel(kernel).id;
  info.index = launches_++;
  info.grid = {(words + 255) / 256, 1, 1};
  info.block = {256, 1, 1};
  info.arguments.resize(16);
  std::memcpy(info.arguments.data(), &kWordsAddress, 8);
  std::memcpy(info.arguments.data() + 8, &words, 4);
  info.segments = {{kWordsAddress, words * sizeof(uint32_t), bundle::SegmentKind::kHeap, "", change.annotation},
                   {kTableAddress, kTableSize, bundle::SegmentKind::kGlobal, "table", ""}};
  Blocks memory[2];
  std::string before = buffer_before(words, seed), after = buffer_after(words, seed);
  if (change.blank) {
    before.assign(before.size(), '\0');
    after.clear();
    for (uint32_t i = 0; i < words; i++) after += std::string("\1\0\0", 4);
  }
  if (change.idle) after = before;
  if (change.epilogue_byte) after[*change.epilogue_byte] = static_cast<char>(after[*change.epilogue_byte] ^ 1);
  place(memory[0], kWordsAddress, before);
  place(memory[1], kWordsAddress, after);
  for (Blocks& blocks : memory) place(blocks, kTableAddress, std::string(kTableSize, 't'));
  if (change.textured != Textured::kNone) add_textures(info, words, change.textured, memory);
  bundle::State states[] = {state_of(memory[0]), state_of(memory[1])};
  info.prologue = digest_of(bundle::write(states[0]));
  info.epilogue = digest_of(bundle::write(states[1]));
  info.cooperative = change.cooperative;
  info.stack_bytes = change.stack_bytes;
  info.cluster = change.cluster;
  info.id = bundle::instance_id(info);
  info.missing = change.missing;
  auto source = [&](uint64_t address, bool epilogue) { return bytes_of(memory[epilogue].at(address)); };
  if (memory_ == "raw") {
    writer_->add_raw_instance(info, states[0], states[1], source);
  } else {
    writer_->add_instance(info, states[0], states[1], source);
  }
  return info.id;
}

std::string Recording::unfinished() {
  writer_.reset();
  ::lseek(file_.get(), 0, SEEK_SET);
  return read_all(file_.get(), "a test's bundle");
}

std::string Recording::finish(bool truncated) {
  bundle::Summary summary;
  summary.application = "exited with status 0";
  summary.truncated = truncated;
  writer_->add(std::string(bundle::kSummaryMember), bundle::write(summary));
  writer_->finish();
  return unfinished();
}

Ended run_program(const Words& words, const std::string& input) {
  CommandResult result = run_command(words, input);
  if (!WIFEXITED(result.status)) throw Error::of("{} {}", words[0], describe_wait_status(result.status));
  return {WEXITSTATUS(result.status), result.output, result.errors};
}

Ended run_shell(const std::string& script, const std::string& input) {
  return run_program({"bash", "-c", "set -o pipefail; " + script}, input);
}

}  // namespace mneme::run
