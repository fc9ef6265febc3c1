// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/worker/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace mneme::run {
namespace {

// type, number of fields, and then for each field its size and its bytes; both ends are one machine.
struct Header {
  uint32_t type = 0;
  uint32_t fields = 0;
};
constexpr uint32_t kMaxFields = 16;

constexpr size_t kAhead = 4096;  // bytes that are read at once, of whatever messages

// A descriptor beside a message's bytes, or none.
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
    if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof descriptor)) return Fd();
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return Fd(descriptor);
  }

 private:
  int descriptor_;
  alignas(cmsghdr) char room_[CMSG_SPACE(sizeof(int))] = {};
};

}  // namespace

bool Channel::wait(short events, const Deadline& deadline) {
  for (;;) {
    int milliseconds = -1;
    if (deadline) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      if (left <= 0) throw TimedOut{};
      milliseconds = static_cast<int>(std::min<long>(left, 1 << 30));
    }
    pollfd entry{fd_.get(), events, 0};
    int ready = ::poll(&entry, 1, milliseconds);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) throw system_error("cannot wait for the worker");
  }
}

// In one piece, as far as it goes: each piece may wake the peer.
bool Channel::send(MessageType type, std::span<const std::string_view> fields, Deadline deadline, int descriptor) {
  Header header{static_cast<uint32_t>(type), static_cast<uint32_t>(fields.size())};
  std::string front(raw(header));
  for (std::string_view field : fields) front += raw(uint64_t{field.size()});
  std::vector<iovec> pieces{{front.data(), front.size()}};
  for (std::string_view field : fields) {
    if (!field.empty()) pieces.push_back({const_cast<char*>(field.data()), field.size()});
  }
  Attached attached(descriptor);
  msghdr message{};
  for (auto piece = pieces.begin(); piece != pieces.end();) {
    message.msg_iov = &*piece;
    message.msg_iovlen = static_cast<size_t>(pieces.end() - piece);
    attached.attach_to(message);
    ssize_t sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) {
      wait(POLLOUT, deadline);
    } else if (sent < 0 && errno != EINTR) {
      return false;
    }
    if (sent <= 0) continue;
    attached = Attached();
    auto left = static_cast<size_t>(sent);
    for (; piece != pieces.end() && left >= piece->iov_len; ++piece) left -= piece->iov_len;
    if (left > 0) *piece = {static_cast<char*>(piece->iov_base) + left, piece->iov_len - left};
  }
  return true;
}

ssize_t Channel::take(char* out, size_t size) {
  if (takes_ == Takes::kMessages) return ::recv(fd_.get(), out, size, MSG_DONTWAIT);
  iovec piece{out, size};
  Attached attached;
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  attached.make_room_in(message);
  ssize_t taken = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (Fd descriptor = Attached::detached_from(message)) descriptor_ = std::move(descriptor);
  return taken;
}

bool Channel::read(char* out, size_t size, const Deadline& deadline) {
  while (size > 0) {
    if (size_t known = std::min(size, ahead_.size() - taken_)) {
      ahead_.copy(out, known, taken_);
      taken_ += known;
      out += known;
      size -= known;
      continue;
    }
    taken_ = 0;
    ahead_.resize(size < kAhead ? kAhead : 0);
    ssize_t n = ahead_.empty() ? take(out, size) : take(ahead_.data(), ahead_.size());
    const int error = errno;
    if (!ahead_.empty()) ahead_.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n > 0 && ahead_.empty()) {
      out += n;
      size -= static_cast<size_t>(n);
    } else if (n < 0 && error == EAGAIN) {
      wait(POLLIN, deadline);
    } else if (n == 0 || (n < 0 && error != EINTR)) {
      return false;
    }
  }
  return true;
}

bool Channel::has_message() const {
  if (taken_ < ahead_.size()) return true;
  pollfd entry{fd_.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

std::optional<Message> Channel::receive(Deadline deadline) {
  Header header;
  if (!read(reinterpret_cast<char*>(&header), sizeof header, deadline)) return std::nullopt;
  uint64_t sizes[kMaxFields];
  if (header.fields > kMaxFields) throw Error("the worker sent a malformed message");
  if (!read(reinterpret_cast<char*>(sizes), header.fields * sizeof *sizes, deadline)) return std::nullopt;
  uint64_t total = 0;
  Message message{static_cast<MessageType>(header.type), {}};
  for (uint32_t i = 0; i < header.fields; i++) {
    if (sizes[i] > limit_ - total) throw Error("the worker sent a message that is too large");
    total += sizes[i];
    message.fields.emplace_back(sizes[i], '\0');
    if (!read(message.fields.back().data(), sizes[i], deadline)) return std::nullopt;
  }
  return message;
}

}  // namespace mneme::run
