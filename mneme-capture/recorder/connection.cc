// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/connection.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "recorder/meeting_point.h"
#include "recorder/rank.h"

namespace mneme::record {
namespace {

// Descriptors of the application's own stay as low as they would be.
constexpr int kHighDescriptor = 1000;

// No descriptor: nobody listens there.
Fd connect_to(const std::optional<SocketAddress>& address) {
  if (!address) return Fd();
  Fd low(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!low) throw system_error("cannot connect to mneme-capture");
  Fd socket(::fcntl(low.get(), F_DUPFD_CLOEXEC, kHighDescriptor));
  if (!socket) socket = std::move(low);  // few descriptors are allowed
  if (::connect(socket.get(), address->get(), address->size()) != 0) return Fd();
  // Anyone may bind an abstract name: memory is shown to this user's processes only.
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != ::geteuid()) {
    throw Error("mneme-capture runs as another user");
  }
  return socket;
}

}  // namespace

std::unique_ptr<Connection> Connection::open() {
  const char* text = std::getenv(kSocketVariable);
  if (!text || !*text) return nullptr;
  MeetingPoint point = MeetingPoint::parse(text);
  Fd socket = connect_to(abstract_address(point.name));
  if (!socket && !point.path.empty()) socket = connect_to(file_address(point.path));
  if (socket) return over(std::move(socket));
  if (point.deserted()) return nullptr;  // this process outlives the recording
  throw Error(
      "mneme-capture cannot be reached: it takes no more processes, or this one runs in a container that does not see "
      "the folder for temporary files ($TMPDIR)");
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
