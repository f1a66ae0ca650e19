// NVIDIA's public CUDA samples that use its libraries or tensor cores, built by nvcc from a checkout and run as they are.
import {existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from "node:fs";
import {join} from "node:path";

import {LastLines, Run, RunOnPtx2cpu} from "./process.mjs";

const cublas = ["cublas"], cufft = ["cufft"], curand = ["curand"], solvers = ["cusolver", "cusparse", "cublas"];

// says: what a sample prints where its result is right; without it, it ends with 0. small: definitions of the source that
// are made smaller, with the sample's own comparison with the CPU.
const gemm = {small: /(#define [MNK]_TILES +)\d+/g, flags: ["-DCPU_DEBUG=1"], never: /mismatch/};
const samples = {
  batchCUBLAS: {at: 4, libraries: cublas, says: /Test Summary\s+0 error\(s\)/},
  conjugateGradient: {at: 4, libraries: ["cublas", "cusparse"], says: /Test Summary: +Error amount = 0\.0000/},
  conjugateGradientPrecond: {at: 4, libraries: ["cublas", "cusparse"], says: /Test Summary:\s+Counted total of 0 errors/},
  conjugateGradientUM: {at: 4, libraries: ["cublas", "cusparse"], says: /SUCCESS/},
  conjugateGradientMultiBlockCG: {at: 4, libraries: [], says: /MultiBlockCG PASSED/},
  conjugateGradientCudaGraphs: {at: 4, libraries: ["cublas", "cusparse"], says: /Error amount = 0\.0000/},
  conjugateGradientMultiDeviceCG: {at: 4, libraries: [], devices: 2, says: /MultiDeviceCG PASSED/},
  convolutionFFT2D: {at: 5, libraries: cufft, says: /Test Summary: 0 errors/},
  matrixMulCUBLAS: {at: 4, libraries: cublas, says: /Comparing CUBLAS Matrix Multiply with CPU results: PASS/},
  MersenneTwisterGP11213: {at: 4, libraries: curand, says: /L1 norm: 0\.00/},
  simpleCUBLAS: {at: 4, libraries: cublas, says: /test passed/},
  simpleCUBLASXT: {at: 4, libraries: cublas, says: /passed/i},
  simpleCUBLAS_LU: {at: 4, libraries: cublas, says: /TEST SUCCESSFUL/},
  simpleCUFFT: {at: 4, libraries: cufft},
  simpleCUFFT_MGPU: {at: 4, libraries: cufft, devices: 2},
  simpleCUFFT_2d_MGPU: {at: 4, libraries: cufft, devices: 2},
  simpleCUFFT_callback: {at: 4, libraries: cufft, flags: ["-rdc=true"]},
  cuSolverDn_LinearSolver: {at: 4, libraries: solvers},
  cuSolverRf: {at: 4, libraries: solvers},
  cuSolverSp_LinearSolver: {at: 4, libraries: solvers},
  UnifiedMemoryStreams: {at: 0, libraries: cublas, flags: ["-Xcompiler", "-fopenmp"], says: /All Done!/},
  simpleIPC: {at: 0, libraries: ["cuda"], says: /Process 0 complete!/},
  streamOrderedAllocationIPC: {at: 2, libraries: ["cuda"]},
  cudaTensorCoreGemm: {at: 3, libraries: [], ...gemm},
  immaTensorCoreGemm: {at: 3, libraries: [], ...gemm},
  bf16TensorCoreGemm: {at: 3, libraries: [], ...gemm},
  tf32TensorCoreGemm: {at: 3, libraries: [], ...gemm},
  dmmaTensorCoreGemm: {at: 3, libraries: [], ...gemm, says: /number_of_matches = (\d+) out of = \1 /},
};

export function CheckSamples(context) {
  if (!context.samples || !existsSync(join(context.samples, "Common")))
    return [{what: "samples", ran: false, right: false, measure: "--cuda-samples names no checkout of NVIDIA/cuda-samples"}];
  const names = context.operations ?? Object.keys(samples);
  return names.map((name) => CheckSample(context, name, samples[name]));
}

function CheckSample(context, name, sample) {
  const group = readdirSync(join(context.samples, "Samples")).find((each) => each.startsWith(`${sample.at}_`));
  const source = join(context.samples, "Samples", group, name);
  const folder = join(context.folder, "samples");
  const program = join(folder, name);
  mkdirSync(folder, {recursive: true});
  if (!existsSync(program)) {
    const failure = Build(context, source, program, sample);
    if (failure) return {what: name, ran: false, right: false, measure: `nvcc: ${failure}`};
  }
  const devices = sample.devices ? ["--devices", String(sample.devices)] : [];
  const run = RunOnPtx2cpu(context, devices, [program], {folder: source, seconds: context.seconds});
  const text = run.stdout + run.stderr;
  const says = sample.says?.exec(text)?.[0].replaceAll(/\s+/g, " ").slice(0, 80);
  const right = run.status === 0 && (sample.says === undefined || says !== undefined) && !sample.never?.test(text);
  const measure = !right ? `status ${run.status}: ${LastLines(text).replaceAll(/\/\S*\//g, "")}`
                  : says ? `prints "${says}"`
                  : sample.never ? "no mismatch with the CPU's result, of 32 x 32 x 32 tiles" : "its status is 0";
  return {what: name, ran: run.status === 0 || right, right, measure, ours: run.processor};
}

function Smaller(unit, copy, sizes) {
  writeFileSync(copy, readFileSync(unit, "utf8").replaceAll(sizes, (_, head) => `${head}32`));
  return copy;
}

// The error's last line; nothing if it was built.
function Build(context, source, program, sample) {
  const units = readdirSync(source).filter((name) => /\.(cu|cpp|c)$/.test(name)).map((name) => join(source, name));
  if (readdirSync(join(context.samples, "Common")).includes("helper_multiprocess.cpp") && /IPC$/.test(program))
    units.push(join(context.samples, "Common/helper_multiprocess.cpp"));
  const from = sample.small ? units.map((unit) => Smaller(unit, `${program}.cu`, sample.small)) : units;
  const words = ["nvcc", "-std=c++17", "-arch=compute_80", "-cudart", "shared", "-Wno-deprecated-gpu-targets", ...(sample.flags ?? []),
                 `-I${context.samples}/Common`, `-I${source}`, ...from, "-o", program,
                 ...sample.libraries.map((name) => `-l${name}`)];
  const build = Run(words, {seconds: 900});
  return build.status === 0 ? undefined : LastLines(build.stderr || build.stdout, 1);
}
