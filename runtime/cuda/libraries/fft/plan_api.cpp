// Plans: their shapes, streams, work areas.
#include <algorithm>
#include <span>

#include "cufft_api.h"
#include "runtime/cuda/libraries/core/stream_call.h"
#include "runtime/cuda/libraries/fft/plan.h"

namespace ptx2cpu::cufft {

namespace {

template <typename Int>
Layout LayoutOf(int rank, const Int* embed, int64_t stride, int64_t distance) {
  Layout layout;
  if (embed == nullptr) return layout;
  layout.basic = false;
  layout.embed.assign(embed, embed + rank);
  layout.stride = stride, layout.distance = distance;
  return layout;
}

// As documented, one array of sizes without the other is a basic layout of both.
template <typename Int>
Shape ManyShape(int rank, const Int* n, const Int* inembed, int64_t istride, int64_t idist,
                const Int* onembed, int64_t ostride, int64_t odist, cufftType type, int64_t batch) {
  Shape shape;
  shape.type = type, shape.batch = batch;
  if (rank < 1 || rank > 3 || n == nullptr) return shape;  // without sizes: Plan::Make refuses it
  shape.sizes.assign(n, n + rank);
  if (inembed == nullptr || onembed == nullptr) return shape;
  shape.in = LayoutOf(rank, inembed, istride, idist);
  shape.out = LayoutOf(rank, onembed, ostride, odist);
  return shape;
}
Shape PlainShape(std::vector<int64_t> sizes, cufftType type, int64_t batch) {
  Shape shape;
  shape.sizes = std::move(sizes), shape.type = type, shape.batch = batch;
  return shape;
}

// One size, or one for each of the plan's devices.
std::span<size_t> SizesOf(const Plan& plan, size_t* work_size) {
  return {work_size, std::max<size_t>(1, plan.devices().size())};
}

cufftResult Make(const char* function, cufftHandle handle, Shape shape, size_t* work_size) {
  const std::shared_ptr<Plan> plan = FindPlan(handle);
  if (plan == nullptr) return CUFFT_INVALID_PLAN;
  if (work_size == nullptr) return CUFFT_INVALID_VALUE;
  std::ranges::fill(SizesOf(*plan, work_size), 0);
  return plan->Make(function, std::move(shape));
}

cufftResult CreateAndMake(const char* function, cufftHandle* handle, Shape shape) {
  if (const cufftResult error = cufftCreate(handle)) return error;
  size_t work_size = 0;
  const cufftResult error = Make(function, *handle, std::move(shape), &work_size);
  if (error != CUFFT_SUCCESS) RemovePlan(*handle);
  return error;
}

// No plan needs work space; the shape is checked as if a plan were made.
cufftResult NoWork(const Shape& shape, size_t* work_size) {
  if (const cufftResult wrong = WrongShape(shape)) return wrong;
  if (work_size == nullptr) return CUFFT_INVALID_VALUE;
  *work_size = 0;
  return CUFFT_SUCCESS;
}
cufftResult NoWorkOf(cufftHandle handle, const Shape& shape, size_t* work_size) {
  const std::shared_ptr<Plan> plan = FindPlan(handle);
  if (plan == nullptr) return CUFFT_INVALID_PLAN;
  const cufftResult status = NoWork(shape, work_size);
  if (status == CUFFT_SUCCESS) std::ranges::fill(SizesOf(*plan, work_size), 0);
  return status;
}
// As recorded, only the first of several sizes is checked.
Shape FirstOf(int first_size, cufftType type) { return PlainShape({first_size}, type, 1); }
Shape FirstOf(Shape shape) {
  for (size_t axis = 1; axis < shape.sizes.size(); ++axis)
    shape.sizes[axis] = std::max<int64_t>(shape.sizes[axis], 1);
  return shape;
}

// Types of both sides and of the computation that are one type of a transform.
struct TypesRow {
  cudaDataType in, out, execution;
  cufftType type;
  Storage storage = Storage::kOfType;
};
constexpr TypesRow kTypes[] = {
    {CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUFFT_C2C},
    {CUDA_R_32F, CUDA_C_32F, CUDA_C_32F, CUFFT_R2C},
    {CUDA_C_32F, CUDA_R_32F, CUDA_C_32F, CUFFT_C2R},
    {CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, CUFFT_Z2Z},
    {CUDA_R_64F, CUDA_C_64F, CUDA_C_64F, CUFFT_D2Z},
    {CUDA_C_64F, CUDA_R_64F, CUDA_C_64F, CUFFT_Z2D},
    {CUDA_C_16F, CUDA_C_16F, CUDA_C_16F, CUFFT_C2C, Storage::kHalf},
    {CUDA_R_16F, CUDA_C_16F, CUDA_C_16F, CUFFT_R2C, Storage::kHalf},
    {CUDA_C_16F, CUDA_R_16F, CUDA_C_16F, CUFFT_C2R, Storage::kHalf},
    {CUDA_C_16BF, CUDA_C_16BF, CUDA_C_16BF, CUFFT_C2C, Storage::kBfloat16},
    {CUDA_R_16BF, CUDA_C_16BF, CUDA_C_16BF, CUFFT_R2C, Storage::kBfloat16},
    {CUDA_C_16BF, CUDA_R_16BF, CUDA_C_16BF, CUFFT_C2R, Storage::kBfloat16},
};
// The type of a transform between these; INVALID_TYPE if there is none.
cufftResult SetTypes(Shape& shape, cudaDataType in, cudaDataType out, cudaDataType execution) {
  for (const TypesRow& row : kTypes) {
    if (row.in != in || row.out != out || row.execution != execution) continue;
    shape.type = row.type, shape.storage = row.storage;
    return CUFFT_SUCCESS;
  }
  return CUFFT_INVALID_TYPE;
}

}  // namespace

cufftResult cufftCreate(cufftHandle* handle) {
  if (handle == nullptr) return CUFFT_INVALID_VALUE;
  if (libraries::Begin() != CUDA_SUCCESS) return CUFFT_SETUP_FAILED;
  *handle = AddPlan();
  return CUFFT_SUCCESS;
}
cufftResult cufftDestroy(cufftHandle plan) { return RemovePlan(plan) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN; }

cufftResult cufftPlan1d(cufftHandle* plan, int nx, cufftType type, int batch) {
  return CreateAndMake("cufftPlan1d", plan, PlainShape({nx}, type, batch));
}
cufftResult cufftPlan2d(cufftHandle* plan, int nx, int ny, cufftType type) {
  return CreateAndMake("cufftPlan2d", plan, PlainShape({nx, ny}, type, 1));
}
cufftResult cufftPlan3d(cufftHandle* plan, int nx, int ny, int nz, cufftType type) {
  return CreateAndMake("cufftPlan3d", plan, PlainShape({nx, ny, nz}, type, 1));
}
cufftResult cufftPlanMany(cufftHandle* plan, int rank, int* n, int* inembed, int istride, int idist,
                          int* onembed, int ostride, int odist, cufftType type, int batch) {
  return CreateAndMake("cufftPlanMany", plan,
                       ManyShape(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch));
}

cufftResult cufftMakePlan1d(cufftHandle plan, int nx, cufftType type, int batch, size_t* workSize) {
  return Make("cufftMakePlan1d", plan, PlainShape({nx}, type, batch), workSize);
}
cufftResult cufftMakePlan2d(cufftHandle plan, int nx, int ny, cufftType type, size_t* workSize) {
  return Make("cufftMakePlan2d", plan, PlainShape({nx, ny}, type, 1), workSize);
}
cufftResult cufftMakePlan3d(cufftHandle plan, int nx, int ny, int nz, cufftType type, size_t* workSize) {
  return Make("cufftMakePlan3d", plan, PlainShape({nx, ny, nz}, type, 1), workSize);
}
cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int* n, int* inembed, int istride, int idist,
                              int* onembed, int ostride, int odist, cufftType type, int batch,
                              size_t* workSize) {
  return Make("cufftMakePlanMany", plan,
              ManyShape(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch), workSize);
}
cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long int* n, long long int* inembed,
                                long long int istride, long long int idist, long long int* onembed,
                                long long int ostride, long long int odist, cufftType type,
                                long long int batch, size_t* workSize) {
  return Make("cufftMakePlanMany64", plan,
              ManyShape(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch), workSize);
}
cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long int* n, long long int* inembed,
                                long long int istride, long long int idist, cudaDataType inputtype,
                                long long int* onembed, long long int ostride, long long int odist,
                                cudaDataType outputtype, long long int batch, size_t* workSize,
                                cudaDataType executiontype) {
  Shape shape = ManyShape(rank, n, inembed, istride, idist, onembed, ostride, odist, CUFFT_C2C, batch);
  if (const cufftResult wrong = SetTypes(shape, inputtype, outputtype, executiontype)) return wrong;
  return Make("cufftXtMakePlanMany", plan, std::move(shape), workSize);
}

cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream) {
  const std::shared_ptr<Plan> found = FindPlan(plan);
  if (found == nullptr) return CUFFT_INVALID_PLAN;
  found->stream = stream;
  return CUFFT_SUCCESS;
}

cufftResult cufftEstimate1d(int nx, cufftType type, int batch, size_t* workSize) {
  return NoWork(PlainShape({nx}, type, batch), workSize);
}
cufftResult cufftEstimate2d(int nx, int ny, cufftType type, size_t* workSize) {
  return NoWork(FirstOf(nx, type), workSize);
}
cufftResult cufftEstimate3d(int nx, int ny, int nz, cufftType type, size_t* workSize) {
  return NoWork(FirstOf(nx, type), workSize);
}
cufftResult cufftEstimateMany(int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                              int ostride, int odist, cufftType type, int batch, size_t* workSize) {
  return NoWork(FirstOf(ManyShape(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch)),
                workSize);
}
cufftResult cufftGetSize1d(cufftHandle handle, int nx, cufftType type, int batch, size_t* workSize) {
  return NoWorkOf(handle, PlainShape({nx}, type, batch), workSize);
}
cufftResult cufftGetSize2d(cufftHandle handle, int nx, int ny, cufftType type, size_t* workSize) {
  return NoWorkOf(handle, FirstOf(nx, type), workSize);
}
cufftResult cufftGetSize3d(cufftHandle handle, int nx, int ny, int nz, cufftType type, size_t* workSize) {
  return NoWorkOf(handle, FirstOf(nx, type), workSize);
}
cufftResult cufftGetSizeMany(cufftHandle handle, int rank, int* n, int* inembed, int istride, int idist,
                             int* onembed, int ostride, int odist, cufftType type, int batch,
                             size_t* workSize) {
  return NoWorkOf(handle,
                  FirstOf(ManyShape(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch)),
                  workSize);
}
cufftResult cufftGetSizeMany64(cufftHandle plan, int rank, long long int* n, long long int* inembed,
                               long long int istride, long long int idist, long long int* onembed,
                               long long int ostride, long long int odist, cufftType type,
                               long long int batch, size_t* workSize) {
  return NoWorkOf(plan,
                  FirstOf(ManyShape(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch)),
                  workSize);
}
cufftResult cufftXtGetSizeMany(cufftHandle plan, int rank, long long int* n, long long int* inembed,
                               long long int istride, long long int idist, cudaDataType inputtype,
                               long long int* onembed, long long int ostride, long long int odist,
                               cudaDataType outputtype, long long int batch, size_t* workSize,
                               cudaDataType executiontype) {
  Shape shape = ManyShape(rank, n, inembed, istride, idist, onembed, ostride, odist, CUFFT_C2C, batch);
  if (const cufftResult wrong = SetTypes(shape, inputtype, outputtype, executiontype)) return wrong;
  return NoWorkOf(plan, FirstOf(std::move(shape)), workSize);
}
// Only a plan that was made has a size.
cufftResult cufftGetSize(cufftHandle handle, size_t* workSize) {
  const std::shared_ptr<Plan> plan = FindPlan(handle);
  return plan == nullptr || !plan->made() ? CUFFT_INVALID_PLAN : NoWorkOf(handle, plan->shape(), workSize);
}
cufftResult cufftSetWorkArea(cufftHandle plan, void* workArea) {
  return FindPlan(plan) == nullptr ? CUFFT_INVALID_PLAN : CUFFT_SUCCESS;
}
cufftResult cufftSetAutoAllocation(cufftHandle plan, int autoAllocate) {
  return FindPlan(plan) == nullptr ? CUFFT_INVALID_PLAN : CUFFT_SUCCESS;
}
cufftResult cufftXtSetWorkArea(cufftHandle plan, void** workArea) {
  if (FindPlan(plan) == nullptr) return CUFFT_INVALID_PLAN;
  return workArea == nullptr ? CUFFT_INVALID_VALUE : CUFFT_SUCCESS;
}
// As recorded: of a plan of complex numbers that was made, and the two policies that ask for another plan are
// an invalid one's.
cufftResult cufftXtSetWorkAreaPolicy(cufftHandle handle, cufftXtWorkAreaPolicy policy, size_t* workSize) {
  const std::shared_ptr<Plan> plan = FindPlan(handle);
  const bool other = policy == CUFFT_WORKAREA_USER || policy == CUFFT_WORKAREA_PERFORMANCE;
  if (plan == nullptr || !plan->made() || other || workSize == nullptr) return CUFFT_INVALID_PLAN;
  return KindOf(plan->type()) == libraries::FftKind::kComplex ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

}  // namespace ptx2cpu::cufft
