// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sparse matrix times a vector, one row a thread: indirect loads and loops of different lengths, empty rows among
// them.

#include "check.h"

__global__ void spmv_csr(const int* row_start, const int* column, const double* value, const double* x, double* y,
                         int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  double sum = 0;
  for (int i = row_start[row]; i < row_start[row + 1]; ++i) sum += value[i] * x[column[i]];
  y[row] = sum;
}

int main() {
  Test test("spmv_csr");
  const int rows = 3001, columns = 2500;
  Random random(1);
  std::vector<int> row_start{0};
  std::vector<int> column;
  for (int row = 0; row < rows; ++row) {
    int length = row % 50 == 0 ? 200 : random.below(12);
    for (int i = 0; i < length; ++i) column.push_back(random.below(columns));
    row_start.push_back(static_cast<int>(column.size()));
  }
  std::vector<double> value = random.values(column.size(), -2.0, 2.0);
  std::vector<double> x = random.values(columns, -1.0, 1.0);
  std::vector<double> want(rows);
  for (int row = 0; row < rows; ++row)
    for (int i = row_start[row]; i < row_start[row + 1]; ++i) want[row] += value[i] * x[column[i]];

  int* device_row_start = to_device(row_start);
  int* device_column = to_device(column);
  double* device_value = to_device(value);
  double* device_x = to_device(x);
  double* device_y = to_device(std::vector<double>(rows, -1.0));
  spmv_csr<<<blocks_for(rows, 64), 64>>>(device_row_start, device_column, device_value, device_x, device_y, rows);
  check(hipGetLastError());

  test.close("y", to_host(device_y, rows), want, 1e-12);
  check(hipFree(device_row_start));
  check(hipFree(device_column));
  check(hipFree(device_value));
  check(hipFree(device_x));
  check(hipFree(device_y));
  return test.finish();
}
