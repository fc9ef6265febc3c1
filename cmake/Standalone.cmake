# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mneme_standalone(target): links what our libraries need from archives, so that the program runs where there is nothing but
# the C library. oneTBB and {fmt} have no archives everywhere: threads of our own and {fmt}'s own source stand in.
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
if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang OR MNEME_SANITIZE)
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

function(mneme_standalone target)
  set_target_properties(${target} PROPERTIES MNEME_STANDALONE ON)
  target_sources(${target} PRIVATE ${CMAKE_BINARY_DIR}/standalone/fmt.cc)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,--as-needed -Wl,-s)
endfunction()
