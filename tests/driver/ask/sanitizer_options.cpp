// How sanitizers behave in the programs that the driver's tests ask: these end in the middle of their work,
// so that what they have not freed is no leak, and they install handlers of faults and stacks of their own.
namespace {
const char* const kOptions =
    "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:use_sigaltstack=0:allocator_may_return_"
    "null=1";
}  // namespace

extern "C" const char* __asan_default_options() { return kOptions; }
extern "C" const char* __tsan_default_options() { return kOptions; }
