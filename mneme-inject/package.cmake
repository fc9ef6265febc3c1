# The CMake package, in lib/cmake/mneme: found from wherever the installation is moved to.
include(CMakePackageConfigHelpers)
set(package_folder lib/cmake/mneme)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/mneme-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/mneme-config.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/mneme-config-version.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/mneme-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/mneme-config-version.cmake
  ${PROJECT_SOURCE_DIR}/cmake/add_mneme.cmake
  DESTINATION ${package_folder})
