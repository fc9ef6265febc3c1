// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/archive/reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "bundle/archive/writer.h"
#include "bundle/names.h"

namespace mneme::bundle {
namespace {

constexpr size_t kChunkSize = 1 << 20;
constexpr size_t kLeastRoom = 64 << 10;
constexpr size_t kSpareChunks = 16;
constexpr size_t kRecord = 512;  // of a tar
constexpr size_t kMaxPadding = 1 << 20;

// Of a header cut short only the name tells.
bool starts_as_tar(Bytes bytes) {
  std::string_view text = text_of(bytes);
  return bytes.size() < kRecord ? kBundleMember.starts_with(text.substr(0, kBundleMember.size()))
                                : text.substr(257, 5) == "ustar";
}

// The program that compressed a file which begins so; empty: none that is known.
std::string_view compressed_by(Bytes bytes) {
  constexpr std::pair<std::string_view, std::string_view> kBeginnings[] = {
      {"\x1f\x8b", "gzip"}, {"\x28\xb5\x2f\xfd", "zstd"}, {"\xfd\x37zXZ", "xz"}, {"BZh", "bzip2"}};
  for (const auto& [beginning, program] : kBeginnings) {
    if (text_of(bytes).starts_with(beginning)) return program;
  }
  return "";
}

}  // namespace

struct ArchiveReader::Chunk {
  std::unique_ptr<std::byte[]> bytes{new std::byte[kChunkSize]};
  size_t used = 0;

  bool holds(const void* at) const {
    const auto* byte = static_cast<const std::byte*>(at);
    return byte >= bytes.get() && byte < bytes.get() + used;
  }
};

ArchiveReader::ArchiveReader(int fd, std::string name) : archive_(archive_read_new()), fd_(fd), name_(std::move(name)) {
  if (!archive_) throw std::bad_alloc();
  widen_pipe(fd);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  archive_read_support_format_tar(archive_);
  archive_read_support_filter_none(archive_);
  if (archive_read_open(archive_, this, nullptr, &ArchiveReader::read_some, nullptr) != ARCHIVE_OK) {
    std::unique_ptr<archive, decltype(&archive_read_free)> release(archive_, &archive_read_free);
    fail("cannot be read");
  }
}

ArchiveReader::~ArchiveReader() {
  if (archive_) archive_read_free(archive_);
}

// A chunk with room to read into. Chunks whose pieces are no longer held anywhere are used again.
std::shared_ptr<ArchiveReader::Chunk> ArchiveReader::room() {
  if (current_ && kChunkSize - current_->used >= kLeastRoom) return current_;
  // libarchive may still look at the chunk that it was given last, so that one is never the next.
  auto spare = std::find_if(chunks_.begin(), chunks_.end(), [](const auto& chunk) { return chunk.use_count() == 1; });
  std::shared_ptr<Chunk> chunk;
  if (spare != chunks_.end()) {
    chunk = *spare;
    chunk->used = 0;
  } else {
    chunk = std::make_shared<Chunk>();
    if (chunks_.size() < kSpareChunks) chunks_.push_back(chunk);
  }
  current_ = chunk;
  return chunk;
}

ssize_t ArchiveReader::read_some(archive*, void* self, const void** bytes) {
  auto* reader = static_cast<ArchiveReader*>(self);
  try {
    std::shared_ptr<Chunk> chunk = reader->room();
    std::byte* start = chunk->bytes.get() + chunk->used;
    size_t got = 0;
    // Whatever has arrived, but whole records: then none straddles two reads, and nothing is ever copied.
    do {
      size_t most = got ? kRecord - got % kRecord : (kChunkSize - chunk->used) / kRecord * kRecord;
      ssize_t n = ::read(reader->fd_, start + got, most);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw system_error("cannot read " + reader->name_);
      if (n == 0) {
        reader->ended_ = true;
        break;
      }
      got += static_cast<size_t>(n);
    } while (got % kRecord != 0 || got == 0);
    if (reader->total_ == 0) reader->starts_as_tar_ = starts_as_tar({start, got});
    chunk->used += got;
    reader->total_ += got;
    *bytes = start;
    return static_cast<ssize_t>(got);
  } catch (...) {
    reader->failure_ = std::current_exception();
    return -1;
  }
}

void ArchiveReader::fail(const std::string& doing) {
  if (failure_) std::rethrow_exception(failure_);
  if (ended_ && total_ == 0) throw Error::of("{} is empty: there is no bundle in it", name_);
  if (last_.empty() && !(ended_ && starts_as_tar_)) {
    const std::string_view program = chunks_.empty() ? "" : compressed_by({chunks_[0]->bytes.get(), chunks_[0]->used});
    if (!program.empty()) throw Error::of("{} is compressed with {}: unpack it with {} -d", name_, program, program);
    throw Error::of("{} is not a tar archive, so no bundle: name a file that mneme-capture wrote", name_);
  }
  if (ended_) {
    throw Truncation{(last_complete_ ? "after " : "in ") + (last_.empty() ? "the first header" : last_)};
  }
  const char* reason = archive_error_string(archive_);
  std::string at = last_.empty() ? "" : (last_complete_ ? " after " : " in ") + last_;
  throw Error::of("{} {}{}: {}", name_, doing, at, reason ? reason : "unknown reason");
}

// Whether the last complaint is that the name of the member's owner cannot be told in this locale, which is none of a
// bundle's business.
bool ArchiveReader::is_about_owner() const {
  const char* reason = archive_error_string(archive_);
  std::string_view text = reason ? reason : "";
  return text.starts_with("Uname can't be") || text.starts_with("Gname can't be");
}

std::optional<ArchiveReader::Member> ArchiveReader::next() {
  while (piece()) {
  }
  for (;;) {
    archive_entry* entry = nullptr;
    int status = archive_read_next_header(archive_, &entry);
    if (status == ARCHIVE_EOF) {
      // libarchive does not mind a missing end mark; it is how a cut between two members shows.
      if (total_ < static_cast<uint64_t>(archive_read_header_position(archive_)) + 2 * kRecord) {
        ended_ = true;
        fail("");
      }
      finish();
      return std::nullopt;
    }
    if (status != ARCHIVE_OK && !is_about_owner()) fail("is damaged");
    const char* name = archive_entry_pathname(entry);
    if (!name) throw Error::of("{} has a member whose name is not plain text", name_);
    if (archive_entry_filetype(entry) == AE_IFDIR && !archive_entry_hardlink(entry)) continue;
    check_name(name);
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) || archive_entry_symlink(entry)) {
      throw Error::of("{} is a link or special file, which a bundle never has", shown(name));
    }
    if (archive_entry_sparse_count(entry) != 0 || !archive_entry_size_is_set(entry) || archive_entry_size(entry) < 0) {
      throw Error::of("{} is stored as a sparse file or without a size, which a bundle never does", shown(name));
    }
    last_ = name;
    last_complete_ = false;
    position_ = 0;
    size_ = static_cast<uint64_t>(archive_entry_size(entry));
    return Member{last_, size_};
  }
}

std::optional<Piece> ArchiveReader::piece() {
  if (last_complete_) return std::nullopt;
  if (position_ == size_) {  // the padding after it need not have come yet
    last_complete_ = true;
    return std::nullopt;
  }
  const void* bytes = nullptr;
  size_t size = 0;
  la_int64_t offset = 0;
  int status = archive_read_data_block(archive_, &bytes, &size, &offset);
  if (status == ARCHIVE_EOF) throw Error::of("{} is stored as a sparse file, which a bundle never does", last_);
  if (status != ARCHIVE_OK) fail("is damaged");
  if (static_cast<uint64_t>(offset) != position_) {
    throw Error::of("{} is stored as a sparse file, which a bundle never does", last_);
  }
  position_ += size;
  Bytes view(static_cast<const std::byte*>(bytes), size);
  if (current_ && current_->holds(bytes)) return Piece{view, current_};
  // libarchive put it together itself.
  auto copy = std::make_shared<std::vector<std::byte>>(view.begin(), view.end());
  return Piece{*copy, copy};
}

// Reads on to the descriptor's end, so that whoever writes it is not cut off in its padding.
void ArchiveReader::finish() {
  uint64_t end = static_cast<uint64_t>(archive_read_header_position(archive_)) + 2 * kRecord;
  auto refuse = [&] { throw Error::of("{} goes on after the end of the bundle", name_); };
  auto only_zeros = [&](const std::byte* bytes, size_t size) {
    if (!std::all_of(bytes, bytes + size, [](std::byte b) { return b == std::byte{0}; })) refuse();
  };
  size_t ahead = static_cast<size_t>(total_ - end);  // read already, in the chunk in hand
  if (current_ && ahead <= current_->used) only_zeros(current_->bytes.get() + current_->used - ahead, ahead);
  while (!ended_) {
    const void* bytes = nullptr;
    ssize_t n = read_some(archive_, this, &bytes);
    if (n < 0) std::rethrow_exception(failure_);
    only_zeros(static_cast<const std::byte*>(bytes), static_cast<size_t>(n));
    if (total_ > end + kMaxPadding) refuse();
  }
}

}  // namespace mneme::bundle
