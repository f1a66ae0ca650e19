# A C++ program built by one compiler call.
include(${SOURCE}/pkg_config.cmake)
package_flags(ptx2cpu flags)
execute_process(COMMAND ${CXX_COMPILER} -std=c++23 ${SANITIZE} ${SOURCE}/consumer_cmake/launch_saxpy.cpp -o ${WORK}/launch_saxpy ${flags}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK}/launch_saxpy ${CORPUS}/run_vectors COMMAND_ERROR_IS_FATAL ANY)
