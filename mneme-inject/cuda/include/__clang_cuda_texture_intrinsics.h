// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// clang 19 has what CUDA's functions on textures are made of; of those on surfaces it has nothing, and leaves out
// CUDA's header that declares them. Both are added: a function on surfaces hands its name to __nv_tex_surf_handler,
// which nvcc has built in, and which here becomes the instruction (PTX's suld.b or sust.b).
#include_next <__clang_cuda_texture_intrinsics.h>
#if __clang_major__ == 19

namespace {
namespace __mneme_surfaces {

constexpr unsigned long long __hash(const char* __text, unsigned long long __sum = 14695981039346656037ull) {
  return *__text ? __hash(__text + 1, (__sum ^ static_cast<unsigned char>(*__text)) * 1099511628211ull) : __sum;
}

struct __1d {};
struct __2d {};
struct __3d {};
struct __a1d {};
struct __a2d {};

// z: a slice or a layer.
struct __Place {
  cudaSurfaceObject_t __surface;
  int __x, __y, __z;
};

// Elements of so many bytes, as many as that, in registers.
template <int __bytes, int __count>
struct __Elements;

#ifdef __NVPTX__
#define __MNEME_SURFACE_ASM(...) asm volatile(__VA_ARGS__)
#else
#define __MNEME_SURFACE_ASM(...) static_cast<void>(0)
#endif
#define __MNEME_SURFACE_AT(__p) [s] "l"(__p.__surface), [x] "r"(__p.__x), [y] "r"(__p.__y), [z] "r"(__p.__z)
#define __MNEME_SURFACE_UNPACKED(...) __VA_ARGS__
#define __MNEME_SURFACE_LOAD(__geometry, __at, __type, __values, __outs, __mode)              \
  __MNEME_SURFACE_ASM("suld.b." __geometry __type "." __mode " {" __values "}, [%[s], {" __at \
                      "}];" : __MNEME_SURFACE_UNPACKED __outs : __MNEME_SURFACE_AT(__p) : "memory")
#define __MNEME_SURFACE_STORE(__geometry, __at, __type, __values, __ins, __mode)               \
  __MNEME_SURFACE_ASM("sust.b." __geometry __type "." __mode " [%[s], {" __at "}], {" __values \
                      "};" : : __MNEME_SURFACE_AT(__p),                                        \
                      __MNEME_SURFACE_UNPACKED __ins : "memory")
#define __MNEME_SURFACE_MODES(__access, ...) \
  switch (__mode) {                          \
    case cudaBoundaryModeZero:               \
      __access(__VA_ARGS__, "zero");         \
      break;                                 \
    case cudaBoundaryModeClamp:              \
      __access(__VA_ARGS__, "clamp");        \
      break;                                 \
    default:                                 \
      __access(__VA_ARGS__, "trap");         \
  }
#define __MNEME_SURFACE_GEOMETRY(__tag, __geometry, __at, __type, __values, __outs, __ins)                 \
  __device__ void __load(__tag, const __Place& __p, cudaSurfaceBoundaryMode __mode){__MNEME_SURFACE_MODES( \
      __MNEME_SURFACE_LOAD, __geometry, __at, __type, __values,                                            \
      __outs)} __device__ void __store(__tag, const __Place& __p, cudaSurfaceBoundaryMode __mode) const {  \
    __MNEME_SURFACE_MODES(__MNEME_SURFACE_STORE, __geometry, __at, __type, __values, __ins)                \
  }
#define __MNEME_SURFACE_ELEMENTS(__bytes, __count, __register, __type, __values, __outs, __ins)       \
  template <>                                                                                         \
  struct __Elements<__bytes, __count> {                                                               \
    __register __v[__count];                                                                          \
    __MNEME_SURFACE_GEOMETRY(__1d, "1d", "%[x]", __type, __values, __outs, __ins)                     \
    __MNEME_SURFACE_GEOMETRY(__2d, "2d", "%[x], %[y]", __type, __values, __outs, __ins)               \
    __MNEME_SURFACE_GEOMETRY(__3d, "3d", "%[x], %[y], %[z], %[z]", __type, __values, __outs, __ins)   \
    __MNEME_SURFACE_GEOMETRY(__a1d, "a1d", "%[z], %[x]", __type, __values, __outs, __ins)             \
    __MNEME_SURFACE_GEOMETRY(__a2d, "a2d", "%[z], %[x], %[y], %[y]", __type, __values, __outs, __ins) \
  };
#define __MNEME_SURFACE_SIZE(__bytes, __register, __c, __type)                                               \
  __MNEME_SURFACE_ELEMENTS(__bytes, 1, __register, __type, "%[a]", ([a] "=" __c(__v[0])), ([a] __c(__v[0]))) \
  __MNEME_SURFACE_ELEMENTS(__bytes, 2, __register, ".v2" __type, "%[a], %[b]",                               \
                           ([a] "=" __c(__v[0]), [b] "=" __c(__v[1])), ([a] __c(__v[0]), [b] __c(__v[1])))
#define __MNEME_SURFACE_FOUR(__bytes, __register, __c, __type)                                                   \
  __MNEME_SURFACE_ELEMENTS(__bytes, 4, __register, ".v4" __type, "%[a], %[b], %[c], %[d]",                       \
                           ([a] "=" __c(__v[0]), [b] "=" __c(__v[1]), [c] "=" __c(__v[2]), [d] "=" __c(__v[3])), \
                           ([a] __c(__v[0]), [b] __c(__v[1]), [c] __c(__v[2]), [d] __c(__v[3])))
__MNEME_SURFACE_SIZE(1, unsigned short, "h", ".b8")
__MNEME_SURFACE_FOUR(1, unsigned short, "h", ".b8")
__MNEME_SURFACE_SIZE(2, unsigned short, "h", ".b16")
__MNEME_SURFACE_FOUR(2, unsigned short, "h", ".b16")
__MNEME_SURFACE_SIZE(4, unsigned, "r", ".b32")
__MNEME_SURFACE_FOUR(4, unsigned, "r", ".b32")
__MNEME_SURFACE_SIZE(8, unsigned long long, "l", ".b64")
#undef __MNEME_SURFACE_ASM
#undef __MNEME_SURFACE_AT
#undef __MNEME_SURFACE_UNPACKED
#undef __MNEME_SURFACE_LOAD
#undef __MNEME_SURFACE_STORE
#undef __MNEME_SURFACE_MODES
#undef __MNEME_SURFACE_GEOMETRY
#undef __MNEME_SURFACE_ELEMENTS
#undef __MNEME_SURFACE_SIZE
#undef __MNEME_SURFACE_FOUR

template <class __T>
struct __Element {
  using __type = decltype(__T::x);
};
#define __MNEME_SURFACE_SCALAR(__t) \
  template <>                       \
  struct __Element<__t> {           \
    using __type = __t;             \
  };
__MNEME_SURFACE_SCALAR(char)
__MNEME_SURFACE_SCALAR(signed char)
__MNEME_SURFACE_SCALAR(unsigned char)
__MNEME_SURFACE_SCALAR(short)
__MNEME_SURFACE_SCALAR(unsigned short)
__MNEME_SURFACE_SCALAR(int)
__MNEME_SURFACE_SCALAR(unsigned)
__MNEME_SURFACE_SCALAR(long long)
__MNEME_SURFACE_SCALAR(unsigned long long)
__MNEME_SURFACE_SCALAR(float)
#undef __MNEME_SURFACE_SCALAR

template <class __T>
struct __Access {
  static constexpr int __bytes = sizeof(typename __Element<__T>::__type), __count = sizeof(__T) / __bytes;
  using __Registers = __Elements<__bytes, __count>;

  template <class __Geometry>
  static __device__ void __read(__T* __to, const __Place& __place, cudaSurfaceBoundaryMode __mode) {
    __Registers __registers;
    __registers.__load(__Geometry(), __place, __mode);
    for (int __i = 0; __i < __count; ++__i) {
      __builtin_memcpy(reinterpret_cast<char*>(__to) + __i * __bytes, &__registers.__v[__i], __bytes);
    }
  }
  template <class __Geometry>
  static __device__ void __write(const __T* __from, const __Place& __place, cudaSurfaceBoundaryMode __mode) {
    __Registers __registers = {};
    for (int __i = 0; __i < __count; ++__i) {
      __builtin_memcpy(&__registers.__v[__i], reinterpret_cast<const char*>(__from) + __i * __bytes, __bytes);
    }
    __registers.__store(__Geometry(), __place, __mode);
  }
};

template <unsigned long long __name>
struct __Operation;
#define __MNEME_SURFACE_PARAMETERS(...) __VA_ARGS__
#define __MNEME_SURFACE_OPERATION(__name, __tag, __parameters, __y, __z)                                              \
  template <>                                                                                                         \
  struct __Operation<__hash("__isurf" __name "read")> {                                                               \
    template <class __T>                                                                                              \
    static __device__ void __run(__T* __to, cudaSurfaceObject_t __s, __MNEME_SURFACE_PARAMETERS __parameters,         \
                                 cudaSurfaceBoundaryMode __mode) {                                                    \
      __Access<__T>::template __read<__tag>(__to, {__s, __x, __y, __z}, __mode);                                      \
    }                                                                                                                 \
  };                                                                                                                  \
  template <>                                                                                                         \
  struct __Operation<__hash("__isurf" __name "write_v2")> {                                                           \
    template <class __T>                                                                                              \
    static __device__ void __run(const __T* __from, cudaSurfaceObject_t __s, __MNEME_SURFACE_PARAMETERS __parameters, \
                                 cudaSurfaceBoundaryMode __mode) {                                                    \
      __Access<__T>::template __write<__tag>(__from, {__s, __x, __y, __z}, __mode);                                   \
    }                                                                                                                 \
  };
__MNEME_SURFACE_OPERATION("1D", __1d, (int __x), 0, 0)
__MNEME_SURFACE_OPERATION("2D", __2d, (int __x, int __row), __row, 0)
__MNEME_SURFACE_OPERATION("3D", __3d, (int __x, int __row, int __slice), __row, __slice)
__MNEME_SURFACE_OPERATION("1DLayered", __a1d, (int __x, int __layer), 0, __layer)
__MNEME_SURFACE_OPERATION("2DLayered", __a2d, (int __x, int __row, int __layer), __row, __layer)
__MNEME_SURFACE_OPERATION("Cubemap", __a2d, (int __x, int __row, int __face), __row, __face)
__MNEME_SURFACE_OPERATION("CubemapLayered", __a2d, (int __x, int __row, int __face), __row, __face)
#undef __MNEME_SURFACE_OPERATION
#undef __MNEME_SURFACE_PARAMETERS

}  // namespace __mneme_surfaces
}  // namespace

#pragma push_macro("__nv_tex_surf_handler")
#undef __nv_tex_surf_handler
#define __nv_tex_surf_handler(__name, __value, ...) \
  ::__mneme_surfaces::__Operation<::__mneme_surfaces::__hash(__name)>::__run(__value, __VA_ARGS__)
#include "surface_indirect_functions.h"
#pragma pop_macro("__nv_tex_surf_handler")
#endif
