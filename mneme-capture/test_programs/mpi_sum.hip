// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One process of an MPI job: a launch whose arguments and memory depend on the rank, and a sum over all ranks. Open
// MPI's library is looked for at run time, so that building needs none of its headers; without it (the stand-in for
// mpirun) a rank tells its own part only.
#include <dlfcn.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

__global__ void add(int* data, int number) { data[threadIdx.x] += number; }

namespace {

// What the sum needs of Open MPI, with the types of its C interface, in which handles are addresses of variables.
struct Mpi {
  void* library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);

  template <class F>
  F* find(const char* name) const {
    return reinterpret_cast<F*>(dlsym(library, name));
  }
  int sum(int mine) const {
    int all = 0;
    find<int(int*, char***)>("MPI_Init")(nullptr, nullptr);
    find<int(const void*, void*, int, void*, void*, void*)>("MPI_Allreduce")(
        &mine, &all, 1, dlsym(library, "ompi_mpi_int"), dlsym(library, "ompi_mpi_op_sum"),
        dlsym(library, "ompi_mpi_comm_world"));
    find<int()>("MPI_Finalize")();
    return all;
  }
};

}  // namespace

int main() {
  const char* launcher = std::getenv("OMPI_COMM_WORLD_RANK");
  int rank = std::atoi(launcher != nullptr ? launcher : std::getenv("PMI_RANK"));
  int* data = nullptr;
  if (hipMalloc(&data, 64 * sizeof(int)) != hipSuccess) return 1;
  if (hipMemset(data, 0, 64 * sizeof(int)) != hipSuccess) return 1;
  add<<<1, 64>>>(data, rank + 1);
  int mine = 0;
  if (hipMemcpy(&mine, data, sizeof mine, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  if (mine != rank + 1) return 1;
  Mpi mpi;
  bool real = launcher != nullptr && mpi.library != nullptr;
  int all = real ? mpi.sum(mine) : mine;
  if (!real || rank == 0) std::printf("rank %d: %s %d\n", rank, real ? "sum" : "part", all);
}
