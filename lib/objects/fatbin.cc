// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// clang's offload bundles. Plain: "__CLANG_OFFLOAD_BUNDLE__" u64 count, then count × { u64 offset
// u64 size u64 length-of-triple triple }, offsets from the magic. Compressed (--offload-compress): "CCOB" u16
// version u16 method, [version 2: u32 total size,] u32 uncompressed size u64 hash, then a compressed plain bundle.
// Version 3 has u64 sizes.
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "objects/cuda_fatbin.h"
#include "objects/cuda_processor.h"
#include "objects/embedded.h"
#include "objects/words.h"

namespace mneme::objects {
namespace {

constexpr std::string_view kPlainMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
constexpr uint64_t kBundleAlign = 4096;            // clang aligns each translation unit's bundle to a page
constexpr uint64_t kCudaAlign = 8;                 // likewise
constexpr uint64_t kMaxEntries = 1024;             // architectures in one bundle
constexpr uint64_t kMaxTriple = 4096;              // bytes
constexpr uint64_t kMaxUncompressed = 1ull << 32;  // bytes of a compressed bundle's contents
constexpr uint16_t kMethodZstd = 1;

Error malformed(const std::string& where, const char* why) {
  return Error::of("{} has a malformed fat binary: {}", where, why);
}

// Appends the device images of the plain bundle that `bytes` starts with; returns the bundle's extent in bytes.
uint64_t read_plain(Bytes bytes, const std::string& where, const std::shared_ptr<const std::string>& owner,
                    std::vector<DeviceCode>& out) {
  uint64_t at = kPlainMagic.size();
  if (!fits(at, 8, bytes.size())) throw malformed(where, "it ends in its header");
  uint64_t count = word_at<uint64_t>(bytes, at);
  if (count > kMaxEntries) throw malformed(where, "it claims too many entries");
  at += 8;
  uint64_t extent = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (!fits(at, 24, bytes.size())) throw malformed(where, "it ends in its header");
    uint64_t offset = word_at<uint64_t>(bytes, at);
    uint64_t size = word_at<uint64_t>(bytes, at + 8);
    uint64_t length = word_at<uint64_t>(bytes, at + 16);
    at += 24;
    if (length > kMaxTriple || !fits(at, length, bytes.size())) throw malformed(where, "a triple is too long");
    std::string_view triple = text_of(bytes.subspan(at, length));
    at += length;
    if (!fits(offset, size, bytes.size())) throw malformed(where, "an entry lies outside it");
    extent = std::max(extent, offset + size);
    if (size > 0 && triple.find("amdgcn") != std::string_view::npos) {
      out.push_back({std::string(triple), bytes.subspan(offset, size), owner});
    }
  }
  return std::max(extent, at);
}

// The sizes in a compressed bundle's header, which `bytes` holds in full.
struct CompressedSizes {
  uint64_t total = 0;  // with the header
  uint64_t header = 0;
  uint64_t uncompressed = 0;
};

CompressedSizes compressed_sizes(Bytes bytes, const std::string& where) {
  constexpr uint64_t kLongestHeader = 32;
  if (bytes.size() < kLongestHeader) throw malformed(where, "it ends in its header");
  uint16_t version = word_at<uint16_t>(bytes, 4);
  uint16_t method = word_at<uint16_t>(bytes, 6);
  if (version < 2 || version > 3 || method != kMethodZstd) {
    throw Error::of(
        "{} has a compressed fat binary of a kind that is not understood (version {}, method {}); build it "
        "without --offload-compress",
        where, version, method);
  }
  if (version == 2) return {word_at<uint32_t>(bytes, 8), 24, word_at<uint32_t>(bytes, 12)};
  return {word_at<uint64_t>(bytes, 8), 32, word_at<uint64_t>(bytes, 16)};
}

// Likewise for a compressed bundle.
uint64_t read_compressed(Bytes bytes, const std::string& where, std::vector<DeviceCode>& out) {
  auto [total, header, uncompressed] = compressed_sizes(bytes, where);
  if (total < header || total > bytes.size() || uncompressed > kMaxUncompressed) {
    throw malformed(where, "the sizes of its compressed bundle do not fit");
  }
  Bytes frame = bytes.subspan(header, total - header);
  // The frame's own idea of its contents bounds the allocation; zstd never writes beyond it.
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != uncompressed) {
    throw malformed(where, "its compressed bundle lies about its size");
  }
  auto contents = std::make_shared<std::string>(uncompressed, '\0');
  size_t written = ZSTD_decompress(contents->data(), contents->size(), frame.data(), frame.size());
  if (ZSTD_isError(written) || written != uncompressed) throw malformed(where, "its compressed bundle is damaged");
  if (!starts_with(bytes_of(*contents), 0, kPlainMagic)) {
    throw malformed(where, "its compressed bundle holds no bundle");
  }
  read_plain(bytes_of(*contents), where, contents, out);
  return total;
}

bool is_plain(Bytes bytes) { return starts_with(bytes, 0, kPlainMagic); }
bool is_compressed(Bytes bytes) { return starts_with(bytes, 0, kCompressedMagic); }

// Collects device code out of fat binaries of every kind.
class Collector {
 public:
  explicit Collector(const std::string& where, std::vector<DeviceCode>* ptx = nullptr) : where_(where), ptx_(ptx) {}

  // Of the fat binary that `bytes` starts with; returns its extent, 0 if there is none.
  uint64_t add(Bytes bytes) {
    if (is_plain(bytes)) return read_plain(bytes, where_, nullptr, code_);
    if (is_compressed(bytes)) return read_compressed(bytes, where_, code_);
    if (is_cuda_fatbin(bytes)) return read_cuda_fatbin(bytes, where_, code_, trouble_, ptx_);
    return 0;
  }

  // Of every fat binary in a section of an executable. Where there is none, the next place that is aligned may have
  // one.
  void add_section(Bytes section, uint64_t align) {
    for (uint64_t at = 0; at < section.size();) {
      at += align_up(std::max<uint64_t>(add(section.subspan(at)), 1), align);
    }
  }

  std::vector<DeviceCode> finish() {
    if (code_.empty() && (!ptx_ || ptx_->empty()) && !trouble_.empty()) throw Error(trouble_);
    return std::move(code_);
  }

 private:
  const std::string& where_;
  std::vector<DeviceCode>* ptx_;
  std::vector<DeviceCode> code_;
  std::string trouble_;  // with what was left out
};

// The fat binaries in "__nv_relfatbin".
std::vector<Bytes> units_in(Bytes section, const std::string& where) {
  std::vector<Bytes> units;
  for (uint64_t at = 0; at < section.size();) {
    Bytes rest = section.subspan(at);
    uint64_t size = is_cuda_fatbin(rest) ? size_of_cuda_fatbin(rest, where) : 1;
    if (size > 1) units.push_back(rest.first(size));
    at += align_up(size, kCudaAlign);
  }
  return units;
}

std::vector<DeviceCode> unpacked(std::vector<DeviceCode> code) {
  for (DeviceCode& one : code) image_of(one);
  return code;
}

}  // namespace

Bytes image_of(DeviceCode& code) {
  if (code.unpack) {
    code.owner = code.unpack();
    code.unpack = nullptr;
    code.image = bytes_of(*code.owner);
  }
  return code.image;
}

std::vector<DeviceCode> packed_code_of_fatbin(const std::byte* fatbin, size_t size, const std::string& where,
                                              std::vector<DeviceCode>* ptx) {
  // A size that is not known still must not wrap around the address space.
  Bytes bytes(fatbin, std::min<uint64_t>(size, UINTPTR_MAX - reinterpret_cast<uintptr_t>(fatbin)));
  Collector collector(where, ptx);
  if (collector.add(bytes) == 0) throw malformed(where, "it does not start with one");
  return collector.finish();
}

size_t size_of_fatbin(Bytes bytes, const std::string& where) {
  if (is_cuda_fatbin(bytes)) return size_of_cuda_fatbin(bytes, where);
  if (is_compressed(bytes)) return compressed_sizes(bytes, where).total;
  if (!is_plain(bytes)) throw malformed(where, "it does not start with one");
  std::vector<DeviceCode> ignored;
  return read_plain(bytes, where, nullptr, ignored);
}

std::vector<DeviceCode> device_code_of_fatbin(const std::byte* fatbin, size_t size, const std::string& where) {
  return unpacked(packed_code_of_fatbin(fatbin, size, where, nullptr));
}

DeviceCode* newest_ptx(std::vector<DeviceCode>& ptx) {
  auto newest =
      std::ranges::max_element(ptx, {}, [](const DeviceCode& one) { return cuda_processor(one.target).number; });
  return newest == ptx.end() ? nullptr : &*newest;
}

DeviceCode linked_ptx(const std::vector<Bytes>& units, const std::string& where) {
  std::vector<DeviceCode> texts;
  for (Bytes unit : units) {
    std::vector<DeviceCode> ptx;
    packed_code_of_fatbin(unit.data(), unit.size(), where, &ptx);
    if (DeviceCode* newest = newest_ptx(ptx)) texts.push_back(std::move(*newest));
  }
  DeviceCode linked;
  if (texts.empty()) return linked;
  linked.target = texts.back().target;
  linked.unpack = [texts = std::move(texts)]() mutable {
    auto text = std::make_shared<std::string>();
    for (DeviceCode& one : texts) text->append(text_of(image_of(one))).append("\n");
    return text;
  };
  return linked;
}

DeviceCode linked_ptx_of_executable(Bytes file, const std::string& where) {
  return linked_ptx(units_in(elf_section(file, "__nv_relfatbin", where), where), where);
}

std::vector<DeviceCode> device_code_of_executable(Bytes file, const std::string& where, std::vector<DeviceCode>* ptx) {
  Collector collector(where, ptx);
  collector.add_section(elf_section(file, ".hip_fatbin", where), kBundleAlign);
  collector.add_section(elf_section(file, ".nv_fatbin", where), kCudaAlign);
  std::vector<DeviceCode> code = unpacked(collector.finish());
  if (!ptx) return code;
  *ptx = unpacked(std::move(*ptx));
  DeviceCode linked = linked_ptx_of_executable(file, where);
  if (linked.target.empty()) return code;
  image_of(linked);
  ptx->push_back(std::move(linked));
  return code;
}

}  // namespace mneme::objects
