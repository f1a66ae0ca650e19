# What `cmake --install` puts where: the program with manual page and completion, two static libraries (libptx2cpu.a,
# the C++ interface; libptx2cpu_rt.a, for objects compiled ahead of time), public headers, packages for CMake and
# pkg-config. Headers keep their paths: with <prefix>/include/ptx2cpu on the path, "runtime/engine/ptx2cpu.h" is found.
include(CMakePackageConfigHelpers)
set(PTX2CPU_INSTALL_INCLUDE ${CMAKE_INSTALL_INCLUDEDIR}/ptx2cpu)
file(RELATIVE_PATH PTX2CPU_PREFIX_FROM_PC /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
set(PTX2CPU_INSTALL_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/ptx2cpu)

# All static libraries of this project that `target` links, itself included.
function(ptx2cpu_link_closure target out)
  set(found ${${out}})
  if(NOT TARGET ${target} OR ${target} IN_LIST found)
    return()
  endif()
  get_target_property(imported ${target} IMPORTED)
  if(imported)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND found ${target})
    get_target_property(links ${target} LINK_LIBRARIES)
  else()
    get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  endif()
  set(${out} ${found})
  foreach(link ${links})
    string(REGEX REPLACE "^\\$<[A-Z_]+:(.*)>$" "\\1" link "${link}")
    ptx2cpu_link_closure("${link}" ${out})
  endforeach()
  set(${out} ${${out}} PARENT_SCOPE)
endfunction()

if(TARGET ptx2cpu_engine)
  # One archive of every room, so that users link one library and need not know the rooms.
  set(rooms)
  ptx2cpu_link_closure(ptx2cpu_engine rooms)
  list(REMOVE_ITEM rooms ptx2cpu_runtime)
  set(objects)
  foreach(room ${rooms})
    list(APPEND objects $<TARGET_OBJECTS:${room}>)
  endforeach()
  add_library(ptx2cpu_bundle STATIC ${objects})
  set_target_properties(ptx2cpu_bundle PROPERTIES OUTPUT_NAME ptx2cpu LINKER_LANGUAGE CXX)
  install(TARGETS ptx2cpu_bundle ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES runtime/engine/ptx2cpu.h DESTINATION ${PTX2CPU_INSTALL_INCLUDE}/runtime/engine)
  install(FILES ir/result.h DESTINATION ${PTX2CPU_INSTALL_INCLUDE}/ir)
  configure_file(tools/cmake/ptx2cpu.pc.in ${PROJECT_BINARY_DIR}/package/ptx2cpu.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/ptx2cpu.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

install(TARGETS ptx2cpu_runtime ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES runtime/launch/ptx2cpu_rt.h DESTINATION ${PTX2CPU_INSTALL_INCLUDE}/runtime/launch)
install(FILES runtime/abi/abi.h runtime/abi/limits.h runtime/abi/kernel_fields.def runtime/abi/texture.h runtime/abi/entry_points.def runtime/abi/device_runtime.def DESTINATION ${PTX2CPU_INSTALL_INCLUDE}/runtime/abi)
configure_file(tools/cmake/ptx2cpu-rt.pc.in ${PROJECT_BINARY_DIR}/package/ptx2cpu-rt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/ptx2cpu-rt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_package_config_file(tools/cmake/ptx2cpuConfig.cmake.in ${PROJECT_BINARY_DIR}/package/ptx2cpuConfig.cmake
  INSTALL_DESTINATION ${PTX2CPU_INSTALL_CMAKE} PATH_VARS PTX2CPU_INSTALL_INCLUDE CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/ptx2cpuConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/ptx2cpuConfig.cmake ${PROJECT_BINARY_DIR}/package/ptx2cpuConfigVersion.cmake
  DESTINATION ${PTX2CPU_INSTALL_CMAKE})

if(TARGET ptx2cpu)
  install(TARGETS ptx2cpu RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set(manual ${PROJECT_BINARY_DIR}/share/ptx2cpu.1)
  set(completion ${PROJECT_BINARY_DIR}/share/ptx2cpu)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share)
  add_custom_command(OUTPUT ${manual} ${completion}
    COMMAND ptx2cpu --manual-page > ${manual}
    COMMAND ptx2cpu --bash-completion > ${completion}
    DEPENDS ptx2cpu COMMENT "Manual page and completion" VERBATIM)
  add_custom_target(ptx2cpu_manual ALL DEPENDS ${manual} ${completion})
  install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()

foreach(file README.md LICENSE CHANGELOG.md)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${file})
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DOCDIR})
  endif()
endforeach()
