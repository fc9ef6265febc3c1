// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integrals of polynomials by quadrature: 17 lanes leave their parts in dynamic shared memory, far from each other, and
// the first lane adds them up, with no barrier in between. They are lanes of a row of the block, of a column, or of a
// row that has several integrals to do.
#include "check.h"

constexpr unsigned kPoints = 17, kLanes = 32, kRows = 4, kBlocks = 5, kDegree = 6, kPieces = 8;
constexpr unsigned kIntegrals = kBlocks * kRows;

// The part of an integral that one point has in all pieces of the interval.
template <class T>
inline __host__ __device__ T part_of(const T* coefficients, unsigned point) {
  T sum = 0;
  for (unsigned piece = 0; piece < kPieces; ++piece) {
    T x = static_cast<T>(piece * (kPoints - 1) + point), value = 0;
    for (unsigned i = 0; i < kDegree; ++i) value = value * x + coefficients[i];
    sum += value * static_cast<T>(point == 0 || point == kPoints - 1 ? 1 : point % 2 ? 4 : 2);
  }
  return sum;
}

// An integral a row, whose lanes' slots are as far apart as there are rows.
template <class T>
__global__ void by_rows(const T* coefficients, T* out) {
  extern __shared__ unsigned char dynamic[];
  T* slots = reinterpret_cast<T*>(dynamic);
  unsigned x = threadIdx.x, row = threadIdx.y, integral = blockIdx.x * blockDim.y + row;
  if (x < kPoints) slots[x * blockDim.y + row] = part_of(coefficients + integral * kDegree, x);
  if (x == 0) {
    T sum = 0;
    for (unsigned i = 0; i < kPoints; ++i) sum += slots[i * blockDim.y + row];
    out[integral] = sum;
  }
}

// An integral a block, whose lanes lie along y.
template <class T>
__global__ void by_column(const T* coefficients, T* out) {
  extern __shared__ unsigned char dynamic[];
  T* slots = reinterpret_cast<T*>(dynamic);
  unsigned y = threadIdx.y, stride = blockDim.y, integral = blockIdx.x;
  if (y < kPoints) slots[y * stride] = part_of(coefficients + integral * kDegree, y);
  if (y == 0) {
    T sum = 0;
    for (unsigned i = 0; i < kPoints; ++i) sum += slots[i * stride];
    out[integral] = sum;
  }
}

// Several integrals a block, one after the other, with a row of slots each.
template <class T>
__global__ void by_turns(const T* coefficients, T* out, unsigned rows) {
  extern __shared__ unsigned char dynamic[];
  T* slots = reinterpret_cast<T*>(dynamic);
  unsigned x = threadIdx.x, first = blockIdx.x * rows;
  if (x < kPoints) {
    for (unsigned row = 0; row < rows; ++row)
      slots[row * blockDim.x + x] = part_of(coefficients + (first + row) * kDegree, x);
  }
  if (x == 0) {
    for (unsigned row = 0; row < rows; ++row) {
      T sum = 0;
      for (unsigned i = 0; i < kPoints; ++i) sum += slots[row * blockDim.x + i];
      out[first + row] = sum;
    }
  }
}

template <class T>
void check_integrals(Test& test, const std::string& type) {
  std::vector<int> small = Random(8).values(kIntegrals * kDegree, 0, 9);
  std::vector<T> coefficients(small.begin(), small.end()), want(kIntegrals);
  for (unsigned i = 0; i < kIntegrals; ++i) {
    for (unsigned point = 0; point < kPoints; ++point) want[i] += part_of(&coefficients[i * kDegree], point);
  }
  T *device_coefficients = to_device(coefficients), *device_out = device_array<T>(kIntegrals);
  by_rows<T><<<kBlocks, dim3(kLanes, kRows), kPoints * kRows * sizeof(T)>>>(device_coefficients, device_out);
  test.equal((type + ", by rows").c_str(), to_host(device_out, kIntegrals), want);
  by_column<T><<<kIntegrals, dim3(1, kLanes), kPoints * kLanes * sizeof(T)>>>(device_coefficients, device_out);
  test.equal((type + ", by column").c_str(), to_host(device_out, kIntegrals), want);
  by_turns<T><<<kBlocks, kLanes, kRows * kLanes * sizeof(T)>>>(device_coefficients, device_out, kRows);
  test.equal((type + ", by turns").c_str(), to_host(device_out, kIntegrals), want);
  check(hipFree(device_coefficients));
  check(hipFree(device_out));
}

int main() {
  Test test("integration_slots");
  check_integrals<unsigned>(test, "unsigned");
  check_integrals<double>(test, "double");  // whole numbers below 2^53: exact
  return test.finish();
}
