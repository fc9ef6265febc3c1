// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An application of several processes, and one that closes its descriptors: its argument says which.
#include <fcntl.h>
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

constexpr int kThreads = 64;

__global__ void add(int* data, int number) { data[threadIdx.x] += number; }
__global__ void of_child(int* data, int number) { data[threadIdx.x] -= number; }
__global__ void sum(const int* const* list, int* out) {
  int total = 0;
  for (int i = 0; i < 4; ++i) total = total * 10 + list[i][threadIdx.x];
  out[threadIdx.x] = total;
}

static void check(bool well, const char* what) {
  if (well) return;
  std::fprintf(stderr, "children: process %d: %s\n", getpid(), what);
  _exit(1);
}
static void check(hipError_t status) { check(status == hipSuccess, hipGetErrorString(status)); }

static int wait_for(pid_t process) {
  int status = -1;
  check(waitpid(process, &status, 0) == process, "lost");
  return status;
}

static int first_of(const int* data) {
  int first = -1;
  check(hipMemcpy(&first, data, sizeof first, hipMemcpyDeviceToHost));
  return first;
}

// Memory of every kind, with 1, 2, 3, 4 in it.
struct Memory {
  int* kinds[4] = {};
  const int** list = nullptr;
  int* out = nullptr;
  alignas(4096) static inline int own[4096];

  Memory() {
    check(hipMalloc(&kinds[0], kThreads * 4));
    check(hipHostMalloc(&kinds[1], kThreads * 4, 0));
    check(hipMallocManaged(&kinds[2], kThreads * 4, hipMemAttachGlobal));
    check(hipHostRegister(own, sizeof own, 0));
    kinds[3] = own;
    check(hipMalloc(&list, sizeof kinds));
    check(hipMemcpy(list, kinds, sizeof kinds, hipMemcpyHostToDevice));
    check(hipMalloc(&out, kThreads * 4));
    for (int kind = 0; kind < 4; ++kind) {
      check(hipMemset(kinds[kind], 0, kThreads * 4));
      add<<<1, kThreads>>>(kinds[kind], kind + 1);
    }
    check(hipDeviceSynchronize());
  }
  int seen() const {
    sum<<<1, kThreads>>>(list, out);
    return first_of(out);
  }
  void write_all(int number) const {
    for (int* data : kinds) of_child<<<1, kThreads>>>(data, -number);
    check(hipDeviceSynchronize());
  }
};

// What each writes the others do not see.
static void writes() {
  Memory memory;
  pid_t child = fork();
  if (child == 0) {
    check(memory.kinds[1][0] == 2 && first_of(memory.kinds[0]) == 1, "a child sees what was written before");
    memory.kinds[1][0] = 0;
    memory.kinds[1][0] += 2;
    memory.write_all(4);
    check(memory.seen() == 5678, "the child's memory");
    pid_t grandchild = fork();
    if (grandchild == 0) {
      memory.write_all(1);
      check(memory.seen() == 6789, "the grandchild's memory");
      _exit(0);
    }
    check(wait_for(grandchild) == 0, "the grandchild failed");
    check(memory.seen() == 5678, "what the grandchild wrote shows");
    int* more = nullptr;
    check(hipMalloc(&more, 1 << 20));
    check(hipFree(memory.kinds[0]));
    _exit(0);
  }
  check(wait_for(child) == 0, "the child failed");
  check(memory.seen() == 1234, "what the child wrote shows");
}

static void use(int number) {
  int* data = nullptr;
  check(hipMalloc(&data, kThreads * 4));
  check(hipMemset(data, 0, kThreads * 4));
  of_child<<<1, kThreads>>>(data, number);
  check(first_of(data) == -number, "the result");
}

static void only(int children) {
  pid_t made[8];
  for (int i = 0; i < children; ++i) {
    made[i] = fork();
    if (made[i] == 0) {
      use(i + 1);
      _exit(0);
    }
  }
  for (int i = 0; i < children; ++i) check(wait_for(made[i]) == 0, "a child failed");
}

static void close_all(const std::string& how) {
  if (how == "close") {
    for (int i = 3; i < 70000; ++i) close(i);
  } else if (how == "close_range") {
    check(close_range(3, ~0u, 0) == 0, "close_range");
  } else if (how == "closefrom") {
    closefrom(3);
  } else if (how == "dup2") {
    for (int i = 3; i < 1024; ++i) check(dup2(2, i) == i, "dup2");
    for (int i = 3; i < 1024; ++i) check(close(i) == 0, "close after dup2");
  }
}

int main(int, char** arguments) {
  std::string how = arguments[1] ? arguments[1] : "";
  std::string which = how.substr(how.find('-') + 1);
  if (how == "writes") writes();
  if (how == "only") only(1);
  if (how == "several") only(8);
  if (how == "parent-too") {
    only(1);
    use(9);
  }
  if (how.rfind("closes-", 0) == 0) {
    close_all(which);
    use(1);
    close_all(which);
    use(2);
    check(open("/dev/null", O_RDONLY) == 3, "the application's own descriptors");
  }
  if (how.rfind("daemon-", 0) == 0) {
    use(1);
    if (fork() != 0) _exit(0);
    setsid();
    usleep(300000);  // until its parent has ended
    close_all(which);
    use(2);
  }
  std::fprintf(stderr, "children: ok\n");
  return 0;
}
