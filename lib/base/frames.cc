// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/frames.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace mneme {
namespace {

struct Header {
  uint32_t type = 0;
  uint32_t fields = 0;
  uint64_t size = 0;
};
constexpr uint32_t kMaxFields = 16;

// A descriptor beside a frame's bytes, or none.
class Attached {
 public:
  explicit Attached(int descriptor = -1) : descriptor_(descriptor) {}

  void attach_to(msghdr& message) {
    message.msg_control = nullptr;
    message.msg_controllen = 0;
    if (descriptor_ < 0) return;
    make_room_in(message);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor_);
    std::memcpy(CMSG_DATA(header), &descriptor_, sizeof descriptor_);
  }

  void make_room_in(msghdr& message) {
    message.msg_control = room_;
    message.msg_controllen = sizeof room_;
  }
  static Fd detached_from(const msghdr& message) {
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    int descriptor = -1;
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(sizeof descriptor)) {
      return Fd();
    }
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return Fd(descriptor);
  }

 private:
  int descriptor_;
  alignas(cmsghdr) char room_[CMSG_SPACE(sizeof(int))] = {};
};

void wait(int socket, short events, const Deadline& deadline, const char* peer) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) throw TimedOut{};
    pollfd entry{socket, events, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::min<long>(left, 1 << 30)));
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) throw system_error(std::string("cannot wait for ") + peer);
  }
}

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

// In one piece, as far as it goes: each piece may wake the peer.
bool send_frame(int socket, uint32_t type, std::span<const std::string_view> pieces, const Sending& how) {
  Header header{type, how.as_one ? 0 : static_cast<uint32_t>(pieces.size()), 0};
  for (std::string_view piece : pieces) header.size += piece.size();
  std::string front;
  append(front, header);
  for (uint32_t i = 0; i < header.fields; ++i) append(front, uint64_t{pieces[i].size()});
  std::vector<iovec> parts{{front.data(), front.size()}};
  for (std::string_view piece : pieces) {
    if (!piece.empty()) parts.push_back({const_cast<char*>(piece.data()), piece.size()});
  }
  Attached attached(how.descriptor);
  msghdr message{};
  for (auto part = parts.begin(); part != parts.end();) {
    message.msg_iov = &*part;
    message.msg_iovlen = static_cast<size_t>(parts.end() - part);
    attached.attach_to(message);
    const ssize_t sent = ::sendmsg(socket, &message, how.deadline ? MSG_NOSIGNAL | MSG_DONTWAIT : MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN && how.deadline) {
      wait(socket, POLLOUT, how.deadline, how.peer);
    } else if (sent < 0 && errno != EINTR) {
      return false;
    }
    if (sent <= 0) continue;
    attached = Attached();  // it travels with the first byte
    auto left = static_cast<size_t>(sent);
    for (; part != parts.end() && left >= part->iov_len; ++part) left -= part->iov_len;
    if (left > 0) *part = {static_cast<char*>(part->iov_base) + left, part->iov_len - left};
  }
  return true;
}

ssize_t FrameReader::take(int socket, char* out, size_t size, bool waits) {
  const int flags = MSG_CMSG_CLOEXEC | (waits ? 0 : MSG_DONTWAIT);
  if (!how_.takes_descriptors) return ::recv(socket, out, size, flags);
  iovec piece{out, size};
  Attached attached;
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  attached.make_room_in(message);
  const ssize_t taken = ::recvmsg(socket, &message, flags);
  if (taken < 0) return taken;
  if (Fd descriptor = Attached::detached_from(message)) descriptor_ = std::move(descriptor);
  return taken;
}

bool FrameReader::read(int socket, char* out, size_t size, const Deadline& deadline) {
  while (size > 0) {
    if (size_t known = std::min(size, ahead_.size() - taken_)) {
      ahead_.copy(out, known, taken_);
      taken_ += known;
      out += known;
      size -= known;
      continue;
    }
    taken_ = 0;
    ahead_.resize(size < how_.ahead ? how_.ahead : 0);
    const ssize_t n =
        ahead_.empty() ? take(socket, out, size, !deadline) : take(socket, ahead_.data(), ahead_.size(), !deadline);
    const int error = n < 0 ? errno : 0;
    if (!ahead_.empty()) ahead_.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n > 0 && ahead_.empty()) {
      out += n;
      size -= static_cast<size_t>(n);
    } else if (error == EAGAIN && deadline) {
      wait(socket, POLLIN, deadline, how_.peer);
    } else if (n == 0 || error == ECONNRESET) {  // a process that dies with unread messages resets the connection
      return false;
    } else if (n < 0 && error != EINTR) {
      errno = error;
      throw system_error(std::string("cannot hear ") + how_.peer);
    }
  }
  return true;
}

std::optional<Frame> FrameReader::receive(int socket, const Deadline& deadline) {
  Header header;
  uint64_t sizes[kMaxFields];
  if (!read(socket, reinterpret_cast<char*>(&header), sizeof header, deadline)) return std::nullopt;
  if (header.fields > kMaxFields) throw Error::of("{} sent a malformed message", how_.peer);
  if (header.size > how_.limit) throw Error::of("{} sent a message that is too large", how_.peer);
  if (!read(socket, reinterpret_cast<char*>(sizes), header.fields * sizeof *sizes, deadline)) return std::nullopt;
  if (header.fields == 0 && header.size > 0) sizes[header.fields++] = header.size;
  Frame frame{header.type, {}};
  for (uint32_t i = 0; i < header.fields; ++i) {
    if (sizes[i] > header.size) throw Error::of("{} sent a malformed message", how_.peer);
    header.size -= sizes[i];
    frame.fields.emplace_back(sizes[i], '\0');
    if (!read(socket, frame.fields.back().data(), sizes[i], deadline)) return std::nullopt;
  }
  if (header.size > 0) throw Error::of("{} sent a malformed message", how_.peer);
  return frame;
}

}  // namespace mneme
