// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An application in circumstances under which recording is hard, or that makes it hard itself: its argument says how.
#include <fcntl.h>
#include <hip/hip_runtime.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <iterator>
#include <string>

__global__ void add(int* data, int number) { data[threadIdx.x] += number; }

static void limit(int what, rlim_t most) {
  rlimit both{most, most};
  if (setrlimit(static_cast<__rlimit_resource>(what), &both) != 0) _exit(20);
}

static void forbid_files_in_memory() {
  sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program{std::size(rules), rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(21);
  }
}

static void close_all() { syscall(SYS_close_range, 3u, ~0u, 0u); }

int main(int, char** arguments) {
  std::string how = arguments[1] ? arguments[1] : "";
  if (how == "addresses") limit(RLIMIT_AS, rlim_t{1200} << 20);  // about the least with which the host device runs
  if (how == "files") limit(RLIMIT_FSIZE, 1 << 20);
  if (how == "larger-files") limit(RLIMIT_FSIZE, 5 << 20);
  if (how == "no-files-in-memory") forbid_files_in_memory();
  if (how == "closes-first") close_all();

  constexpr size_t kSize = size_t{9} << 20;
  int *data = nullptr, *pinned = nullptr, *later = nullptr;
  if (hipMalloc(&data, kSize) != hipSuccess || hipMemset(data, 0, kSize) != hipSuccess) return 1;
  if (hipHostMalloc(&pinned, 256, 0) != hipSuccess) return 2;
  for (int i = 0; i < 64; ++i) pinned[i] = 5;
  add<<<1, 64>>>(data, 1);
  if (hipDeviceSynchronize() != hipSuccess) return 3;
  if (how == "closes") close_all();
  if (how == "goes-on-as-another") {
    execl("/proc/self/exe", "limited", "plain", nullptr);
    return 4;
  }
  if (how == "forks") {
    pid_t child = fork();
    if (child == 0) _exit(hipMalloc(&later, kSize) == hipSuccess ? 0 : 1);
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0) return 5;
  }
  // The application's own descriptors are nobody else's.
  if (how == "closes" && open("/dev/null", O_RDONLY) != 3) return 6;

  if (hipMalloc(&later, kSize) != hipSuccess || hipMemset(later, 0, kSize) != hipSuccess) return 7;
  add<<<1, 63>>>(data, 2);
  add<<<1, 62>>>(later, 3);
  add<<<1, 61>>>(pinned, 4);
  if (hipDeviceSynchronize() != hipSuccess) return 8;
  int seen[2] = {0, 0};
  if (hipMemcpy(&seen[0], data, 4, hipMemcpyDeviceToHost) != hipSuccess) return 9;
  if (hipMemcpy(&seen[1], later, 4, hipMemcpyDeviceToHost) != hipSuccess) return 10;
  if (seen[0] != 3 || seen[1] != 3 || pinned[0] != 9) return 11;
  if (hipFree(data) != hipSuccess || hipFree(later) != hipSuccess || hipHostFree(pinned) != hipSuccess) return 12;
  std::fprintf(stderr, "limited: ok\n");
  return 0;
}
