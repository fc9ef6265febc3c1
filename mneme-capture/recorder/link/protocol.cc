// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/link/protocol.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

namespace mneme::record {
namespace {

struct Header {
  uint32_t type = 0;
  uint32_t reserved = 0;
  uint64_t size = 0;
};

constexpr char kOtherSide[] = "the connection between the application and mneme-capture";

void send_rest(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      throw system_error(std::string("cannot write to ") + kOtherSide);
    }
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

// The descriptor travels with the first byte of the header.
size_t send_with_descriptor(int socket, std::string_view bytes, int descriptor) {
  iovec vector{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(part), &descriptor, sizeof descriptor);
  for (;;) {
    ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<size_t>(sent);
    if (errno != EINTR) throw system_error(std::string("cannot write to ") + kOtherSide);
  }
}

// Up to `size` bytes; 0 at the end of the stream.
size_t receive_some(int socket, char* out, size_t size, Fd& descriptor) {
  iovec vector{out, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t received = 0;
  do {
    received = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  // A process that dies with unread replies resets the connection: its end all the same.
  if (received < 0 && errno == ECONNRESET) return 0;
  if (received < 0) throw system_error(std::string("cannot read from ") + kOtherSide);
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int number = -1;
    std::memcpy(&number, CMSG_DATA(part), sizeof number);
    descriptor = Fd(number);
  }
  return static_cast<size_t>(received);
}

}  // namespace

void send_message(int socket, Type type, std::string_view body, int descriptor) {
  Header header{static_cast<uint32_t>(type), 0, body.size()};
  std::string_view head(reinterpret_cast<const char*>(&header), sizeof header);
  if (descriptor >= 0) head.remove_prefix(send_with_descriptor(socket, head, descriptor));
  send_rest(socket, head);
  send_rest(socket, body);
}

void send_message(int socket, const Digests& digests, int) {
  const std::string_view blocks(reinterpret_cast<const char*>(digests.blocks.data()),
                                digests.blocks.size() * sizeof(Digest));
  const uint64_t before[] = {digests.address, digests.blocks.size()};
  const std::string_view head(reinterpret_cast<const char*>(before), sizeof before);
  const Header header{static_cast<uint32_t>(Type::kDigests), 0, head.size() + blocks.size()};
  send_rest(socket, {reinterpret_cast<const char*>(&header), sizeof header});
  send_rest(socket, head);
  send_rest(socket, blocks);
}

std::optional<Message> receive_message(int socket) {
  Header header;
  Message message;
  auto fill = [&](char* out, size_t size) {
    size_t done = 0;
    while (done < size) {
      size_t received = receive_some(socket, out + done, size - done, message.descriptor);
      if (received == 0) return false;
      done += received;
    }
    return true;
  };
  // A message cut short is what a killed process leaves: its end.
  if (!fill(reinterpret_cast<char*>(&header), sizeof header)) return std::nullopt;
  if (header.size > kMaxMessage) throw Error(std::string(kOtherSide) + " carries a message that is too large");
  message.type = static_cast<Type>(header.type);
  message.body.resize(header.size);
  if (!fill(message.body.data(), message.body.size())) return std::nullopt;
  return message;
}

}  // namespace mneme::record
