#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

Result<lowering::PtxModule> Source::Open() const {
  if (linked) return lowering::PtxModule::Link(texts);
  return lowering::PtxModule::Parse(texts[0].text, texts[0].name);
}

}  // namespace ptx2cpu::tool
