// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/link/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "recorder/link/meeting_point.h"
#include "recorder/link/rank.h"

namespace mneme::record {
namespace {

// No descriptor: nobody listens there.
Fd connect_to(const std::optional<SocketAddress>& address) {
  if (!address) return Fd();
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) throw system_error("cannot connect to mneme-capture");
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

std::unique_ptr<Connection> Connection::open(bool gpu) {
  Uncancelled uncancelled;
  std::unique_ptr<Connection> connection = connect();
  if (!connection) return nullptr;
  connection->greet(gpu);
  return connection->enter() ? std::move(connection) : nullptr;
}

std::unique_ptr<Connection> Connection::closed() {
  std::unique_ptr<Connection> connection(new Connection(Fd()));
  connection->counters_ = std::make_unique<Counters>(Counters::make());
  return connection;
}

std::unique_ptr<Connection> Connection::connect() {
  const char* text = std::getenv(kSocketVariable);
  if (!text || !*text) return nullptr;
  MeetingPoint point = MeetingPoint::parse(text);
  Fd socket = connect_to(abstract_address(point.name));
  if (!socket && !point.path.empty()) socket = connect_to(file_address(point.path));
  if (socket) return std::unique_ptr<Connection>(new Connection(std::move(socket)));
  if (point.deserted()) return nullptr;  // this process outlives the recording
  throw Error(
      "mneme-capture cannot be reached: it takes no more processes, or this one runs in a container that does not see "
      "the folder for temporary files ($TMPDIR)");
}

void Connection::greet(bool gpu, int32_t parent) {
  Hello hello;
  hello.gpu = gpu;
  hello.rank = rank_in_environment().value_or(-1);
  hello.parent = parent;
  if (parent) hello.process = ::getpid();
  hello.probe = reinterpret_cast<uint64_t>(kProbe);
  tell(hello);
}

bool Connection::enter() {
  std::optional<Message> reply = receive_message(socket());
  if (!reply || reply->type != Type::kWelcome || !reply->descriptor) return false;
  welcome_ = unpack<Welcome>(reply->body);
  counters_ = std::make_unique<Counters>(reply->descriptor);
  return true;
}

Message Connection::receive() {
  std::optional<Message> reply = receive_message(socket_.get());
  if (!reply) throw Error("mneme-capture has ended");
  return std::move(*reply);
}

bool Connection::is_told_more() const {
  pollfd more{socket(), POLLIN, 0};
  return ::poll(&more, 1, 0) > 0;
}

}  // namespace mneme::record
