// Generates text by llama.cpp as published (npm: node-llama-cpp) and prints one line of JSON: tokens, logits and times.
// node generate.mjs FOLDER '{"gpu": false, "model": FILE, ...}'; FOLDER holds node_modules.
import {createRequire} from "node:module";
import {join} from "node:path";
import {pathToFileURL} from "node:url";

const [folder, text] = process.argv.slice(2);
const settings = {gpu: false, threads: 1, prompt: 24, tokens: 12, batch: 512, flash: true, logits: true, every: 4, rounds: 1, ...JSON.parse(text)};
const entry = createRequire(join(folder, "x.js")).resolve("node-llama-cpp");
const {getLlama, LlamaLogLevel} = await import(pathToFileURL(entry));

const Seconds = () => Number(process.hrtime.bigint()) / 1e9;
// Processor time of all threads: other programs on the machine do not change it much.
const Processor = () => {
  const used = process.cpuUsage();
  return (used.user + used.system) / 1e6;
};
const Now = () => ({wall: Seconds(), processor: Processor()});
const Since = (then) => ({wall: Seconds() - then.wall, processor: Processor() - then.processor});
const begin = Now();
const llama = await getLlama({gpu: settings.gpu ? "cuda" : false, build: "never", progressLogs: false,
                              logLevel: process.env.LLAMA_LOG ? LlamaLogLevel.debug : LlamaLogLevel.error,
                              maxThreads: settings.threads, skipDownload: true});
const model = await llama.loadModel({modelPath: settings.model, gpuLayers: settings.gpu ? 99 : 0, useMmap: true});
const context = await model.createContext({contextSize: settings.context ?? 512, batchSize: settings.batch, threads: settings.threads,
                                           flashAttention: settings.flash});
const load = Since(begin);

// Prompt and continuation are fixed tokens, so that the logits of two runs stand side by side position by position.
const Token = (i) => 259 + ((i * 7919) % (settings.vocabulary ?? 250));
const rounds = [];
for (let round = 0; round < settings.rounds; round++) {
  const sequence = context.getSequence();
  const prompt = Array.from({length: settings.prompt}, (_, i) => Token(i + round));
  const start = Now();
  await sequence.evaluateWithoutGeneratingNewTokens(prompt);
  const forPrompt = Since(start);
  const middle = Now();
  const generated = [];
  for await (const token of sequence.evaluate([Token(settings.prompt)], {temperature: 0, yieldEogToken: true})) {
    generated.push(token);
    if (generated.length >= settings.tokens) break;
  }
  const forTokens = Since(middle);
  sequence.dispose();
  rounds.push({prompt: forPrompt, tokens: forTokens, generated});
}

const logits = [];
if (settings.logits) {
  const sequence = context.getSequence();
  const input = Array.from({length: settings.prompt}, (_, i) => [Token(i), i % settings.every === settings.every - 1 || i + 1 === settings.prompt ? {generateNext: {logits: true}} : {}]);
  const outputs = await sequence.controlledEvaluate(input);
  for (const output of outputs) {
    const map = output?.next?.logits;
    if (map == null) continue;
    const row = new Array(map.size);
    for (const [token, logit] of map) row[token] = logit;
    logits.push(row);
  }
  sequence.dispose();
}
process.stdout.write(`${JSON.stringify({gpu: llama.gpu, load, rounds, logits})}\n`, () => process.exit(0));
