// Language models with random weights: GGUF files (version 3) that llama.cpp loads as models of the "llama" kind.
// The same shape, type and seed give the same file. https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
import {closeSync, openSync, writeSync} from "node:fs";
import {pathToFileURL} from "node:url";

// Widths are multiples of 256, the longest block of the quantised types.
export const shapes = {
  two_layers: {layers: 2, width: 256, heads: 4, keyHeads: 2, inner: 512, tokens: 512},
  m100: {layers: 12, width: 768, heads: 12, keyHeads: 4, inner: 2048, tokens: 32000},  // 100 million weights
};

const kAlignment = 32;
const kContext = 2048;
const kindOfValue = {u32: 4, i32: 5, f32: 6, string: 8, array: 9};
const kindOfTensor = {f32: 0, f16: 1, q4_0: 2, q8_0: 8, q4_k: 12};

// SplitMix32's finisher on a counter: all words of a tensor from its seed.
function Random(seed, bytes) {
  const words = new Uint32Array(Math.ceil(bytes / 4));
  let counter = Math.imul(seed + 1, 0x9e3779b9);
  for (let i = 0; i < words.length; i++) {
    counter = (counter + 0x9e3779b9) | 0;
    let word = counter ^ (counter >>> 16);
    word = Math.imul(word, 0x21f0aaad);
    word ^= word >>> 15;
    word = Math.imul(word, 0x735a2d97);
    words[i] = word ^ (word >>> 15);
  }
  return new Uint8Array(words.buffer, 0, bytes);
}

// Quantile of the logistic distribution with the variance 1: near enough to the normal one, and closed.
const Quantile = (p) => Math.log(p / (1 - p)) * (Math.sqrt(3) / Math.PI);

// The bits of the half nearest to a finite value in the range of normal halves.
function HalfBits(value) {
  const sign = value < 0 ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (magnitude < 2 ** -14) return sign;
  const exponent = Math.floor(Math.log2(magnitude));
  return sign + ((exponent + 15) << 10) + Math.round((magnitude / 2 ** exponent - 1) * 1024);
}

const TableOfBytes = (entry) => Uint8Array.from({length: 256}, (_, byte) => entry(byte));

function Half(bytes, at) {
  const bits = bytes[at] | (bytes[at + 1] << 8);
  const exponent = (bits >> 10) & 31;
  const magnitude = exponent === 0 ? (bits & 1023) * 2 ** -24 : (1024 + (bits & 1023)) * 2 ** (exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

function WriteHalf(bytes, at, value) {
  const bits = HalfBits(value);
  bytes[at] = bits & 255;
  bytes[at + 1] = bits >> 8;
}

// The scales of blocks differ: a random byte moves a block's scale by up to an eighth.
const Scale = (scale, random) => scale * (0.875 + random / 1024);

// Each row: elements and bytes of a block; Fill makes weights of this deviation, Weight is the value of one.
const formats = {
  f32: {
    elements: 1,
    bytes: 4,
    Fill(bytes) {
      new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4).fill(1);  // only scales of norms have this type
    },
    Weight: (bytes, i) => new DataView(bytes.buffer, bytes.byteOffset).getFloat32(4 * i, true),
  },
  f16: {
    elements: 1,
    bytes: 2,
    Fill(bytes, seed, deviation) {
      bytes.set(Random(seed, bytes.length));
      const upper = TableOfBytes((byte) => HalfBits(Quantile((byte + 0.5) / 256) * deviation) >> 8);
      for (let i = 1; i < bytes.length; i += 2) bytes[i] = upper[bytes[i]];
    },
    Weight: (bytes, i) => Half(bytes, 2 * i),
  },
  q8_0: {
    elements: 32,
    bytes: 34,
    Fill(bytes, seed, deviation) {
      bytes.set(Random(seed, bytes.length));
      const level = TableOfBytes((byte) => Math.round(Quantile((byte + 0.5) / 256) * 36));
      for (let block = 0; block < bytes.length; block += 34) {
        WriteHalf(bytes, block, Scale(deviation / 36, bytes[block]));
        for (let i = block + 2; i < block + 34; i++) bytes[i] = level[bytes[i]];
      }
    },
    Weight(bytes, i) {
      const block = (i >> 5) * 34;
      return Half(bytes, block) * ((bytes[block + 2 + (i & 31)] << 24) >> 24);
    },
  },
  q4_0: {
    elements: 32,
    bytes: 18,
    Fill(bytes, seed, deviation) {
      bytes.set(Random(seed, bytes.length));
      const nibble = (n) => 8 + Math.max(-7, Math.min(7, Math.round(Quantile((n + 0.5) / 16) * 3.5)));
      const levels = TableOfBytes((byte) => nibble(byte & 15) | (nibble(byte >> 4) << 4));
      for (let block = 0; block < bytes.length; block += 18) {
        WriteHalf(bytes, block, Scale(deviation / 3.5, bytes[block]));
        for (let i = block + 2; i < block + 18; i++) bytes[i] = levels[bytes[i]];
      }
    },
    Weight(bytes, i) {
      const block = (i >> 5) * 18;
      const pair = bytes[block + 2 + (i & 15)];
      return Half(bytes, block) * ((i & 16 ? pair >> 4 : pair & 15) - 8);
    },
  },
  // 8 sub-blocks of 32 levels 0 to 15, each with 6 bits of scale and of offset: weight = d * scale * level - m * offset.
  q4_k: {
    elements: 256,
    bytes: 144,
    Fill(bytes, seed, deviation) {
      bytes.set(Random(seed, bytes.length));
      const unit = deviation / 4.6 / 48;  // levels are uniform: their deviation is 4.6; scales lie between 32 and 63
      for (let block = 0; block < bytes.length; block += 144) {
        const scaled = Scale(unit, bytes[block]);
        WriteHalf(bytes, block, scaled);
        WriteHalf(bytes, block + 2, scaled * 7.5);  // the mean of a weight is 0
        const scale = Array.from({length: 8}, (_, i) => 32 + (bytes[block + 4 + i] & 31));
        for (let i = 0; i < 4; i++) {
          bytes[block + 4 + i] = scale[i] | ((scale[i + 4] >> 4) << 6);
          bytes[block + 8 + i] = scale[i] | ((scale[i + 4] >> 4) << 6);
          bytes[block + 12 + i] = (scale[i + 4] & 15) | ((scale[i + 4] & 15) << 4);
        }
      }
    },
    Weight(bytes, i) {
      const block = (i >> 8) * 144;
      const sub = (i >> 5) & 7;
      const pair = bytes[block + 16 + 32 * (sub >> 1) + (i & 31)];
      const Packed = (at) => bytes[block + 4 + at];
      const scale = sub < 4 ? Packed(sub) & 63 : (Packed(sub + 4) & 15) | ((Packed(sub - 4) >> 6) << 4);
      const offset = sub < 4 ? Packed(sub + 4) & 63 : (Packed(sub + 4) >> 4) | ((Packed(sub) >> 6) << 4);
      return Half(bytes, block) * scale * (sub & 1 ? pair >> 4 : pair & 15) - Half(bytes, block + 2) * offset;
    },
  },
};

// Appends little-endian values; grows by doubling.
class Writer {
  bytes = Buffer.alloc(1 << 16);
  length = 0;

  Append(bytes) {
    while (this.length + bytes.length > this.bytes.length) this.bytes = Buffer.concat([this.bytes, Buffer.alloc(this.bytes.length)]);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }
  U32(value) {
    this.Append(new Uint8Array(Uint32Array.of(value).buffer));
  }
  U64(value) {
    this.Append(new Uint8Array(BigUint64Array.of(BigInt(value)).buffer));
  }
  String(text) {
    const bytes = Buffer.from(text);
    this.U64(bytes.length);
    this.Append(bytes);
  }
  Scalar(kind, value) {
    if (kind === "string") this.String(value);
    if (kind === "u32") this.U32(value);
    if (kind === "i32") this.Append(new Uint8Array(Int32Array.of(value).buffer));
    if (kind === "f32") this.Append(new Uint8Array(Float32Array.of(value).buffer));
  }
  Key(name, kind, value) {
    this.String(name);
    if (!Array.isArray(value)) {
      this.U32(kindOfValue[kind]);
      this.Scalar(kind, value);
      return;
    }
    this.U32(kindOfValue.array);
    this.U32(kindOfValue[kind]);
    this.U64(value.length);
    for (const each of value) this.Scalar(kind, each);
  }
  Pad() {
    this.Append(new Uint8Array((kAlignment - (this.length % kAlignment)) % kAlignment));
  }
}

// A vocabulary of SentencePiece's kind: three control tokens, all bytes, then words of letters.
function Vocabulary(count) {
  const tokens = ["<unk>", "<s>", "</s>"];
  const kinds = [2, 3, 3];  // unknown, control, control
  for (let byte = 0; byte < 256; byte++) {
    tokens.push(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
    kinds.push(6);  // byte
  }
  for (let word = 0; tokens.length < count; word++) {
    let text = "";
    for (let rest = word; ; rest = Math.floor(rest / 26) - 1) {
      text = String.fromCharCode(97 + (rest % 26)) + text;
      if (rest < 26) break;
    }
    tokens.push("\u2581" + text);
    kinds.push(1);  // normal
  }
  return {tokens, kinds, scores: tokens.map((_, i) => (i < 259 ? 0 : 259 - i))};
}

// Name, type and extents (the contiguous one first) of every tensor.
function Tensors(shape, type) {
  const keyWidth = (shape.width / shape.heads) * shape.keyHeads;
  const tensors = [["token_embd", type, [shape.width, shape.tokens]]];
  for (let layer = 0; layer < shape.layers; layer++) {
    const Add = (name, kind, extents) => tensors.push([`blk.${layer}.${name}`, kind, extents]);
    Add("attn_norm", "f32", [shape.width]);
    Add("attn_q", type, [shape.width, shape.width]);
    Add("attn_k", type, [shape.width, keyWidth]);
    Add("attn_v", type, [shape.width, keyWidth]);
    Add("attn_output", type, [shape.width, shape.width]);
    Add("ffn_norm", "f32", [shape.width]);
    Add("ffn_gate", type, [shape.width, shape.inner]);
    Add("ffn_up", type, [shape.width, shape.inner]);
    Add("ffn_down", type, [shape.inner, shape.width]);
  }
  tensors.push(["output_norm", "f32", [shape.width]]);
  return tensors.map(([name, kind, extents]) => {
    const count = extents.reduce((a, b) => a * b);
    const format = formats[kind];
    return {name: `${name}.weight`, kind, extents, bytes: (count / format.elements) * format.bytes};
  });
}

function Header(shape, tensors) {
  const keys = [
    ["general.architecture", "string", "llama"],
    ["general.name", "string", "random weights"],
    ["llama.context_length", "u32", kContext],
    ["llama.embedding_length", "u32", shape.width],
    ["llama.block_count", "u32", shape.layers],
    ["llama.feed_forward_length", "u32", shape.inner],
    ["llama.attention.head_count", "u32", shape.heads],
    ["llama.attention.head_count_kv", "u32", shape.keyHeads],
    ["llama.attention.layer_norm_rms_epsilon", "f32", 1e-5],
    ["llama.rope.dimension_count", "u32", shape.width / shape.heads],
    ["llama.vocab_size", "u32", shape.tokens],
    ["tokenizer.ggml.model", "string", "llama"],
  ];
  const {tokens, kinds, scores} = Vocabulary(shape.tokens);
  keys.push(["tokenizer.ggml.tokens", "string", tokens]);
  keys.push(["tokenizer.ggml.scores", "f32", scores]);
  keys.push(["tokenizer.ggml.token_type", "i32", kinds]);
  keys.push(["tokenizer.ggml.bos_token_id", "u32", 1]);
  keys.push(["tokenizer.ggml.eos_token_id", "u32", 2]);
  const writer = new Writer();
  writer.Append(Buffer.from("GGUF"));
  writer.U32(3);
  writer.U64(tensors.length);
  writer.U64(keys.length);
  for (const key of keys) writer.Key(...key);
  let offset = 0;
  for (const tensor of tensors) {
    writer.String(tensor.name);
    writer.U32(tensor.extents.length);
    for (const extent of tensor.extents) writer.U64(extent);
    writer.U32(kindOfTensor[tensor.kind]);
    writer.U64(offset);
    offset += Math.ceil(tensor.bytes / kAlignment) * kAlignment;
  }
  writer.Pad();
  return writer.bytes.subarray(0, writer.length);
}

// `type`: f16, q8_0, q4_0 or q4_k; exact: the same weights as f32. The deviations keep the sums of all layers near 1.
export function WriteModel(file, shape, type, {exact = false, seed = 1} = {}) {
  const tensors = Tensors(shape, type);
  const out = openSync(file, "w");
  writeSync(out, Header(shape, exact ? Tensors(shape, "f32") : tensors));
  tensors.forEach((tensor, index) => {
    const bytes = new Uint8Array(Math.ceil(tensor.bytes / kAlignment) * kAlignment);
    const format = formats[tensor.kind];
    format.Fill(bytes.subarray(0, tensor.bytes), seed * 1000 + index, 1 / Math.sqrt(tensor.extents[0]));
    if (!exact) {
      writeSync(out, bytes);
      return;
    }
    const count = tensor.extents.reduce((a, b) => a * b);
    const weights = Float32Array.from({length: count + (-count & 7)}, (_, i) => (i < count ? format.Weight(bytes, i) : 0));
    writeSync(out, new Uint8Array(weights.buffer));
  });
  closeSync(out);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [file, shape, type, exact] = process.argv.slice(2);
  if (!(shape in shapes) || !(type in formats)) {
    console.error(`usage: node model.mjs FILE ${Object.keys(shapes).join("|")} ${Object.keys(formats).slice(1).join("|")} [exact]`);
    process.exit(2);
  }
  WriteModel(file, shapes[shape], type, {exact: exact === "exact"});
}
