// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dump_target.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "bundle/names.h"

namespace mneme::restore {
namespace {

namespace fs = std::filesystem;
using bundle::kBlockSize;

std::string make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw Error::of("cannot make the folder '{}': {}", path, error.message());
  return path;
}

// A segment's bytes to a file. Blocks of zeros become holes.
void write_segment(const std::string& path, const bundle::Segment& segment,
                   const std::function<Bytes(uint64_t)>& block_at) {
  Fd file = open_file(path, O_WRONLY | O_CREAT | O_EXCL);
  std::string name = "'" + path + "'";
  if (::ftruncate(file.get(), static_cast<off_t>(segment.size)) != 0) throw system_error("cannot write " + name);
  uint64_t end = segment.address + segment.size;
  for (uint64_t block = segment.address / kBlockSize * kBlockSize; block < end; block += kBlockSize) {
    Bytes bytes = block_at(block);
    if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{}; })) continue;
    uint64_t from = std::max(block, segment.address), to = std::min(block + kBlockSize, end);
    if (::lseek(file.get(), static_cast<off_t>(from - segment.address), SEEK_SET) < 0) {
      throw system_error("cannot write " + name);
    }
    write_all(file.get(), bytes.subspan(from - block, to - from), name);
  }
  file.close_checked(name);
}

}  // namespace

DumpTarget::DumpTarget(std::string folder) : folder_(std::move(folder)) {
  make_folder(folder_);
  std::error_code error;
  bool empty = fs::is_empty(folder_, error);
  if (error) throw Error::of("cannot read the folder '{}': {}", folder_, error.message());
  if (!empty) throw Error::of("the folder '{}' is not empty; name an empty or new one", folder_);
}

void DumpTarget::take(const bundle::KernelMember& kernel) {
  std::string folder = make_folder(folder_ + "/kernels/" + kernel.info.id.hex());
  write_file(folder + "/kernel.json", bundle::write(kernel.info));
  for (const bundle::KernelFile& file : bundle::files_of(kernel.info)) {
    write_file(folder + "/" + file.name, bundle::contents_of(kernel, file));
  }
}

void DumpTarget::take(const bundle::InstanceMember& instance, const bundle::Reader& reader) {
  // Names of files come from digests, and from raw_files(), which lets through only symbols fit to be one.
  std::string folder = make_folder(folder_ + "/instances/" + instance.info.id.hex());
  write_file(folder + "/instance.json", bundle::write(instance.info));
  write_file(folder + "/arguments.raw", instance.info.arguments);
  bundle::Writer::BlockSource block = bundle::blocks_of(reader, instance);
  std::vector<std::string> files = bundle::raw_files(instance.info.segments);
  for (bool epilogue : {false, true}) {
    std::string memory = make_folder(folder + (epilogue ? "/epilogue" : "/prologue"));
    for (size_t i = 0; i < files.size(); i++) {
      write_segment(memory + "/" + files[i], instance.info.segments[i],
                    [&](uint64_t address) { return block(address, epilogue); });
    }
  }
}

}  // namespace mneme::restore
