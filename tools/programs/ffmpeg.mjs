// ffmpeg's CUDA filters beside its filters for the CPU: the same frames, compared by PSNR.
import {mkdirSync, readFileSync} from "node:fs";
import {join} from "node:path";

import {LastLines, Run, RunOnPtx2cpu} from "./process.mjs";

const kFrames = 24;
const picture = ["-f", "lavfi", "-i", "testsrc2=size=640x360:rate=24,format=yuv420p"];
const logo = ["-f", "lavfi", "-i", "mandelbrot=size=160x90:rate=24,format=yuv420p"];

const bars = ["-f", "lavfi", "-i", "smptebars=size=640x360:rate=24,format=yuv420p"];

// Least PSNR in dB, infinite for equal frames: swscale rounds its weights, and chromakey averages nine pixels at
// full resolution, chromakey_cuda at the resolution of the colours, so that edges differ.
const filters = [
  {name: "hwupload_cuda", inputs: [picture], gpu: "[0:v]hwupload_cuda,hwdownload,format=yuv420p", cpu: "[0:v]null", least: Infinity},
  {name: "scale_cuda", inputs: [picture], gpu: "[0:v]hwupload_cuda,scale_cuda=320:180:interp_algo=bicubic,hwdownload,format=yuv420p",
   cpu: "[0:v]scale=320:180:flags=bicubic:param0=0:param1=0.75", least: 35},
  {name: "yadif_cuda", inputs: [picture], gpu: "[0:v]hwupload_cuda,yadif_cuda,hwdownload,format=yuv420p", cpu: "[0:v]yadif", least: 45},
  {name: "overlay_cuda", inputs: [picture, logo],
   gpu: "[0:v]hwupload_cuda[a];[1:v]hwupload_cuda[b];[a][b]overlay_cuda=x=40:y=20,hwdownload,format=yuv420p",
   cpu: "[0:v][1:v]overlay=x=40:y=20", least: 45},
  {name: "chromakey_cuda", inputs: [bars],
   gpu: "[0:v]hwupload_cuda,chromakey_cuda=color=green:similarity=0.1,hwdownload,format=yuva420p,extractplanes=a,format=gray",
   cpu: "[0:v]format=yuva420p,chromakey=color=green:similarity=0.1,extractplanes=a,format=gray", least: 24},
  {name: "thumbnail_cuda", inputs: [picture],
   gpu: "[0:v]hwupload_cuda,thumbnail_cuda=8,hwdownload,format=yuv420p",
   cpu: "[0:v]thumbnail=8", least: 45},
];

function Psnr(a, b) {
  if (a.length === 0 || a.length !== b.length) return -Infinity;
  let squares = 0;
  for (let i = 0; i < a.length; i++) squares += (a[i] - b[i]) ** 2;
  return 10 * Math.log10((255 * 255 * a.length) / squares);
}

export function CheckFfmpeg(context) {
  const folder = join(context.folder, "ffmpeg");
  mkdirSync(folder, {recursive: true});
  return filters.map(({name, inputs, gpu, cpu, least}) => {
    const Words = (graph, device, out) =>
        ["ffmpeg", "-y", "-loglevel", "error", "-threads", "1", ...device, ...inputs.flat(), "-filter_complex", graph, "-frames:v",
         String(kFrames), "-f", "rawvideo", out];
    const files = [join(folder, `${name}.gpu`), join(folder, `${name}.cpu`)];
    const device = ["-init_hw_device", "cuda=gpu", "-filter_hw_device", "gpu"];
    RunOnPtx2cpu(context, [], Words(gpu, device, files[0]), {});  // the first run compiles
    const ours = RunOnPtx2cpu(context, [], Words(gpu, device, files[0]), {});
    const theirs = Run(Words(cpu, [], files[1]));
    // thumbnail_cuda of ffmpeg 5.1 reads its device's context after ffmpeg has freed it, when all frames are written.
    const ends = ours.status === 0 || (name === "thumbnail_cuda" && /Segmentation fault/.test(ours.stderr));
    const ran = ends && theirs.status === 0;
    if (!ran) return {what: name, ran, right: false, measure: LastLines(ours.status === 0 ? theirs.stderr : ours.stderr)};
    const psnr = Psnr(readFileSync(files[0]), readFileSync(files[1]));
    return {what: name, ran, right: psnr >= least,
            measure: (psnr === Infinity ? "frames equal the CPU's" : `PSNR ${psnr.toFixed(1)} dB beside the CPU's frames, at least ${least}`) +
                     (ours.status === 0 ? "" : "; ffmpeg then ends by a fault of its own"),
            ours: ours.processor, theirs: theirs.processor};
  });
}
