// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/confine.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <iterator>

#include "base/file.h"

namespace mneme {
namespace {

// What a compiler in a confined process takes for the linker's input and output, and as much again.
constexpr size_t kMemoryFiles = 4;

// Landlock's version 3 knows it, version 2 all below it, version 1 all but the highest of those.
constexpr uint64_t kTruncating = 1 << 14;

// Opening for writing is told by bits of the flags argument, so each access mode is its own rule.
void refuse_writing(scmp_filter_ctx filter, int call, unsigned flags_argument) {
  auto refuse = [&](int mask, int value) {
    scmp_arg_cmp test{flags_argument, SCMP_CMP_MASKED_EQ, static_cast<scmp_datum_t>(mask),
                      static_cast<scmp_datum_t>(value)};
    seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), call, 1, &test);
  };
  refuse(O_ACCMODE, O_WRONLY);
  refuse(O_ACCMODE, O_RDWR);
  refuse(O_CREAT, O_CREAT);
}

void drop_privileges() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
}

void refuse(scmp_filter_ctx filter, int call) {
  seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), call, 0, nullptr);
}

// Of what every confined process may not do.
scmp_filter_ctx common_filter() {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (!filter) return nullptr;
  for (int call : {SCMP_SYS(socket),
                   SCMP_SYS(socketpair),
                   SCMP_SYS(connect),
                   SCMP_SYS(bind),
                   SCMP_SYS(ptrace),
                   SCMP_SYS(process_vm_readv),
                   SCMP_SYS(process_vm_writev),
                   SCMP_SYS(pidfd_getfd),
                   SCMP_SYS(unlink),
                   SCMP_SYS(unlinkat),
                   SCMP_SYS(rename),
                   SCMP_SYS(renameat),
                   SCMP_SYS(renameat2),
                   SCMP_SYS(mkdir),
                   SCMP_SYS(mkdirat),
                   SCMP_SYS(rmdir),
                   SCMP_SYS(link),
                   SCMP_SYS(linkat),
                   SCMP_SYS(symlink),
                   SCMP_SYS(symlinkat),
                   SCMP_SYS(chmod),
                   SCMP_SYS(fchmod),
                   SCMP_SYS(fchmodat),
                   SCMP_SYS(chown),
                   SCMP_SYS(fchown),
                   SCMP_SYS(lchown),
                   SCMP_SYS(fchownat),
                   SCMP_SYS(truncate),
                   SCMP_SYS(mount),
                   SCMP_SYS(umount2),
                   SCMP_SYS(bpf),
                   SCMP_SYS(openat2),
                   SCMP_SYS(creat),
                   SCMP_SYS(mknod),
                   SCMP_SYS(mknodat),
                   SCMP_SYS(setxattr),
                   SCMP_SYS(io_uring_setup),
                   SCMP_SYS(keyctl),
                   SCMP_SYS(unshare),
                   SCMP_SYS(setns)}) {
    refuse(filter, call);
  }
  return filter;
}

void enforce(scmp_filter_ctx filter) {
  seccomp_load(filter);
  seccomp_release(filter);
}

// No file that has a name may be written or made, none removed.
void refuse_named_files() {
  int version = static_cast<int>(::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
  if (version < 1) return;
  uint64_t reading = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
  uint64_t known = version >= 3 ? kTruncating << 1 : version == 2 ? kTruncating : kTruncating >> 1;
  landlock_ruleset_attr rules{};
  rules.handled_access_fs = (known - 1) & ~reading;
  Fd set(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, sizeof rules.handled_access_fs, 0)));
  if (set) ::syscall(SYS_landlock_restrict_self, set.get(), 0);
}

}  // namespace

void confine_process() {
  set_memory_files_aside(kMemoryFiles);
  drop_privileges();
  scmp_filter_ctx filter = common_filter();
  if (!filter) return;
  // Of processes and signals what the C library makes no use of, so that what confine_to_this_process() adds is short.
  for (int call : {SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(tkill),
                   SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo), SCMP_SYS(pidfd_send_signal)}) {
    refuse(filter, call);
  }
  // Its flags are in memory, where no filter sees them; without it the C library uses clone().
  seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0, nullptr);
  refuse_writing(filter, SCMP_SYS(open), 1);
  refuse_writing(filter, SCMP_SYS(openat), 2);
  enforce(filter);
}

void confine_to_this_process() {
  // Written out, and no longer than it must be: it is loaded for each instance of a replay, and the system tries it
  // with each call there is. Calls of other architectures are refused already.
  constexpr unsigned kCall = offsetof(seccomp_data, nr), kFirst = offsetof(seccomp_data, args);  // its lower half
  const auto self = static_cast<unsigned>(::getpid());
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kCall),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_kill, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_tgkill, 3, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFirst),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 2, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFirst),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
  };
  sock_fprog program{std::size(filter), filter};
  ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

void confine_to_programs() {
  drop_privileges();
  refuse_named_files();
  if (scmp_filter_ctx filter = common_filter()) enforce(filter);
}

}  // namespace mneme
