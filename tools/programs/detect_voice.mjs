// Finds speech by whisper.cpp's detector as published (npm: @fugood/node-whisper-linux-x64-cuda); prints one line of JSON.
// node detect_voice.mjs FOLDER '{"gpu": false, "model": FILE, "audio": FILE}'; FOLDER holds node_modules.
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {join} from "node:path";

const [folder, text] = process.argv.slice(2);
const settings = JSON.parse(text);
const {WhisperVadContext} = createRequire(join(folder, "x.js"))("@fugood/node-whisper-linux-x64-cuda");
if (process.env.WHISPER_LOG) WhisperVadContext.toggleNativeLog(true, (level, line) => process.stderr.write(line));

// 16-bit samples after the "data" chunk's head.
const file = readFileSync(settings.audio);
const begin = file.indexOf("data") + 8;
const samples = file.subarray(begin, begin + file.readUInt32LE(begin - 4));
const audio = samples.buffer.slice(samples.byteOffset, samples.byteOffset + samples.byteLength);

const context = new WhisperVadContext({filePath: settings.model, useGpu: settings.gpu, nThreads: settings.threads ?? 1});
const rounds = [];
let segments;
for (let round = 0; round < 2; round++) {
  const before = process.cpuUsage();
  segments = await context.detectSpeechData(audio, {threshold: settings.threshold ?? 0.5});
  const used = process.cpuUsage(before);
  rounds.push((used.user + used.system) / 1e6);
}
process.stdout.write(`${JSON.stringify({segments, rounds})}\n`, () => process.exit(0));
