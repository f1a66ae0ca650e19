#include "runtime/worker/failure.h"

#include <exception>
#include <new>
#include <system_error>

namespace ptx2cpu::rt {

namespace {
std::string Internal(const std::string& what) { return "internal error: " + what + "\n  " + kReportAdvice; }
}  // namespace

Failure CurrentFailure() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {Failure::Kind::kMemory, "no memory"};
  } catch (const std::system_error& error) {
    return {Failure::Kind::kSystem, error.what()};
  } catch (const std::exception& error) {
    return {Failure::Kind::kInternal, Internal(error.what())};
  } catch (...) {
    return {Failure::Kind::kInternal, Internal("an unknown exception")};
  }
}

}  // namespace ptx2cpu::rt
