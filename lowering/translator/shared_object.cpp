// The parts of libptx2cpu_translator.so besides the translator: its one export, and its behaviour at the end
// of the process.
#include <string_view>

#include "lowering/translator/identity.h"
#include "lowering/translator/translator.h"

using namespace ptx2cpu;

extern "C" {

__attribute__((visibility("default"))) const lowering::Translator* ptx2cpu_find_translator(
    const char* identity) {
  if (lowering::TranslatorIdentity() != identity) return nullptr;
  const lowering::Translator& translator = lowering::LinkedTranslator();
  // The parser's runtime is a shared object of its own, whose tables are destroyed when the process ends. The
  // first text that is parsed constructs them: in front of handlers that the caller registers after this
  // call, so that they outlive what those handlers stop.
  static_cast<void>(translator.Parse(
      {".version 8.0\n.target sm_80\n.address_size 64\n.func f() { ret; }\n", "tables.ptx"}));
  return &translator;
}

// Nothing of this object is destroyed when the process ends: a thread may compile until then, and uses tables
// that LLVM keeps in static variables of functions. The tables that such a thread has constructed last would
// be destroyed first, before any handler could stop the thread. LLVM is linked statically, so its references
// find this function; its tables own nothing that outlives the process.
__attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
}
