// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace mneme::run {

// What a worker process does, started by WorkerProcess: holds an instance's memory on a device and executes variants of
// its kernel there, instance after instance. Gives the status to end with, by _exit(): what the kernel left behind
// (threads, handlers that run at exit) must not delay or spoil the end.
int work();

}  // namespace mneme::run
