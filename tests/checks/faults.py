# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults planted in copies of tests/programs: a barrier, fence, atomic, initialisation, guard or lane is removed.

A row: the program, the check that finds the fault, what is removed, the text before and after, and texts of the source
lines that a finding names (one of them suffices). A text stands in the program once. Lines keep their numbers. Each fault
shows in the launches that the program makes, and each program has no finding as it is.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Fault:
    program: str  # tests/programs/NAME.hip
    check: str
    removed: str
    old: str
    new: str
    at: tuple
    cuda: bool = False  # built as a CUDA program

    @property
    def name(self):
        return f"{self.program}{'.cuda' if self.cuda else ''}: {self.removed}"

    def planted(self, text):
        """The program's text with the fault, as many lines as before."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: the text to change stands {text.count(self.old)} times in the program")
        missing = self.old.count("\n") - self.new.count("\n")
        if missing < 0:
            raise ValueError(f"{self.name}: the change adds lines")
        return text.replace(self.old, self.new + "\n" * missing)

    def lines(self, text):
        """The numbers of the lines, in the text with the fault, that a finding may name."""
        found = [i for i, line in enumerate(text.splitlines(), 1) if any(part in line for part in self.at)]
        if not found:
            raise ValueError(f"{self.name}: no line has {self.at}")
        return found


def _without(program, check, removed, old, *at, new="", cuda=False):
    return Fault(program, check, removed, old, new, at, cuda)


def _barrier(program, before, *at, cuda=False):
    """Without the barrier behind a text."""
    return Fault(program, "races", f"barrier behind '{before.strip()}'", before + "\n", before + "\n", at, cuda)


SYNC = "__syncthreads();"


def _no_barrier(program, context, *at, which="", cuda=False):
    """Without the one barrier in a piece of the program."""
    return Fault(program, "races", f"barrier{which}", context, context.replace(SYNC, "", 1), at, cuda)


def _plain(program, atomic, plain, *at, cuda=False):
    return Fault(program, "races", f"atomic '{atomic}'", atomic, plain, at or (plain,), cuda)


RACES = [
    _no_barrier("tree_reduction", "in[i] : 0;\n  __syncthreads();", "partial["),
    _no_barrier("tree_reduction", "stride];\n    __syncthreads();", "partial[", which=" in the loop"),
    _no_barrier("tree_reduction", "stride];\n    __syncthreads();", "partial[", which=" in the loop", cuda=True),
    _no_barrier("block_scan", "data[i] : 0;\n  __syncthreads();", "buffer["),
    _no_barrier("block_scan", "1 - from;\n    __syncthreads();", "buffer[", which=" in the loop"),
    _no_barrier("tiled_matmul", "column] : 0;\n    __syncthreads();", "tile_", which=" behind the stores"),
    _no_barrier("tiled_matmul", "tile_b[i][x];\n    __syncthreads();", "tile_", which=" behind the loads"),
    _no_barrier("transpose", "width + x];\n  __syncthreads();", "tile["),
    _no_barrier("transpose", "width + x];\n  __syncthreads();", "tile[", cuda=True),
    _no_barrier("histogram", "local[bin] = 0;\n  __syncthreads();", "local[", which=" behind the initialisation"),
    _no_barrier("histogram", "1u);\n  __syncthreads();", "local[", which=" behind the atomics"),
    _plain("histogram", "atomicAdd(&local[data[i]], 1u);", "++local[data[i]];"),
    _plain("histogram", "atomicAdd(&bins[bin], local[bin]);", "bins[bin] += local[bin];"),
    _plain("histogram", "atomicAdd(&bins[bin], local[bin]);", "bins[bin] += local[bin];", cuda=True),
    _no_barrier("dynamic_shared", "radius));\n  __syncthreads();", "window[", "weights["),
    _no_barrier("conjugate_gradient", "stride /= 2) {\n    __syncthreads();", "sum["),
    _no_barrier("wave_reductions", "parts[wave] = value;\n  __syncthreads();\n  value =", "parts["),
    _no_barrier("wave_reductions", "parts[wave] = value;\n  __syncthreads();\n  if (wave == 0) {", "parts[",
                which=" of the prefix sums"),
    _no_barrier("wave_reductions", "parts[lane] = part;\n  }\n  __syncthreads();", "parts[",
                which=" behind the prefix sums of waves"),
    _plain("wave_reductions", "atomicAdd(sum, mine);", "*sum += mine;"),
    _no_barrier("barrier_in_loop", "tile[t] = mine[t];\n  __syncthreads();", "tile["),
    _no_barrier("barrier_in_loop", "kBlock];\n      __syncthreads();", "tile[", which=" behind the load in the loop"),
    _no_barrier("barrier_in_loop", "round;\n      __syncthreads();", "tile[", which=" behind the store in the loop"),
    _no_barrier("barrier_in_loop", "1 - t];\n    __syncthreads();", "tile[", which=" of the mirror"),
    _no_barrier("barrier_in_loop", "1000;\n    __syncthreads();", "tile[", which=" behind the first element"),
    _no_barrier("early_return", "in[i] : 0;\n  __syncthreads();", "tile["),
    _without("cooperative_groups", "races", "sync of the group", "value;\n    group.sync();", "room[",
             new="value;\n"),
    _without("grid_sync", "races", "first barrier of the grid", "    grid.sync();\n    if (threadIdx.x == 0) sum",
             "next[", "cells[", new="\n    if (threadIdx.x == 0) sum"),
    _without("grid_sync", "races", "second barrier of the grid", "next = other;\n    grid.sync();",
             "next[", "cells[", new="next = other;\n"),
    _without("grid_sync", "races", "barrier of the block", "mine;\n  block.sync();", "tile[", new="mine;\n"),
    _without("grid_sync", "races", "barrier of the grid behind the parts", "tile[0];\n  grid.sync();", "parts[",
             new="tile[0];\n"),
    _without("wait_for_blocks", "races", "fence before the arrival",
             "generation;\n    __threadfence();", "b[i] = a[i]", new="generation;\n"),
    _without("wait_for_blocks", "races", "fence behind the wait",
             "      }\n    }\n    __threadfence();", "b[i] = a[i]", new="      }\n    }\n"),
    _no_barrier("wait_for_blocks", "void meet_grid() {\n  __syncthreads();", "b[i] = a[i]", which=" before the arrival"),
    _without("wait_for_blocks", "races", "barrier of the grid", "    a = b;\n    b = other;\n    meet_grid();",
             "b[i] = a[i]", new="    a = b;\n    b = other;\n"),
    _no_barrier("wait_for_blocks", "&next_block, 1u);\n  __syncthreads();", "number"),
    _no_barrier("wait_for_blocks", "sums[threadIdx.x] = in[i];\n  __syncthreads();", "sums["),
    _no_barrier("wait_for_blocks", "distance] : 0;\n    __syncthreads();", "sums[", which=" behind the load"),
    _no_barrier("wait_for_blocks", "__HIP_MEMORY_SCOPE_AGENT);\n  }\n  __syncthreads();\n  out[i]", "before"),
    _plain("float_atomics", "atomicAdd(&block_sum, values[i]);", "block_sum += values[i];"),
    _plain("float_atomics", "atomicAdd(&sums[1 + i % (kCells - 1)], values[i]);",
           "sums[1 + i % (kCells - 1)] += values[i];"),
    _plain("float_atomics", "atomicAdd(&sums[0], block_sum);", "sums[0] += block_sum;"),
    _no_barrier("float_atomics", "block_sum = 0;\n  __syncthreads();", "block_sum"),
    _no_barrier("float_atomics", "values[i]);\n  }\n  __syncthreads();", "block_sum", which=" behind the atomics"),
    _plain("atomics_mix", "atomicAdd(&cell.sum, value);", "cell.sum += value;"),
    _plain("atomics_mix", "atomicOr(&cell.any, bits & 0xf0f0);", "cell.any |= bits & 0xf0f0;"),
    _plain("device_globals", "atomicAdd(&checksum, static_cast<unsigned long long>(i) * static_cast<unsigned>(out[i]));",
           "checksum += static_cast<unsigned long long>(i) * static_cast<unsigned>(out[i]);"),
    _no_barrier("barrier_in_recursion", "threadIdx.x];\n  __syncthreads();\n  reduce", "tile["),
    _no_barrier("barrier_in_recursion", "half];\n  __syncthreads();\n  reduce(tile, half);", "tile[",
                which=" of the recursion"),
    _no_barrier("barrier_in_recursion", "kBlock];\n  __syncthreads();\n  ring", "ring["),
    _no_barrier("uniform_loops", "shared[t] = state;\n    __syncthreads();", "shared["),
    _no_barrier("uniform_loops", "if (k == outer) break;\n    }\n    __syncthreads();", "shared[",
                which=" behind the loads"),
    _without("stencil_2d", "races", "second buffer", "block, 0, stream>>>(now, next,", "out[i] = edge",
             new="block, 0, stream>>>(now, now,"),
]

INIT = [
    _without("histogram", "init", "initialisation of shared memory",
             "for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) local[bin] = 0;", "local["),
    _without("histogram", "init", "copy to an allocation", "to_device(std::vector<unsigned>(kBins, 5));",
             "atomicAdd(&bins[bin]", new="device_array<unsigned>(kBins);"),
    _without("float_atomics", "init", "initialisation of a shared variable", "if (threadIdx.x == 0) block_sum = 0;",
             "block_sum"),
    _without("float_atomics", "init", "initialisation of a shared variable", "if (threadIdx.x == 0) block_sum = 0;",
             "block_sum", cuda=True),
    _without("dynamic_shared", "init", "initialisation of static shared memory",
             "for (int i = threadIdx.x; i <= 2 * radius; i += blockDim.x) weights[i] = 1.0f / (1 + abs(i - radius));",
             "sum += weights["),
    _without("dynamic_shared", "init", "initialisation of what no element covers",
             "window[i] = first + i >= 0 && first + i < n ? in[first + i] : 0;", "sum += weights[",
             new="if (first + i >= 0 && first + i < n) window[i] = in[first + i];"),
    _without("tree_reduction", "init", "initialisation beyond the end",
             "partial[threadIdx.x] = i < n ? in[i] : 0;", "partial[threadIdx.x] +=",
             new="if (i < n) partial[threadIdx.x] = in[i];"),
    _without("tree_reduction", "init", "one block's result of the first launch",
             "if (threadIdx.x == 0) out[blockIdx.x]", "in[i]", "partial[threadIdx.x] +=",
             new="if (threadIdx.x == 0 && blockIdx.x != 3) out[blockIdx.x]"),
    _without("block_scan", "init", "initialisation beyond the end",
             "buffer[from][t] = i < n ? data[i] : 0;", "value += buffer[from]",
             new="if (i < n) buffer[from][t] = data[i];"),
    _without("wave_reductions", "init", "guard of waves that are not there",
             "value = threadIdx.x < kBlock / warpSize ? parts[lane] : 0;", "value +=", "parts[lane % 8]",
             new="value = parts[lane % 8];"),
    _without("grid_sync", "init", "initialisation of a shared sum", "if (threadIdx.x == 0) sum = 0;", "sum += next["),
    _without("spin_locks", "init", "initialisation of shared locks",
             "lock[threadIdx.x] = sum[threadIdx.x] = 0;", "sum[bin] = sum[bin] + v",
             new="lock[threadIdx.x] = 0;"),
    _without("spin_locks", "init", "copy to an allocation", "*device_sums = zeros(kBins), *device_most",
             "*sum = *sum + v", new="*device_sums = device_array<unsigned>(kBins), *device_most"),
    _without("vector_add", "init", "copy to an allocation", "float* device_b = to_device(b);", "c[i] = a[i] + b[i]",
             new="float* device_b = device_array<float>(n);"),
    _without("vector_add", "init", "copy to an allocation", "float* device_b = to_device(b);", "c[i] = a[i] + b[i]",
             new="float* device_b = device_array<float>(n);", cuda=True),
    _without("spmv_csr", "init", "copy to an allocation", "double* device_x = to_device(x);", "sum += value[i]",
             new="double* device_x = device_array<double>(x.size());"),
    _without("saxpy_template", "init", "asynchronous copy",
             "check(hipMemcpyAsync(device_y, pinned, kCount * sizeof(T), hipMemcpyHostToDevice, stream));",
             "y[i] = a * x[i] + y[i]"),
    _without("stencil_2d", "init", "copy to an allocation", "float* now = to_device(start);", "out[i] = edge",
             new="float* now = device_array<float>(start.size());"),
    _without("stencil_2d", "init", "results at the edge", "  out[i] = edge ? in[i] :", "out[i] =",
             new="  if (!edge) out[i] ="),
    _without("local_array", "init", "first element of a local array", "for (int k = 0; k < kEach; ++k) {",
             "mine[place - 1] > value", new="for (int k = 1; k < kEach; ++k) {"),
    _without("stream_ordered_memory", "init", "kernel that fills",
             "fill<<<blocks_for(count, 128), 128, 0, stream>>>(temporary, count, round);", "total[i] += memory[i]"),
    _without("conjugate_gradient", "init", "copy to an allocation",
             "double* u = to_device(std::vector<double>(kCount, 0.0));", "y[i] += a * x[i]",
             new="double* u = device_array<double>(kCount);"),
    _without("conjugate_gradient", "init", "kernel that writes a vector", "apply<<<kBlocks, kBlock>>>(p, q);",
             "x[i] * y[i] : 0"),
]

SYNCHRONISATION = [
    _without("tree_reduction", "sync", "barrier outside of the branch",
             "+ stride];\n    __syncthreads();\n  }", "__syncthreads();", "partial[",
             new="+ stride], __syncthreads();\n  }"),
    _without("block_scan", "sync", "barrier for threads beyond the end", "  int from = 0;", "__syncthreads();",
             new="  int from = 0; if (i >= n) return;"),
    _without("tiled_matmul", "sync", "barriers for threads beyond the end", "  float sum = 0;", "__syncthreads();",
             new="  float sum = 0; if (row >= m || column >= n) return;"),
    _without("histogram", "sync", "barrier for some threads", "1u);\n  __syncthreads();", "__syncthreads();",
             new="1u);\n  if (threadIdx.x < 100) __syncthreads();"),
    _without("dynamic_shared", "sync", "barrier for threads beyond the end",
             "  int first = static_cast", "__syncthreads();",
             new="  if (blockIdx.x * blockDim.x + threadIdx.x >= n) return; int first = static_cast"),
    _without("conjugate_gradient", "sync", "barrier for some threads", "    __syncthreads();", "__syncthreads();",
             new="    if (threadIdx.x < 2 * stride) __syncthreads();"),
    _without("wave_reductions", "sync", "lanes beyond the end of a sum",
             "int value = wave_sum(i < n ? in[i] : 0);", "__shfl_down(", "wave_sum(",
             new="int value = i < n ? wave_sum(in[i]) : 0;"),
    _without("wave_reductions", "sync", "lanes below the distance of a shuffle",
             "    int other = __shfl_up(value, distance);\n    if (lane >= distance) value += other;", "__shfl_up(",
             new="    if (lane >= distance) value += __shfl_up(value, distance);"),
    _without("wave_reductions", "sync", "the lane that is read", "int start = __shfl(i % warpSize == 0", "__shfl(",
             new="if (!odd) return; int start = __shfl(i % warpSize == 0"),
    _without("wave_reductions", "sync", "the caller in a mask",
             "value += __shfl_down(value, distance);", "__shfl_down_sync(",
             new="value += __shfl_down_sync(0x7fffffff, value, distance);", cuda=True),
    _without("wave_reductions", "sync", "lanes that a mask has",
             "    int other = __shfl_up(value, distance);\n    if (lane >= distance) value += other;",
             "__shfl_up_sync(", new="    if (lane >= distance) value += __shfl_up_sync(~0u, value, distance);",
             cuda=True),
    _without("wave_reductions", "sync", "lanes that a ballot has",
             "  unsigned long long all = __ballot(odd);", "__ballot_sync(",
             new="  unsigned all = odd ? __ballot_sync(~0u, odd) : 0;", cuda=True),
    _without("spin_locks", "sync", "lanes that a barrier of the warp has", "#ifdef __CUDA__\n  __syncwarp();",
             "__syncwarp(~0u)", new="#ifdef __CUDA__\n  if (leads()) __syncwarp(~0u);", cuda=True),
    _without("transpose", "sync", "fence of a barrier", SYNC, "s_barrier", new="__builtin_amdgcn_s_barrier();"),
    _without("block_scan", "sync", "fence of a barrier", "1 - from;\n    __syncthreads();", "s_barrier",
             new="1 - from;\n    __builtin_amdgcn_s_barrier();"),
]

MEMORY = [
    _without("vector_add", "memory", "guard", "if (i < n) ", "c[i] = a[i] + b[i]"),
    _without("vector_add", "memory", "guard", "if (i < n) ", "c[i] = a[i] + b[i]", cuda=True),
    _without("spmv_csr", "memory", "guard", "if (row >= rows) return;", "row_start[row]"),
    _without("saxpy_template", "memory", "guard", "if (i < n) y[i] = a", "y[i] = a", new="y[i] = a"),
    _without("grid_3d", "memory", "guard", "if (x >= width || y >= height || z >= depth) return;", "volume["),
    _without("stencil_2d", "memory", "guard", "if (x >= width || y >= height) return;", "out[i] = edge"),
    _without("pitched_image", "memory", "clamp to the first row", "max(y - 1, 0)", "sum += in[", new="y - 1"),
    _without("conjugate_gradient", "memory", "guard of the left neighbour", "if (x > 0) ", "u[i - 1]"),
    _without("linked_list", "memory", "guard", "if (list >= lists) return;", "heads[list]"),
    _without("stream_ordered_memory", "memory", "guard", "if (i < n) memory[i]", "memory[i] = ", new="memory[i]"),
    _without("local_array", "memory", "guard", "if (i >= n) return;", "data[i * kEach + k]"),
    _without("block_scan", "memory", "guard", "if (i < n) data[i] = buffer", "data[i] = buffer",
             new="data[i] = buffer"),
]

NAN = [
    _without("nbody", "nan", "softening", " + 0.01f;", "pull = ", new=";"),
    _without("dynamic_shared", "nan", "term that keeps a divisor from zero", "1.0f / (1 + abs(i - radius))",
             "weights[i] = ", new="1.0f / abs(i - radius)"),
    _without("wait_for_blocks", "nan", "term that keeps a divisor from zero", "values.push_back(4.0 + row % 3);",
             "x[row] = sum / values[last]", new="values.push_back(row % 3);"),
    _without("float_atomics", "nan", "divisor that is not zero", "values[i] * 0.5);", "wide_sums[i % kCells]",
             new="values[i] * 0.5 / (i % 7));"),
]

FAULTS = RACES + INIT + SYNCHRONISATION + MEMORY + NAN
# Found in every test run: one or two of most checks.
SAMPLE = [RACES[0], RACES[11], RACES[13], INIT[0], INIT[13], SYNCHRONISATION[0], SYNCHRONISATION[8], MEMORY[0]]
