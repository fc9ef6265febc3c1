! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
program from_fortran
  use, intrinsic :: iso_c_binding, only: c_double, c_loc, c_null_char
  use mneme
  implicit none
  real(c_double), target :: memory(4)
  call mneme_annotate(c_loc(memory), MNEME_F64, 1.0d-6, MNEME_RELATIVE, MNEME_LINF, "memory"//c_null_char)
  call mneme_unannotate(c_loc(memory))
end program
