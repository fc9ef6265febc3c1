# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# CPack runs this before it packs what is installed: documents go where Debian looks for them, and are compressed.
set(sources ${CPACK_MNEME_SOURCE_DIR})
set(share ${CPACK_TEMPORARY_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}/share)
set(documents ${share}/doc/${CPACK_PACKAGE_NAME})

configure_file(${sources}/packaging/debian-copyright ${documents}/copyright COPYONLY)
file(COPY ${sources}/README.md ${sources}/lib/bundle/FORMAT.md DESTINATION ${documents})
file(GLOB files ${sources}/docs/*.md ${sources}/docs/*.svg)
file(COPY ${files} DESTINATION ${documents}/docs)
if(EXISTS ${sources}/CHANGELOG.md)
  configure_file(${sources}/CHANGELOG.md ${documents}/changelog COPYONLY)
endif()

file(GLOB compressed ${share}/man/man1/*.1 ${documents}/changelog)
execute_process(COMMAND gzip -9nf ${compressed} COMMAND_ERROR_IS_FATAL ANY)
