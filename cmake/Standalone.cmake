# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mneme_standalone(target): links what our libraries need from archives, so that the program runs where there is nothing but
# the C library, and that not the newest: glibc 2.34 or later (which executable_test.py holds). oneTBB and {fmt} have no
# archives everywhere: threads of our own and {fmt}'s own source stand in.
# mneme_has_standalone says whether there are the archives; with sanitizers, which want their own library, there is none.
set(mneme_has_standalone ON)
foreach(library XXHASH ZSTD ARCHIVE SECCOMP)
  list(GET ${library}_LIBRARIES 0 name)
  find_library(MNEME_${library}_ARCHIVE NAMES lib${name}.a HINTS ${${library}_LIBRARY_DIRS} ${${library}_LIBDIR})
  mark_as_advanced(MNEME_${library}_ARCHIVE)
  if(NOT MNEME_${library}_ARCHIVE)
    set(mneme_has_standalone OFF)
    continue()
  endif()
  get_target_property(shared PkgConfig::${library} INTERFACE_LINK_LIBRARIES)
  set_target_properties(PkgConfig::${library} PROPERTIES INTERFACE_LINK_LIBRARIES
    "$<IF:$<BOOL:$<TARGET_PROPERTY:MNEME_STANDALONE>>,${MNEME_${library}_ARCHIVE},${shared}>")
endforeach()
# With lld, which does not mind the archives' order; and with the {fmt} whose source is below.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang OR MNEME_SANITIZE OR NOT fmt_VERSION VERSION_GREATER_EQUAL 9
    OR NOT fmt_VERSION VERSION_LESS 10)
  set(mneme_has_standalone OFF)
endif()

# {fmt}'s own source: with it, the linker needs no libfmt.so.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/standalone/fmt.cc CONTENT [[
#include <fmt/format-inl.h>
FMT_BEGIN_NAMESPACE
namespace detail {
template FMT_API auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API void buffer<char>::append(const char*, const char*);
template FMT_API void vformat_to(buffer<char>&, string_view,
                                 basic_format_args<FMT_BUFFER_CONTEXT(type_identity_t<char>)>, locale_ref);
}
FMT_END_NAMESPACE
]] @ONLY)

# The compiler's own functions, which kernels' code calls: what libgcc_s.so.1 gives other programs. In the archive nobody but
# the program that it is linked into is to see them.
set(mneme_compiler_functions
  __divti3 __modti3 __udivti3 __umodti3 __multi3 __divmodti4 __udivmodti4
  __fixsfti __fixdfti __fixhfti __fixunssfti __fixunsdfti __fixunshfti
  __floattisf __floattidf __floattihf __floatuntisf __floatuntidf __floatuntihf
  __extendhfsf2 __extendhfdf2 __truncsfhf2 __truncdfhf2 __truncsfbf2 __truncdfbf2 __powisf2 __powidf2)
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-libgcc-file-name
  OUTPUT_VARIABLE mneme_libgcc OUTPUT_STRIP_TRAILING_WHITESPACE)
find_program(MNEME_OBJCOPY NAMES llvm-objcopy-19 llvm-objcopy)
mark_as_advanced(MNEME_OBJCOPY)
if(NOT EXISTS "${mneme_libgcc}" OR NOT MNEME_OBJCOPY)
  set(mneme_has_standalone OFF)
endif()
if(mneme_has_standalone)
  list(TRANSFORM mneme_compiler_functions REPLACE "(.+)" "--set-symbol-visibility=\\1=default" OUTPUT_VARIABLE shown)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/standalone/libgcc.a
    COMMAND ${MNEME_OBJCOPY} ${shown} ${mneme_libgcc} ${CMAKE_BINARY_DIR}/standalone/libgcc.a
    DEPENDS ${mneme_libgcc} VERBATIM)
  add_custom_target(mneme_libgcc DEPENDS ${CMAKE_BINARY_DIR}/standalone/libgcc.a)
endif()

function(mneme_standalone target)
  set_target_properties(${target} PROPERTIES MNEME_STANDALONE ON)
  target_sources(${target} PRIVATE ${CMAKE_BINARY_DIR}/standalone/fmt.cc ${PROJECT_SOURCE_DIR}/cmake/find_object.cc)
  add_dependencies(${target} mneme_libgcc)
  target_link_libraries(${target} PRIVATE ${CMAKE_BINARY_DIR}/standalone/libgcc.a)
  list(TRANSFORM mneme_compiler_functions REPLACE "(.+)" "-Wl,-u,\\1,--export-dynamic-symbol=\\1" OUTPUT_VARIABLE exported)
  target_link_options(${target} PRIVATE ${exported})
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,--as-needed -Wl,-s)
endfunction()
