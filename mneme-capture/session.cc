// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "cli/options.h"

namespace mneme::capture {
namespace {

using record::Chunk;
using record::Counter;
using record::Counters;
using record::Drop;
using record::Epilogue;
using record::Failed;
using record::Hello;
using record::Kernel;
using record::kProtocolVersion;
using record::Message;
using record::Prologue;
using record::Query;
using record::receive_message;
using record::Refused;
using record::send_message;
using record::Type;
using record::unpack;
using record::Welcome;

// A name in the abstract space needs no file that would have to be removed.
Fd listen_on(const std::string& name) {
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  socklen_t size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (!listener || ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0) {
    throw system_error("cannot listen for the application");
  }
  return listener;
}

std::string unique_name() {
  std::random_device random;
  return fmt::format("mneme-capture-{}-{:08x}{:08x}", ::getpid(), random(), random());
}

Fd event() {
  Fd fd(::eventfd(0, EFD_CLOEXEC));
  if (!fd) throw system_error("cannot create an event");
  return fd;
}

void raise_event(const Fd& fd) {
  uint64_t one = 1;
  // Fails only when it is raised already.
  [[maybe_unused]] ssize_t written = ::write(fd.get(), &one, sizeof one);
}

std::optional<ucred> peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

}  // namespace

Session::Session(const SessionSettings& settings, Capture& capture)
    : settings_(settings),
      capture_(capture),
      name_(unique_name()),
      listener_(listen_on(name_)),
      closing_(event()),
      aborting_(event()),
      ended_(event()) {}

Session::~Session() {
  abort();
  if (thread_.joinable()) thread_.join();
}

void Session::start() {
  thread_ = std::thread([this] { run(); });
}

void Session::close() { raise_event(closing_); }
void Session::abort() { raise_event(aborting_); }

void Session::join() { thread_.join(); }

void Session::run() {
  try {
    serve_until_closed();
  } catch (const std::exception& error) {
    if (failure_.empty()) failure_ = error.what();
  }
  recording_.reset();
  socket_ = Fd();
  listener_ = Fd();
  raise_event(ended_);
}

void Session::serve_until_closed() {
  bool open = true;
  while (open || recording_) {
    pollfd waiting[] = {{aborting_.get(), POLLIN, 0},
                        {recording_ ? socket_.get() : -1, POLLIN, 0},
                        {open ? closing_.get() : -1, POLLIN, 0},
                        {open ? listener_.get() : -1, POLLIN, 0}};
    if (::poll(waiting, std::size(waiting), -1) < 0) {
      if (errno == EINTR) continue;
      throw system_error("cannot wait for the application");
    }
    if (waiting[0].revents) return;
    if (waiting[1].revents && !handle()) {
      taken_ = taken_ || recording_->launched();
      recording_.reset();
      socket_ = Fd();
    }
    if (waiting[3].revents) {
      accept();
    } else if (waiting[2].revents) {
      open = false;  // nobody is waiting at the door
      listener_ = Fd();
    }
  }
}

void Session::refuse(int socket, const std::string& reason) {
  if (capture_.verbose) cli::note("not recording another process: " + reason);
  send_message(socket, Refused{reason});
}

void Session::accept() {
  Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket) return;  // gone again
  try {
    greet(std::move(socket));
  } catch (const Error& error) {
    if (capture_.verbose) cli::note(fmt::format("a process could not be recorded: {}", error.what()));
  }
}

void Session::greet(Fd socket) {
  std::optional<ucred> peer = peer_of(socket.get());
  if (!peer || peer->uid != ::geteuid()) return;  // a stranger: abstract names are open to all
  std::optional<Message> message = receive_message(socket.get());
  if (!message || message->type != Type::kHello) return;
  Hello hello = unpack<Hello>(message->body);
  if (hello.version != kProtocolVersion) return refuse(socket.get(), "its recorder is of another version");
  if (taken_ || recording_) return refuse(socket.get(), "one process is recorded");
  if (hello.rank >= 0 && hello.rank != settings_.rank) {
    return refuse(socket.get(), fmt::format("it is rank {}", hello.rank));
  }
  Fd counters = Counters::make();
  Welcome welcome{settings_.max_instances, settings_.occurrences, settings_.skip, settings_.range_size};
  send_message(socket.get(), welcome, counters.get());
  recording_ = std::make_unique<Recording>(capture_, std::move(counters));
  socket_ = std::move(socket);
  process_ = peer->pid;
}

bool Session::handle() {
  std::optional<Message> message = receive_message(socket_.get());
  if (!message) return false;
  const std::string& body = message->body;
  int socket = socket_.get();
  switch (message->type) {
    case Type::kChunk:
      recording_->chunk(unpack<Chunk>(body), std::move(message->descriptor));
      return true;
    case Type::kDrop:
      recording_->drop(unpack<Drop>(body));
      return true;
    case Type::kQuery:
      send_message(socket, recording_->query(unpack<Query>(body)));
      return true;
    case Type::kKernel:
      recording_->kernel(unpack<Kernel>(body));
      return true;
    case Type::kCounter:
      recording_->counter(unpack<Counter>(body));
      return true;
    case Type::kPrologue:
      send_message(socket, recording_->prologue(unpack<Prologue>(body)));
      return true;
    case Type::kEpilogue:
      send_message(socket, recording_->epilogue(unpack<Epilogue>(body)));
      return true;
    case Type::kFailed:
      // Nothing has been launched yet: better to end now than to run for nothing.
      failure_ = unpack<Failed>(body).reason;
      ::kill(process_, SIGTERM);
      return true;
    default:
      throw Error("the application's recorder said something that mneme-capture does not understand");
  }
}

}  // namespace mneme::capture
