// The device's side of tacit.collect, for web pages and Node: a description and a value in, the bytes of a report out.
//
//   import { encode } from "./tacit-collect.mjs";
//   const report = encode(description, 3);            // Uint8Array, ready to post
//
// No dependencies. Random bits come from WebCrypto. Every chance is an exact fraction and every coin is compared with
// its binary digits, more being drawn on a tie: given the same random bytes, this and the Python encoder write the same
// report, byte for byte.

export const FORMAT = "tacit-collect/1";
export const VERSION = 1;

// ── random bits ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** The browser's own cryptographic source; it may give 65,536 bytes at a time. */
export const webCrypto = {
  draw(count) {
    const bytes = new Uint8Array(count);
    for (let start = 0; start < count; start += 65536) {
      globalThis.crypto.getRandomValues(bytes.subarray(start, Math.min(count, start + 65536)));
    }
    return bytes;
  },
};

function drawn(source, count) {
  const bytes = source.draw(count);
  if (!(bytes instanceof Uint8Array) || bytes.length !== count) throw new Error("no random bits: the source failed");
  return bytes;
}

/** An exact fraction written as "p/q". */
function fraction(text) {
  const parts = /^(-?\d+)\/(\d+)$/.exec(text);
  if (!parts || BigInt(parts[2]) === 0n) throw new RangeError(`not a fraction: ${text}`);
  return { top: BigInt(parts[1]), bottom: BigInt(parts[2]) };
}

/** Whether a uniform number that starts with these binary digits is below a chance; draws more until it is settled. */
function settled(digits, bits, { top, bottom }, source) {
  for (;;) {
    const scaled = top << bits;
    if (digits < scaled / bottom) return true;
    if (digits >= (scaled + bottom - 1n) / bottom) return false;
    let more = 0n;
    for (const byte of drawn(source, 8)) more = (more << 8n) | BigInt(byte);
    digits = (digits << 64n) | more;
    bits += 64n;
  }
}

/** `size` independent coins, each 1 with exactly this chance. */
function coins(chance, size, source) {
  const first = Number((chance.top << 16n) / chance.bottom);
  const head = Math.min(first, 65535);
  const bytes = drawn(source, 2 * size);
  const flips = new Uint8Array(size);
  const ties = [];
  for (let place = 0; place < size; place++) {
    const word = bytes[2 * place] | (bytes[2 * place + 1] << 8);
    flips[place] = word < head ? 1 : 0;
    if (word === head) ties.push(place);
  }
  for (const place of ties) flips[place] = settled(BigInt(head), 16n, chance, source) ? 1 : 0;
  return flips;
}

const coin = (chance, source) => coins(chance, 1, source)[0] === 1;

/** `size` whole numbers in [0, below), each as likely as the next, as BigInts. */
function uniforms(below, size, source) {
  const range = BigInt(below);
  if (range < 1n) throw new RangeError("the range is empty");
  const limit = (1n << 64n) - ((1n << 64n) % range); // words from here on are drawn again
  const words = new Array(size);
  let waiting = Array.from({ length: size }, (_, place) => place);
  while (waiting.length) {
    const view = new DataView(drawn(source, 8 * waiting.length).slice().buffer);
    waiting.forEach((place, order) => (words[place] = view.getBigUint64(8 * order, true)));
    waiting = waiting.filter((place) => words[place] >= limit);
  }
  return words.map((word) => word % range);
}

const uniform = (below, source) => Number(uniforms(below, 1, source)[0]);

// ── bytes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

function width(below) {
  let bytes = 1;
  for (let reach = 256; reach < below; reach *= 256) bytes += 1;
  return bytes;
}

/** A whole number below `below`, lowest byte first, in as many bytes as that takes. */
function numberBytes(value, below) {
  const bytes = new Uint8Array(width(below));
  for (let at = 0, rest = value; at < bytes.length; at++, rest = Math.floor(rest / 256)) bytes[at] = rest % 256;
  return bytes;
}

function bitBytes(bits) {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8));
  bits.forEach((bit, place) => (bytes[place >> 3] |= bit << (place & 7)));
  return bytes;
}

function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) whole.set(part, at), (at += part.length);
  return whole;
}

export const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

// ── SHA-256, for texts and fingerprints: WebCrypto's own cannot be had without waiting ──────────────────────────────

const [SHA_START, SHA_ROUNDS] = (() => {
  const start = [], rounds = [];
  const bits = (root) => Math.floor((root - Math.floor(root)) * 2 ** 32) | 0;
  for (let n = 2; rounds.length < 64; n++) {
    if (rounds.length && Array.from({ length: n - 2 }, (_, i) => i + 2).some((d) => n % d === 0)) continue;
    if (start.length < 8) start.push(bits(Math.sqrt(n)));
    rounds.push(bits(Math.cbrt(n)));
  }
  return [start, rounds];
})();

export function sha256(bytes) {
  const length = bytes.length;
  const padded = new Uint8Array(((length + 9 + 63) >> 6) << 6);
  padded.set(bytes);
  padded[length] = 128;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(length / 2 ** 29));
  view.setUint32(padded.length - 4, (length << 3) >>> 0);
  const state = SHA_START.slice();
  const words = new Int32Array(64);
  const turn = (x, by) => (x >>> by) | (x << (32 - by));
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i++) words[i] = view.getInt32(block + 4 * i);
    for (let i = 16; i < 64; i++) {
      const a = words[i - 15], b = words[i - 2];
      const first = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3), second = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10);
      words[i] = (words[i - 16] + first + words[i - 7] + second) | 0;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + SHA_ROUNDS[i] + words[i]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = (state[i] + word) | 0));
  }
  const digest = new Uint8Array(32);
  const out = new DataView(digest.buffer);
  state.forEach((word, i) => out.setInt32(4 * i, word));
  return digest;
}

/** Where function number `number` puts a text among `size` places, a power of two. */
function place(text, number, size) {
  const head = new Uint8Array(4);
  new DataView(head.buffer).setUint32(0, number, true);
  const digest = sha256(joined(head, new TextEncoder().encode(text)));
  return new DataView(digest.buffer).getUint32(0, true) % size;
}

// ── protocols ───────────────────────────────────────────────────────────────────────────────────────────────────────

function whole(value, below) {
  if (!Number.isInteger(value) || value < 0 || value >= below) {
    throw new RangeError(`the answer is not one of the ${below} that can be given: they count from 0`);
  }
  return value;
}

function text(value) {
  if (typeof value !== "string") throw new TypeError("the answer is not a text");
  return value;
}


/** The parity of the bits that two numbers share, also beyond 32 bits. */
function sharedParity(one, two) {
  let odd = 0;
  for (; one > 0 && two > 0; one = Math.floor(one / 2), two = Math.floor(two / 2)) odd ^= one % 2 & two % 2;
  return odd;
}

const powerFor = (values) => 2 ** Math.max(1, Math.ceil(Math.log2(values)));

function response(value, categories, lie, source) {
  const lies = coin(lie, source);
  const moves = 1 + uniform(categories - 1, source);
  return (value + (lies ? moves : 0)) % categories;
}

function direct({ domain, lie }, value, source) {
  return numberBytes(response(whole(value, domain), domain, fraction(lie), source), domain);
}

function unary({ domain, keep, stray }, value, source) {
  const own = whole(value, domain);
  const kept = coin(fraction(keep), source);
  const bits = coins(fraction(stray), domain, source);
  bits[own] = kept ? 1 : 0;
  return bitBytes(bits);
}

function hadamard({ domain, flip }, value, source) {
  const own = whole(value, domain);
  const rows = powerFor(domain);
  const row = uniform(rows, source);
  const bit = sharedParity(row, own) ^ (coin(fraction(flip), source) ? 1 : 0);
  return numberBytes(2 * row + bit, 2 * rows);
}

const IRREDUCIBLE = { 2: 0b111, 3: 0b1011, 4: 0b10011, 5: 0b100101, 6: 0b1000011, 7: 0b10000011, 8: 0b100011011 };

function product(a, b, size) {
  if (size & (size - 1)) return (a * b) % size;
  const degree = Math.log2(size);
  let result = 0;
  for (let bit = 0; bit < degree; bit++) if ((b >> bit) & 1) result ^= a << bit;
  for (let bit = 2 * degree - 2; bit >= degree; bit--) {
    if ((result >> bit) & 1) result ^= IRREDUCIBLE[degree] << (bit - degree);
  }
  return result;
}

function localHash({ domain, buckets, lie }, value, source) {
  const own = whole(value, domain);
  let functions = buckets;
  while (functions < domain) functions *= buckets;
  const chosen = uniform(functions, source);
  let bucket = 0;
  for (let a = chosen, x = own; a > 0 && x > 0; a = Math.floor(a / buckets), x = Math.floor(x / buckets)) {
    const term = product(a % buckets, x % buckets, buckets);
    bucket = buckets & (buckets - 1) ? (bucket + term) % buckets : bucket ^ term;
  }
  return numberBytes(buckets * chosen + response(bucket, buckets, fraction(lie), source), functions * buckets);
}

function subset({ domain, size, lie }, value, source) {
  const own = whole(value, domain);
  const held = !coin(fraction(lie), source);
  const most = 1n << 62n;
  for (;;) {
    const keys = uniforms(most, domain, source);
    keys[own] = held ? -1n : most;
    const order = [...keys].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    if (order[size - 1] === order[size]) continue; // a tie that would matter
    return bitBytes(keys.map((key) => (key <= order[size - 1] ? 1 : 0)));
  }
}

function projective({ domain, prime, lie }, value, source) {
  const own = whole(value, domain);
  const points = (dimensions) => (prime ** dimensions - 1) / (prime - 1);
  let dimensions = 2;
  while (points(dimensions) < domain) dimensions += 1;
  let tail = 0;
  while (points(tail + 1) <= own) tail += 1;
  const lead = dimensions - 1 - tail;
  const normal = new Array(dimensions).fill(0);
  normal[lead] = 1;
  for (let i = 0, rest = own - points(tail); i < tail; i++, rest = Math.floor(rest / prime)) {
    normal[dimensions - 1 - i] = rest % prime;
  }
  const lies = coin(fraction(lie), source);
  const on = 1 + uniform(prime ** (dimensions - 1) - 1, source);
  const off = uniform(prime ** (dimensions - 1), source);
  const vector = new Array(dimensions).fill(0);
  for (let i = 0, rest = lies ? off : on; i < dimensions - 1; i++, rest = Math.floor(rest / prime)) {
    vector[i + (i >= lead ? 1 : 0)] = rest % prime;
  }
  const dot = normal.reduce((sum, a, i) => sum + a * vector[i], 0);
  vector[lead] = ((((lies ? 1 : 0) - dot) % prime) + prime) % prime;
  const first = vector.findIndex((a) => a !== 0);
  let inverse = 1;
  while ((inverse * vector[first]) % prime !== 1 % prime) inverse += 1;
  let number = points(dimensions - 1 - first);
  vector.forEach((a, i) => (number += i > first ? ((a * inverse) % prime) * prime ** (dimensions - 1 - i) : 0));
  return numberBytes(number, points(dimensions));
}

/** The grid place nearest to a number, halves to the even one; beyond the bounds the nearer end, NaN the lower. */
function gridPlace({ lower, step, steps }, value) {
  const exact = (text) => {
    const { top, bottom } = fraction(text);
    if ([top, -top, bottom].some((part) => part > 2n ** 53n)) throw new RangeError("the scale has too many digits");
    return Number(top) / Number(bottom);
  };
  if (typeof value !== "number") throw new TypeError("the answer is not a number");
  const start = exact(lower);
  const at = Math.min(Math.max(((Number.isNaN(value) ? start : value) - start) / exact(step), 0), steps);
  const down = Math.floor(at);
  if (at - down !== 0.5) return Math.round(at);
  return down % 2 ? down + 1 : down;
}

function windowCell({ scale, size, lie }, at, source) {
  const lies = coin(fraction(lie), source);
  const inside = at + uniform(size, source);
  const outside = uniform(scale.steps, source);
  return lies ? outside + (outside >= at ? size : 0) : inside;
}

function endBit({ scale, flip }, at, source) {
  const upper = uniform(scale.steps, source) < at ? 1 : 0;
  return upper ^ (coin(fraction(flip), source) ? 1 : 0);
}

function windowed(description, value, source) {
  const cell = windowCell(description, gridPlace(description.scale, value), source);
  return numberBytes(cell, description.scale.steps + description.size);
}

function oneBit(description, value, source) {
  return Uint8Array.of(endBit(description, gridPlace(description.scale, value), source));
}

function hybrid(description, value, source) {
  const at = gridPlace(description.scale, value);
  const cells = description.scale.steps + description.size;
  const byWindow = coin(fraction(description.mix), source);
  const cell = windowCell(description, at, source);
  const bit = endBit(description, at, source);
  return numberBytes(byWindow ? cell : cells + bit, cells + 2);
}

function countMeanSketch({ hashes, columns, flip }, value, source) {
  const number = uniform(hashes, source);
  const own = place(text(value), number, columns);
  const bits = coins(fraction(flip), columns, source);
  bits[own] ^= 1;
  return joined(numberBytes(number, hashes), bitBytes(bits));
}

function hadamardSketch({ hashes, columns, flip }, value, source) {
  const number = uniform(hashes, source);
  const own = place(text(value), number, columns);
  const column = uniform(columns, source);
  const bit = sharedParity(column, own) ^ (coin(fraction(flip), source) ? 1 : 0);
  return numberBytes(2 * (number * columns + column) + bit, 2 * hashes * columns);
}

/** What a device keeps for good for a text: draw it once, store it, and never draw it again. */
export function rapporKeep({ filter_bits: size, hashes, forget }, value, cohort, source = webCrypto) {
  const filter = new Uint8Array(size);
  for (let i = 0; i < hashes; i++) filter[place(text(value), cohort * hashes + i, size)] = 1;
  const { top, bottom } = fraction(forget);
  const flips = coins({ top, bottom: 2n * bottom }, size, source);
  return filter.map((bit, i) => bit ^ flips[i]);
}

/** A report from what is kept: a message, drawn anew every time. */
export function rapporReport(description, kept, cohort, source = webCrypto) {
  const [zero, one] = [fraction(description.zero), fraction(description.one)];
  const zeros = coins(zero, kept.length, source);
  const rise = one.top * zero.bottom - zero.top * one.bottom; // over both bottoms
  const even = one.top * zero.bottom + zero.top * one.bottom === one.bottom * zero.bottom;
  const room = { top: rise, bottom: (zero.bottom - zero.top) * one.bottom };
  const raised = even ? null : coins(room, kept.length, source);
  const bits = kept.map((bit, i) => (even ? bit ^ zeros[i] : zeros[i] | (bit & raised[i])));
  const { cohorts } = description;
  return joined(head(description), numberBytes(whole(cohort, cohorts), cohorts), bitBytes(bits));
}

function everyAttribute({ parts }, values, source) {
  return joined(...parts.map((part, i) => body(part, values[i], source)));
}

function oneAttribute({ parts }, values, source) {
  const chosen = uniform(parts.length, source);
  const longest = Math.max(...parts.map(bodyWidth));
  const padded = new Uint8Array(longest);
  padded.set(body(parts[chosen], values[chosen], source));
  return joined(numberBytes(chosen, parts.length), padded);
}

/** The width of a part's body, by encoding something with no randomness worth the name. */
function bodyWidth(part) {
  const anything = { "count-mean-sketch": "", "hadamard-sketch": "" }[part.protocol] ?? 0;
  return body(part, anything, { draw: (count) => new Uint8Array(count).map((_, i) => i & 255) }).length;
}

const PROTOCOLS = {
  direct,
  unary,
  hadamard,
  "local-hash": localHash,
  subset,
  projective,
  "one-bit": oneBit,
  piecewise: windowed,
  "square-wave": windowed,
  hybrid,
  "count-mean-sketch": countMeanSketch,
  "hadamard-sketch": hadamardSketch,
  "every-attribute": everyAttribute,
  "one-attribute": oneAttribute,
};

function body(description, value, source) {
  const protocol = Object.hasOwn(PROTOCOLS, description.protocol) ? PROTOCOLS[description.protocol] : undefined;
  if (!protocol) throw new RangeError(`this protocol is not for web pages: ${description.protocol}`);
  return protocol(description, value, source);
}

// ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** JSON with its keys in order and nothing between: what the fingerprint is taken of. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value && typeof value === "object") {
    const keys = Object.keys(value).sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

function head(description) {
  const { id, ...plain } = description;
  if (plain.format !== FORMAT) throw new RangeError(`the description is of another format: ${FORMAT} is expected`);
  const print = toHex(sha256(new TextEncoder().encode(canonical(plain))).subarray(0, 4));
  if (id !== undefined && id !== print) throw new RangeError("the description was changed: its fingerprint is another");
  return joined(Uint8Array.of(VERSION), fromHex(print));
}

/** The report of a value, as it is sent: version, fingerprint, body. Nothing else about the value leaves here. */
export function encode(description, value, source = webCrypto) {
  return joined(head(description), body(description, value, source));
}

function told(key, store, draw) {
  const kept = store.getItem(key);
  if (kept) return fromHex(kept);
  const report = draw();
  store.setItem(key, toHex(report));
  return report;
}

const name = (description) => `tacit:${toHex(head(description).subarray(1))}`;

/** As `encode`, but drawn only once and told again ever after, whatever the value: the store never learns it. */
export function once(description, value, store, source = webCrypto) {
  return told(name(description), store, () => encode(description, value, source));
}

/** As `once`, but once for each value, for questions asked day after day. The store shows which values there were. */
export function remembered(description, value, store, source = webCrypto) {
  return told(`${name(description)}:${JSON.stringify(value)}`, store, () => encode(description, value, source));
}
