// The graph API: descriptors, and plans that run on the handle's stream.
#include <cstdio>
#include <new>

#include "runtime/cuda/libraries/dnn/descriptor_calls.h"
#include "runtime/cuda/libraries/dnn/graph/program.h"
#include "runtime/cuda/libraries/dnn/graph/status.h"
#include "runtime/cuda/libraries/dnn/tensor.h"

namespace ptx2cpu::cudnn {

namespace {

bool AreLayout(const Content& tensor) {
  const auto extents = tensor.List<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
             strides = tensor.List<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  return !extents.empty() && extents.size() == strides.size() && ArePositive(extents) &&
         ArePositive(strides, 0);
}

cudnnStatus_t Use(Content& content, const Link& from) {
  content.compiled = from->compiled;
  if (content.compiled.program != nullptr) return CUDNN_STATUS_SUCCESS;
  std::fprintf(stderr, "ptx2cpu: cudnnBackendFinalize: %s\n", content.compiled.why.c_str());
  return CUDNN_STATUS_NOT_SUPPORTED;
}

// The one configuration of the one engine.
Link ConfigurationFor(const Link& graph) {
  auto engine = std::make_shared<Content>(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine->SetLink(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  engine->SetValue(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, int64_t{0});
  auto configuration = std::make_shared<Content>(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  configuration->compiled = engine->compiled = graph->compiled;
  engine->finalized = configuration->finalized = true;
  configuration->SetLink(CUDNN_ATTR_ENGINECFG_ENGINE, std::move(engine));
  return configuration;
}

// What a tensor is where nothing else was set, as documented.
void SetDefaults(Content& tensor) {
  if (!tensor.Has(CUDNN_ATTR_TENSOR_VECTOR_COUNT))
    tensor.SetValue(CUDNN_ATTR_TENSOR_VECTOR_COUNT, int64_t{1});
  if (!tensor.Has(CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION))
    tensor.SetValue(CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION, int64_t{-1});
  for (const auto name : {CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_ATTR_TENSOR_IS_BY_VALUE})
    if (!tensor.Has(name)) tensor.SetValue(name, false);
}

// What finalizing computes.
cudnnStatus_t Finalize(Content& content) {
  switch (content.type()) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      if (!AreLayout(content)) return CUDNN_STATUS_BAD_PARAM;
      SetDefaults(content);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      content.compiled = Compile(content);
      content.SetValue(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT,
                       int64_t{content.compiled.program == nullptr ? 0 : 1});
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR: {
      const Link graph = content.Part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
      if (const cudnnStatus_t wrong = Use(content, graph)) return wrong;
      content.SetLink(CUDNN_ATTR_ENGINEHEUR_RESULTS, ConfigurationFor(graph));
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      if (content.Value<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) != 0) return CUDNN_STATUS_BAD_PARAM;
      return Use(content, content.Part(CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      return Use(content, content.Part(CUDNN_ATTR_ENGINECFG_ENGINE));
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
      if (const cudnnStatus_t wrong = Use(content, content.Part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)))
        return wrong;
      content.SetValue(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, content.compiled.program->workspace);
      return CUDNN_STATUS_SUCCESS;
    }
    default:  // they are what was set
      return CUDNN_STATUS_SUCCESS;
  }
}

// A call of a plan: its program with the addresses of its tensors.
struct Execution {
  std::shared_ptr<const Program> program;
  std::vector<void*> memory;
  std::vector<ValueBytes> by_value;
  char* workspace;
};

// Nothing: an address is missing, or one is given that the plan has no tensor for.
std::shared_ptr<const Execution> Bind(const Content& plan, const Content& pack) {
  auto call = std::make_shared<Execution>();
  call->program = plan.compiled.program;
  call->workspace = static_cast<char*>(pack.Value<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
  const auto& tensors = call->program->tensors;
  if (call->program->workspace != 0 && call->workspace == nullptr) return nullptr;
  const auto uids = pack.List<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.List<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  if (uids.size() != pointers.size()) return nullptr;
  const auto is_named = [&](int64_t uid) {
    return std::ranges::any_of(tensors,
                               [uid](const Tensor& each) { return each.uid == uid && !each.is_virtual; });
  };
  if (!std::ranges::all_of(uids, is_named)) return nullptr;
  call->memory.resize(tensors.size());
  call->by_value.resize(static_cast<size_t>(std::ranges::count(tensors, true, &Tensor::by_value)));
  size_t values = 0;
  for (size_t n = 0; n < tensors.size(); ++n) {
    if (tensors[n].is_virtual) continue;
    const auto found = std::ranges::find(uids, tensors[n].uid);
    void* const pointer = found == uids.end() ? nullptr : pointers[static_cast<size_t>(found - uids.begin())];
    if (pointer == nullptr) return nullptr;
    call->memory[n] = pointer;
    if (!tensors[n].by_value) continue;
    ValueBytes& value = call->by_value[values++];
    std::memcpy(value.bytes, pointer,
                static_cast<size_t>(tensors[n].layout.Count() * ElementBytes(tensors[n].layout.type)));
    call->memory[n] = value.bytes;
  }
  return call;
}

cudnnStatus_t Execute(CUstream stream, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  if (!AllGiven(plan, pack)) return CUDNN_STATUS_BAD_PARAM;
  const Content &what = *plan->content, &with = *pack->content;
  if (what.type() != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      with.type() != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return CUDNN_STATUS_BAD_PARAM;
  if (!what.finalized || !with.finalized) return NotFinalized();
  auto call = Bind(what, with);
  if (call == nullptr) return NullPointer();
  return FromDriver(libraries::Submit(stream, "cudnnBackendExecute", [call = std::move(call)] {
    Run(*call->program, call->memory, call->workspace);
  }));
}

}  // namespace

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM;
  if (NameOf(type) == nullptr) {
    std::fprintf(stderr, "ptx2cpu: cudnnBackendCreateDescriptor: descriptors of type %d are not supported\n",
                 static_cast<int>(type));
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
  *descriptor = new cudnnBackendStruct{std::make_shared<Content>(type)};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return descriptor == nullptr ? NullPointer() : Destroy(descriptor);
}

cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor) {
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM;
  descriptor->content = std::make_shared<Content>(descriptor->content->type());
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* elements) {
  if (descriptor == nullptr) return NullPointer();
  if (descriptor->content->finalized) return AlreadyFinalized();
  return descriptor->content->Set(name, type, count, elements);
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t wanted, int64_t* count,
                                       void* elements) {
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM;
  if (!descriptor->content->finalized) return CUDNN_STATUS_NOT_INITIALIZED;
  return descriptor->content->Get(name, type, wanted, count, elements);
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  if (descriptor == nullptr) return NullPointer();
  Content& content = *descriptor->content;
  if (content.finalized) return CUDNN_STATUS_SUCCESS;
  if (!content.HasAllRequired())
    return content.type() == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ? NotFinalized()
                                                                     : CUDNN_STATUS_BAD_PARAM;
  const cudnnStatus_t wrong = Finalize(content);
  content.finalized = wrong == CUDNN_STATUS_SUCCESS;
  return wrong;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  return handle == nullptr ? CUDNN_STATUS_BAD_PARAM : Execute(handle->stream, plan, pack);
}

cudnnStatus_t cudnnBackendPopulateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                            cudnnBackendDescriptor_t pack, cudaGraph_t graph) {
  if (!AllGiven(handle, graph)) return CUDNN_STATUS_BAD_PARAM;
  cudnnStatus_t wrong = CUDNN_STATUS_SUCCESS;
  const CUresult error =
      libraries::CaptureInto(graph, [&](CUstream stream) { wrong = Execute(stream, plan, pack); });
  return wrong != CUDNN_STATUS_SUCCESS ? wrong : FromDriver(error);
}

}  // namespace ptx2cpu::cudnn
