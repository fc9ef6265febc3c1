// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/connection.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "recorder/rank.h"

namespace mneme::record {
namespace {

// Descriptors of the application's own stay as low as they would be.
constexpr int kHighDescriptor = 1000;

Fd connect_to(const char* name) {
  Fd low(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!low) return Fd();
  Fd socket(::fcntl(low.get(), F_DUPFD_CLOEXEC, kHighDescriptor));
  if (!socket) socket = std::move(low);  // few descriptors are allowed
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  size_t length = std::strlen(name);
  if (length + 1 > sizeof address.sun_path) return Fd();
  std::memcpy(address.sun_path + 1, name, length);  // a leading zero: abstract
  socklen_t size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return Fd();
  // Anyone may bind an abstract name: memory is shown to this user's processes only.
  ucred peer{};
  socklen_t peer_size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) != 0) return Fd();
  if (peer.uid != ::geteuid()) return Fd();
  return socket;
}

}  // namespace

std::unique_ptr<Connection> Connection::open() {
  const char* name = std::getenv(kSocketVariable);
  if (!name || !*name) return nullptr;
  Fd socket = connect_to(name);
  if (!socket) return nullptr;
  return over(std::move(socket));
}

std::unique_ptr<Connection> Connection::over(Fd socket) {
  std::unique_ptr<Connection> connection(new Connection(std::move(socket)));
  Hello hello;
  hello.rank = rank_in_environment().value_or(-1);
  connection->tell(hello);
  std::optional<Message> reply = receive_message(connection->socket());
  if (!reply || reply->type != Type::kWelcome || !reply->descriptor) return nullptr;
  connection->welcome_ = unpack<Welcome>(reply->body);
  connection->counters_ = std::make_unique<Counters>(reply->descriptor);
  return connection;
}

Message Connection::receive(Type expected) {
  std::optional<Message> reply = receive_message(socket_.get());
  if (!reply) throw Error("mneme-capture has ended");
  if (reply->type != expected) throw Error("mneme-capture gave another answer than was asked for");
  return std::move(*reply);
}

}  // namespace mneme::record
