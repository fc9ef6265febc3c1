// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"

namespace mneme::restore {
namespace {

constexpr char kMagic[] = "MnemeRec";
constexpr uint32_t kVersion = 2;
constexpr uint64_t kAlignment = 64;
constexpr size_t kChunk = 1 << 20;

// Little-endian, as the executable before it.
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t zero;
  uint64_t at;                      // where it is in the file
  uint64_t bundle;                  // bytes
  std::byte digest[Digest::kSize];  // of the whole file, with zeros here
  uint64_t on_demand;               // bytes, behind the bundle
  std::byte zeros[8];
};
static_assert(sizeof(Header) == kAlignment);

// What the file has there; less at its end.
std::string bytes_at(int file, uint64_t at, size_t size, const std::string& name) {
  std::string bytes(size, '\0');
  size_t got = 0;
  while (got < size) {
    ssize_t n = ::pread(file, bytes.data() + got, size - got, static_cast<off_t>(at + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("cannot read " + name);
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

uint64_t size_of(int file, const std::string& name) {
  struct stat info{};
  if (::fstat(file, &info) != 0) throw system_error("cannot read " + name);
  return static_cast<uint64_t>(info.st_size);
}

// Where the header of a program belongs: behind the table of sections, with which a linked executable ends.
uint64_t header_place(const std::string& start) {
  Elf64_Ehdr elf{};
  if (start.size() >= sizeof elf) std::memcpy(&elf, start.data(), sizeof elf);
  if (std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  uint64_t end = elf.e_shoff + uint64_t{elf.e_shnum} * elf.e_shentsize;
  return end < elf.e_shoff ? 0 : (end + kAlignment - 1) / kAlignment * kAlignment;
}

Digest digest_of_file(int file, Header header, uint64_t size, const std::string& name) {
  std::fill(std::begin(header.digest), std::end(header.digest), std::byte{0});
  DigestStream digest;
  auto add = [&](uint64_t from, uint64_t to) {
    while (from < to) {
      std::string bytes = bytes_at(file, from, std::min<uint64_t>(kChunk, to - from), name);
      if (bytes.empty()) throw Error::of("{} became shorter while it was read", name);
      digest.add(bytes);
      from += bytes.size();
    }
  };
  add(0, header.at);
  digest.add(std::string_view(reinterpret_cast<const char*>(&header), sizeof header));
  add(header.at + sizeof header, size);
  return digest.finish();
}

}  // namespace

void begin_program(int file, const std::string& name, const std::string& executable) {
  struct stat info{};
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    throw Error::of("{} is not a file that a program can be written to", name);
  }
  std::string bytes = read_file(executable);
  uint64_t at = header_place(bytes);
  if (at < bytes.size() || at - bytes.size() >= kAlignment) {
    throw Error::of("'{}' is not as it was built; install Mneme again", executable);
  }
  bytes.resize(at + sizeof(Header));
  write_all(file, bytes_of(bytes), name);
}

ProgramParts end_program(int file, const std::string& name, std::string_view on_demand) {
  const uint64_t bundle_end = size_of(file, name);
  write_all(file, bytes_of(on_demand), name);
  // The file is open for writing only.
  Fd reading = open_file("/proc/self/fd/" + std::to_string(file), O_RDONLY);
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof header.magic);
  header.version = kVersion;
  header.at = header_place(bytes_at(reading.get(), 0, sizeof(Elf64_Ehdr), name));
  uint64_t size = size_of(file, name);
  header.bundle = bundle_end - header.at - sizeof header;
  header.on_demand = on_demand.size();
  digest_of_file(reading.get(), header, size, name).store(header.digest);
  if (::pwrite(file, &header, sizeof header, static_cast<off_t>(header.at)) != sizeof header) {
    throw system_error("cannot write " + name);
  }
  struct stat info{};
  if (::fstat(file, &info) != 0 || ::fchmod(file, info.st_mode | (info.st_mode & 0444) >> 2) != 0) {
    throw system_error("cannot make " + name + " executable");
  }
  return {header.at + sizeof header, bundle_end, size};
}

ProgramParts seek_bundle(int file, const std::string& name) {
  uint64_t size = size_of(file, name);
  uint64_t at = header_place(bytes_at(file, 0, sizeof(Elf64_Ehdr), name));
  Header header{};
  std::string bytes = at < size ? bytes_at(file, at, sizeof header, name) : "";
  if (bytes.empty() && at >= size && size + kAlignment > at) {
    throw Error::of("{} holds no recording: mneme-restore --executable makes a program of one", name);
  }
  if (bytes.size() == sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof header.magic) != 0 || header.at != at) {
    throw Error::of("the recording in {} is gone, or was never whole: make the program again", name);
  }
  if (header.version != kVersion) {
    throw Error::of("the recording in {} is of version {}, which this program does not know", name, header.version);
  }
  uint64_t there = size - at - sizeof header, all = header.bundle + header.on_demand;
  if (there < all) {
    throw Error::of("{} is cut short: {} of {} bytes of its recording are there; copy or make it again", name, there,
                    all);
  }
  if (there > all || all < header.bundle)
    throw Error::of("{} goes on after the end of its recording; copy or make it again", name);
  if (digest_of_file(file, header, size, name) != Digest::load(header.digest)) {
    throw Error::of("{} is damaged: its contents have changed since it was made; copy or make it again", name);
  }
  if (::lseek(file, static_cast<off_t>(at + sizeof header), SEEK_SET) < 0) throw system_error("cannot read " + name);
  return {at + sizeof header, at + sizeof header + header.bundle, size};
}

std::string on_demand_of(int file, const std::string& name, const ProgramParts& parts) {
  return bytes_at(file, parts.on_demand, parts.end - parts.on_demand, name);
}

}  // namespace mneme::restore
