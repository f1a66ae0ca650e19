// PTX2CPU_TEST_SANITIZED: the program is built with AddressSanitizer or ThreadSanitizer, which take memory,
// time, address space and stack of their own.
#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define PTX2CPU_TEST_SANITIZED
#endif
#endif
