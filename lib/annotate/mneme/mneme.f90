! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! The interface of mneme/annotate.h for Fortran: compile it with your program, and link with libmnemert. The pointers are
! device addresses as hipMalloc gives them; a tag ends with c_null_char.
!
!   call mneme_annotate(out, MNEME_F64, 1.0d-6, MNEME_RELATIVE, MNEME_LINF, "out"//c_null_char)
module mneme
  use, intrinsic :: iso_c_binding, only: c_ptr, c_int, c_double, c_char
  implicit none
  enum, bind(c)
    enumerator :: MNEME_U8, MNEME_I8, MNEME_U16, MNEME_I16, MNEME_U32, MNEME_I32, MNEME_U64, MNEME_I64
    enumerator :: MNEME_F16, MNEME_F32, MNEME_F64, MNEME_BF16, MNEME_CF32, MNEME_CF64
  end enum
  enum, bind(c)
    enumerator :: MNEME_ABSOLUTE, MNEME_RELATIVE, MNEME_SCALED, MNEME_ULP
  end enum
  enum, bind(c)
    enumerator :: MNEME_NONE, MNEME_L1, MNEME_L2, MNEME_LINF
  end enum
  interface
    subroutine mneme_annotate(pointer, dtype, threshold, kind, norm, tag) bind(c, name="mneme_annotate")
      import :: c_ptr, c_int, c_double, c_char
      type(c_ptr), value :: pointer
      integer(c_int), value :: dtype, kind, norm
      real(c_double), value :: threshold
      character(kind=c_char), intent(in) :: tag(*)
    end subroutine
    subroutine mneme_unannotate(pointer) bind(c, name="mneme_unannotate")
      import :: c_ptr
      type(c_ptr), value :: pointer
    end subroutine
  end interface
end module
