// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// opencl NAME.cl: runs the OpenCL C kernel NAME on the problem of that name, on the first OpenCL device.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "bench.h"
#include "black_scholes.h"
#include "histogram.h"
#include "nbody.h"
#include "reduction.h"
#include "scan.h"
#include "spmv.h"
#include "stencil.h"
#include "tiled_matmul.h"
#include "transpose.h"
#include "vector_add.h"

namespace {

const std::map<std::string, Problem (*)()> kProblems = {{"black_scholes", black_scholes},
                                                        {"histogram", histogram},
                                                        {"nbody", nbody},
                                                        {"reduction", reduction},
                                                        {"scan", scan},
                                                        {"spmv", spmv},
                                                        {"stencil", stencil},
                                                        {"transpose", transpose},
                                                        {"tiled_matmul", tiled_matmul},
                                                        {"vector_add", vector_add}};

void check(cl_int status, const char* what) {
  if (status == CL_SUCCESS) return;
  std::cerr << what << " gave " << status << "\n";
  std::exit(3);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "usage: opencl NAME.cl\n", 2;
  std::string name = std::filesystem::path(argv[1]).stem();
  Problem problem = kProblems.at(name)();
  std::ostringstream text;
  text << std::ifstream(argv[1]).rdbuf();
  std::string source = text.str();

  cl_platform_id platform;
  cl_device_id device;
  check(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, nullptr);
  const char* lines = source.c_str();
  cl_program program = clCreateProgramWithSource(context, 1, &lines, nullptr, nullptr);
  check(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, name.c_str(), nullptr);

  std::vector<cl_mem> buffers;
  for (Array& array : problem.arrays) {
    buffers.push_back(clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 4 * array.words.size(),
                                     array.words.data(), nullptr));
    check(clSetKernelArg(kernel, static_cast<cl_uint>(buffers.size() - 1), sizeof(cl_mem), &buffers.back()),
          "clSetKernelArg");
  }
  check(clSetKernelArg(kernel, static_cast<cl_uint>(buffers.size()), sizeof problem.n, &problem.n), "clSetKernelArg");
  const size_t local[2] = {problem.block[0], problem.block[1]};
  const size_t global[2] = {local[0] * problem.grid[0], local[1] * problem.grid[1]};
  long long best = best_of_ten([&] {
    check(clEnqueueNDRangeKernel(queue, kernel, 2, nullptr, global, local, 0, nullptr, nullptr), "the launch");
    check(clFinish(queue), "clFinish");
  });
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    auto& words = problem.arrays[i].words;
    check(clEnqueueReadBuffer(queue, buffers[i], CL_TRUE, 0, 4 * words.size(), words.data(), 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  }
  return report(problem, best);
}
