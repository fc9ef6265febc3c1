// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "cli/options.h"
#include "process_memory.h"

namespace mneme::capture {
namespace {

using record::Chunk;
using record::Code;
using record::Counter;
using record::Counters;
using record::Digests;
using record::Drop;
using record::Epilogue;
using record::Hello;
using record::Kernel;
using record::kProtocolVersion;
using record::Message;
using record::Prologue;
using record::Query;
using record::receive_message;
using record::Recorded;
using record::Refused;
using record::Reserved;
using record::send_message;
using record::Stopped;
using record::Type;
using record::Unwritten;
using record::Welcome;

// False: the process is gone, or going.
template <class Reply>
bool answer(int socket, const Reply& reply) {
  try {
    send_message(socket, reply);
    return true;
  } catch (const Error&) {
    return false;
  }
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
    : settings_(settings), capture_(capture), closing_(event()), aborting_(event()), ended_(event()), spare_(event()) {}

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
  visitors_.clear();
  processes_.clear();
  left_.clear();
  listener_.close();
  raise_event(ended_);
}

void Session::serve_until_closed() {
  bool open = true;
  while (open || !visitors_.empty() || !processes_.empty()) {
    std::vector<pollfd> waiting = {{aborting_.get(), POLLIN, 0},
                                   {open ? closing_.get() : -1, POLLIN, 0},
                                   {open ? listener_.abstract() : -1, POLLIN, 0},
                                   {open ? listener_.named() : -1, POLLIN, 0}};
    const size_t first = waiting.size();
    for (const Process& process : processes_) waiting.push_back({process.socket.get(), POLLIN, 0});
    const size_t first_visitor = waiting.size();
    for (const Fd& visitor : visitors_) waiting.push_back({visitor.get(), POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), -1) < 0) {
      if (errno == EINTR) continue;
      throw system_error("cannot wait for the application");
    }
    if (waiting[0].revents) return;
    for (size_t i = processes_.size(); i-- > 0;) {
      if (waiting[first + i].revents && !handle_or_fail(processes_[i])) leave(i);
    }
    for (size_t i = visitors_.size(); i-- > 0;) {
      if (!waiting[first_visitor + i].revents) continue;
      Fd visitor = std::move(visitors_[i]);
      visitors_.erase(visitors_.begin() + static_cast<ptrdiff_t>(i));
      hear(std::move(visitor));
    }
    if (waiting[2].revents) {
      accept(listener_.abstract());
    } else if (waiting[3].revents) {
      accept(listener_.named());
    } else if (waiting[1].revents) {
      open = false;  // nobody is waiting at the door
      listener_.close();
    }
  }
}

void Session::leave(size_t process) {
  Process left = std::move(processes_[process]);
  processes_.erase(processes_.begin() + static_cast<ptrdiff_t>(process));
  if (!left.recording->launched()) taken_.erase(left.place);
  left.recording->leave();
  left.socket = Fd();
  left_.push_back(std::move(left));
  forget_ended();
}

// An application may fork many thousand times.
void Session::forget_ended() {
  std::erase_if(left_, [](const Process& process) {
    bool gone = process.id > 0 && ::kill(process.id, 0) != 0 && errno == ESRCH;
    return gone && !process.recording->launched();
  });
}

void Session::hear_out(pid_t id) {
  for (size_t i = processes_.size(); i-- > 0;) {
    if (processes_[i].id != id) continue;
    pollfd more{processes_[i].socket.get(), POLLIN, 0};
    while (::poll(&more, 1, 0) > 0) {
      if (handle_or_fail(processes_[i])) continue;
      leave(i);
      break;
    }
  }
}

bool Session::was_there(int64_t place, pid_t id) const {
  auto is_it = [&](const Process& process) { return process.place == place && process.id == id; };
  return std::ranges::any_of(left_, is_it) && std::ranges::none_of(processes_, is_it);
}

void Session::refuse(int socket, const std::string& reason) {
  if (capture_.verbose) cli::note("not recording another process: " + reason);
  send_message(socket, Refused{reason});
}

void Session::accept(int listener) {
  Fd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (socket) return visitors_.push_back(std::move(socket));
  if (errno != EMFILE && errno != ENFILE) return;  // it is gone again
  // It waits for an answer, and runs on when there will be none.
  fail_to_hear(std::strerror(errno));
  spare_ = Fd();
  Fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  spare_ = Fd(::eventfd(0, EFD_CLOEXEC));
}

void Session::fail_to_hear(const std::string& why) {
  cli::warn(fmt::format("a process could not be recorded: {}", why));
  if (capture_.unheard.empty()) capture_.unheard = "a process could not be recorded: " + why;
}

void Session::hear(Fd visitor) {
  try {
    greet(std::move(visitor));
  } catch (const Error& error) {
    fail_to_hear(error.what());
  }
}

void Session::greet(Fd socket) {
  std::optional<ucred> peer = peer_of(socket.get());
  if (!peer || peer->uid != ::geteuid()) return;  // a stranger: abstract names are open to all
  std::optional<Message> message = receive_message(socket.get());
  if (!message || message->type != Type::kHello) return;
  Hello hello = unpack<Hello>(message->body);
  pid_t id = peer->pid;
  if (hello.parent) id = hello.parent == peer->pid ? hello.process : 0;  // numbers mean nothing in other namespaces
  ++capture_.processes;
  if (hello.version != kProtocolVersion) return refuse(socket.get(), "its recorder is of another version");
  if (hello.rank >= 0 && !settings_.ranks.contains(hello.rank)) {
    ++capture_.other_ranks;
    return refuse(socket.get(), fmt::format("it is rank {}", hello.rank));
  }
  int64_t place = settings_.ranks.several() ? hello.rank : 0;
  hear_out(id);  // exec has closed the connection of the program that was there before
  if (!settings_.children && taken_.contains(place) && !was_there(place, id)) {
    ++capture_.left_alone;
    return refuse(socket.get(), "--children leave leaves it alone, and one that came before is recorded");
  }
  if (hello.gpu && settings_.host_only) {
    cli::warn(
        fmt::format("process {} has the vendor's runtime library in place of the host device, as when a script sets "
                    "LD_LIBRARY_PATH, "
                    "or a library was linked with DT_RPATH (--disable-new-dtags): its kernels need a GPU",
                    id));
  }
  Fd counters = Counters::make();
  bool readable = can_read(id, hello.probe, record::kProbe, sizeof record::kProbe);
  Welcome welcome{settings_.max_instances, settings_.occurrences, settings_.skip,     settings_.every,
                  settings_.only_config,   settings_.range_size,  settings_.children, readable};
  uint64_t launches_before = 0;
  for (const Process& left : left_) {
    if (id && left.id == id) launches_before += left.recording->launched();
  }
  // Sets the counters, so it comes before the process uses them.
  auto recording =
      std::make_unique<Recording>(capture_, counters, launches_before, readable ? id : 0, socket.get(), hello.gpu);
  try {
    send_message(socket.get(), welcome, counters.get());
  } catch (const Error&) {
    if (hello.parent) return;  // most that are forked end, or become another program, before they need an answer
    throw;
  }
  processes_.push_back({std::move(socket), id, place, std::move(recording)});
  taken_.insert(place);
}

// What one process makes no sense of ends its own recording: others go on.
bool Session::handle_or_fail(Process& process) {
  try {
    return handle(process);
  } catch (const Error& error) {
    if (capture_.queue.failed()) throw;
    failure_ = error.what();
    return false;
  }
}

bool Session::handle(Process& process) {
  std::optional<Message> message = receive_message(process.socket.get());
  if (!message) return false;
  bool there = handle(process, std::move(*message));
  for (Message& heard : process.recording->heard()) handle(process, std::move(heard));  // if only why it is no more
  return there;
}

bool Session::handle(Process& process, Message message) {
  int socket = process.socket.get();
  const std::string& body = message.body;
  Recording& recording = *process.recording;
  switch (message.type) {
    case Type::kChunk:
      recording.chunk(unpack<Chunk>(body), std::move(message.descriptor));
      return true;
    case Type::kReserved:
      recording.reserved(unpack<Reserved>(body));
      return true;
    case Type::kMuch:
      return answer(socket, recording.much());
    case Type::kDrop:
      recording.drop(unpack<Drop>(body));
      return true;
    case Type::kDigesting:
      recording.digesting();
      return true;
    case Type::kDigests:
      recording.digests(unpack<Digests>(body));
      return true;
    case Type::kUnwritten:
      recording.unwritten(unpack<Unwritten>(body));
      return true;
    case Type::kQuery:
      return answer(socket, recording.query(unpack<Query>(body)));
    case Type::kCode:
      recording.code(unpack<Code>(body));
      return true;
    case Type::kKernel:
      recording.kernel(unpack<Kernel>(body));
      return true;
    case Type::kCounter:
      recording.counter(unpack<Counter>(body));
      return true;
    case Type::kPrologue:
      return answer(socket, recording.prologue(unpack<Prologue>(body)));
    case Type::kEpilogue: {
      Recorded recorded = recording.epilogue(unpack<Epilogue>(body));
      if (recording.checks()) recording.keep_and_check(recorded);
      bool there = answer(socket, recorded);
      recording.keep();
      return there;
    }
    case Type::kStopped:
      recording.stop(unpack<Stopped>(body).reason);
      return true;
    default:
      throw Error("the application's recorder said something that mneme-capture does not understand");
  }
}

}  // namespace mneme::capture
