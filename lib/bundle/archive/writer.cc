// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/archive/writer.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/pipeline.h"

namespace mneme::bundle {
namespace {

constexpr size_t kMostGathered = 64 << 10;   // bytes
constexpr uint64_t kMostPadding = 16 << 20;  // bytes of a member cut short that are worth making up and throwing away

}  // namespace

void widen_pipe(int fd) { ::fcntl(fd, F_SETPIPE_SZ, 1 << 20); }

ArchiveWriter::ArchiveWriter(int fd, std::string name)
    : archive_(archive_write_new()), fd_(fd), name_(std::move(name)) {
  if (!archive_) throw std::bad_alloc();
  widen_pipe(fd);
  // "Restricted" writes an extended header only where a plain one does not do.
  archive_write_set_format_pax_restricted(archive_);
  archive_write_add_filter_none(archive_);
  // No blocking: what is appended goes straight to the descriptor, uncopied and at once.
  archive_write_set_bytes_per_block(archive_, 0);
  archive_write_set_bytes_in_last_block(archive_, 1);
  check(archive_write_open(archive_, this, nullptr, &ArchiveWriter::write_some, nullptr));
}

ArchiveWriter::~ArchiveWriter() {
  // libarchive frees all that it has only when it may write its end mark: it may, but nobody gets it.
  discard_ = discard_ || !finished_;
  if (missing_ > kMostPadding) archive_write_fail(archive_);
  archive_write_free(archive_);
}

ssize_t ArchiveWriter::write_some(archive*, void* self, const void* bytes, size_t size) {
  auto* writer = static_cast<ArchiveWriter*>(self);
  if (writer->gathered_.size() + size <= kMostGathered) {
    writer->gathered_.append(static_cast<const char*>(bytes), size);
    return static_cast<ssize_t>(size);
  }
  writer->write_gathered();
  return writer->write_at_once(bytes, size);
}

ssize_t ArchiveWriter::write_at_once(const void* bytes, size_t size) {
  while (!discard_) {
    ssize_t written = ::write(fd_, bytes, size);
    if (written >= 0) return written;
    if (errno == EINTR) continue;
    // libarchive is not told: it would not free all that it has. check() tells our caller.
    write_errno_ = errno;
    discard_ = true;
  }
  return static_cast<ssize_t>(size);
}

void ArchiveWriter::write_gathered() {
  for (std::string_view left = gathered_; !left.empty();) {
    left.remove_prefix(static_cast<size_t>(write_at_once(left.data(), left.size())));
  }
  gathered_.clear();
}

void ArchiveWriter::finish_member() {
  int status = archive_write_finish_entry(archive_);
  write_gathered();
  check(status);
}

void ArchiveWriter::check(int status) {
  if (write_errno_ == EPIPE) throw Reported();
  if (write_errno_) {
    errno = write_errno_;
    throw system_error("cannot write " + name_);
  }
  if (status >= ARCHIVE_OK) return;
  const char* reason = archive_error_string(archive_);
  throw Error::of("cannot write {}: {}", name_, reason ? reason : "unknown reason");
}

void ArchiveWriter::begin(const std::string& name, uint64_t size) {
  if (missing_) throw Error::of("cannot write {}: a member was begun before the one ahead of it was complete", name_);
  std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(), &archive_entry_free);
  archive_entry_set_pathname(entry.get(), name.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(size));
  archive_entry_set_uid(entry.get(), 0);
  archive_entry_set_gid(entry.get(), 0);
  archive_entry_set_mtime(entry.get(), 0, 0);
  check(archive_write_header(archive_, entry.get()));
  missing_ = size;
  if (size == 0) finish_member();
}

void ArchiveWriter::append(Bytes piece) {
  if (piece.size() > missing_) throw Error::of("cannot write {}: a member is longer than announced", name_);
  while (!piece.empty()) {
    la_ssize_t written = archive_write_data(archive_, piece.data(), piece.size());
    check(written > 0 ? ARCHIVE_OK : ARCHIVE_FATAL);
    piece = piece.subspan(static_cast<size_t>(written));
    missing_ -= static_cast<uint64_t>(written);
    if (missing_ == 0) finish_member();
  }
}

void ArchiveWriter::finish() {
  if (missing_) throw Error::of("cannot write {}: the last member is incomplete", name_);
  finished_ = true;
  int status = archive_write_close(archive_);
  write_gathered();
  check(status);
}

}  // namespace mneme::bundle
