#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_NO_POSIX_SIGNALS  // kernels that fault are the runtime's to catch
#include <catch2/catch.hpp>
