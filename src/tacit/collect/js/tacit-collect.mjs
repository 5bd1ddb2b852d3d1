// The device's side of tacit.collect, for web pages and Node: a description and a value in, the bytes of a report out.
//
//   import { encode } from "./tacit-collect.mjs";
//   const report = encode(description, 3);                 // Uint8Array, ready to post
//   const report = encode(description, 3, { most: 1 });    // the same, if it costs at most ε = 1
//
// A description is checked before it is used, as Python does: one that would tell the truth, or too much of it, is
// refused. `epsilon(description)` says what a report costs, from the description alone.
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

/** An exact fraction written as "p/q", in lowest terms: there is one way to write it, so there is one fingerprint. */
function fraction(text) {
  const parts = typeof text === "string" && text.length < 5000 ? /^(-?\d+)\/([1-9]\d*)$/.exec(text) : null;
  if (!parts) throw new RangeError("a parameter is not a fraction: a text such as 1/4 is expected");
  const [top, bottom] = [BigInt(parts[1]), BigInt(parts[2])];
  let [a, b] = [top < 0n ? -top : top, bottom];
  while (b) [a, b] = [b, a % b];
  if (a !== 1n) throw new RangeError("a parameter is a fraction that is not in lowest terms");
  return { top, bottom };
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

/** The least power of two that is no smaller, and at least 2. */
function powerFor(values) {
  let power = 2;
  while (power < values) power *= 2;
  return power;
}

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
  const degree = 31 - Math.clz32(size);
  let result = 0;
  for (let bit = 0; bit < degree; bit++) if ((b >> bit) & 1) result ^= a << bit;
  for (let bit = 2 * degree - 2; bit >= degree; bit--) {
    if ((result >> bit) & 1) result ^= IRREDUCIBLE[degree] << (bit - degree);
  }
  return result;
}

/** How many functions there are: one for each number with as many digits as a value has. */
function functionsOf({ domain, buckets }) {
  let functions = buckets;
  while (functions < domain) functions *= buckets;
  return functions;
}

function localHash({ domain, buckets, lie }, value, source) {
  const own = whole(value, domain);
  const functions = functionsOf({ domain, buckets });
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

/** Coordinates of a point, and how many points a space with so many of them has. */
function spaceOf({ domain, prime }) {
  const points = (dimensions) => (prime ** dimensions - 1) / (prime - 1);
  let dimensions = 2;
  while (points(dimensions) < domain) dimensions += 1;
  return { dimensions, points };
}

function projective({ domain, prime, lie }, value, source) {
  const own = whole(value, domain);
  const { dimensions, points } = spaceOf({ domain, prime });
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

function bloom({ filter_bits: size, hashes, forget }, value, cohort, source) {
  const filter = new Uint8Array(size);
  for (let i = 0; i < hashes; i++) filter[place(text(value), cohort * hashes + i, size)] = 1;
  const { top, bottom } = fraction(forget);
  const flips = coins({ top, bottom: 2n * bottom }, size, source);
  return filter.map((bit, i) => bit ^ flips[i]);
}

function record(values, parts) {
  if (!Array.isArray(values) || values.length !== parts.length) {
    throw new RangeError(`the record does not fit: a list of ${parts.length} values is expected`);
  }
  return values;
}

function everyAttribute({ parts }, values, source) {
  record(values, parts);
  return joined(...parts.map((part, i) => body(part, values[i], source)));
}

function oneAttribute({ parts }, values, source) {
  record(values, parts);
  const chosen = uniform(parts.length, source);
  const padded = new Uint8Array(longest(parts));
  padded.set(body(parts[chosen], values[chosen], source));
  return joined(numberBytes(chosen, parts.length), padded);
}

// ── what a description must be, and what it costs ───────────────────────────────────────────────────────────────────
// The rules are Python's (`from_description`), so that a page encodes under no description that Python would refuse.

const refuse = (why) => {
  throw new RangeError(`the description does not fit: ${why}`);
};

const from = (least, most = Number.MAX_SAFE_INTEGER) => (value, name) => {
  if (!Number.isSafeInteger(value) || value < least || value > most) refuse(`${name} must be a whole number in range`);
};

const power = (value, name) => {
  from(2, 2 ** 20)(value, name);
  if (powerFor(value) !== value) refuse(`${name} must be a power of two`);
};

const isPrime = (number) => {
  for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) return false;
  return number > 1;
};

const field = (value, name) => {
  from(2, 256)(value, name);
  if (!isPrime(value) && powerFor(value) !== value) refuse(`${name} must be a prime or a power of two`);
};

const prime = (value, name) => {
  from(2, 256)(value, name);
  if (!isPrime(value)) refuse(`${name} must be a prime`);
};

/** A chance strictly between 0 and 1: anything else would be no coin. */
const chance = (value, name) => {
  const { top, bottom } = fraction(value);
  if (top <= 0n || top >= bottom) refuse(`${name} must lie strictly between 0 and 1`);
};

const share = (value, name) => {
  const { top, bottom } = fraction(value);
  if (top < 0n || top > bottom) refuse(`${name} must lie between 0 and 1`);
};

const flipped = (value, name) => {
  chance(value, name);
  const { top, bottom } = fraction(value);
  if (2n * top >= bottom) refuse(`${name} must be below 1/2`);
};

const exactly = (plain, names, what) => {
  const found = plain && typeof plain === "object" && !Array.isArray(plain) ? Object.keys(plain) : [];
  if (found.length !== names.length || !names.every((name) => Object.hasOwn(plain, name))) {
    refuse(`${what} must have exactly: ${names.join(", ")}`);
  }
};

const grid = (scale) => {
  exactly(scale, ["lower", "step", "steps"], "a scale");
  fraction(scale.lower);
  if (fraction(scale.step).top <= 0n) refuse("the step must be greater than zero");
  from(1, 2 ** 20)(scale.steps, "steps");
};

const attributes = (parts) => {
  if (!Array.isArray(parts) || !parts.length) refuse("attributes are a list of protocols");
  for (const part of parts) {
    const name = part?.protocol;
    if (["every-attribute", "one-attribute", "rappor"].includes(name)) refuse(`${name} is not for a single attribute`);
    ruled(part);
  }
};

/** (1 − chance) / chance, times a / b. */
const odds = (text, a = 1, b = 1) => {
  const { top, bottom } = fraction(text);
  return { top: (bottom - top) * BigInt(a), bottom: top * BigInt(b) };
};

/** The natural logarithm of a fraction that may be beyond what a double holds, or nearer to 1 than it can tell. */
function ln({ top, bottom }) {
  const log = (big) => {
    const shift = Math.max(0, big.toString(2).length - 64);
    return Math.log(Number(big >> BigInt(shift))) + shift * Math.LN2;
  };
  if (top < 2n * bottom) return Math.log1p(Number(((top - bottom) << 200n) / bottom) / 2 ** 200);
  return log(top) - log(bottom);
}

const telling = (ratio) =>
  ratio.top > ratio.bottom ? ln(ratio) : refuse("the reports would say nothing of the truth");
const plane = (d) => {
  const { dimensions, points } = spaceOf(d);
  if (points(dimensions) > 2 ** 20) refuse("the space has too many points");
  return [points(dimensions) - points(dimensions - 1), points(dimensions - 1)];
};
const cells = ({ scale, size }) => scale.steps + size;
const windowCost = ({ scale, size, lie }) => telling(odds(lie, scale.steps, size));
const bits = (count) => Math.ceil(count / 8);
const longest = (parts) => Math.max(...parts.map(widthOf));
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

function unaryCost({ keep, stray }) {
  const [own, other] = [fraction(keep), fraction(stray)];
  if (2n * own.top < own.bottom || 2n * other.top > other.bottom || keep === stray) {
    refuse("keep at least 1/2 and let at most 1/2 stray");
  }
  return ln({ top: own.top, bottom: own.bottom - own.top }) + ln(odds(stray));
}

function hashCost({ domain, buckets, lie }) {
  const functions = functionsOf({ domain, buckets });
  let digits = 1;
  for (let reach = buckets; reach < domain; reach *= buckets) digits += 1;
  if (Math.min(digits * buckets ** 2, domain) * functions > 2 ** 32) refuse("the domain is too large");
  return telling(odds(lie, buckets - 1));
}

function waveCost(description) {
  if (description.scale.steps >= 4096) refuse("the grid is too fine for a distribution");
  return windowCost(description);
}

function sketchCost({ hashes, columns, flip }) {
  if (hashes * columns > 2 ** 26) refuse("the sketch is too large");
  return ln(odds(flip));
}

/** What a text costs however often it is reported (ε∞); without end where nothing is forgotten for good. */
function rapporCost({ filter_bits: size, hashes, forget, zero, one }) {
  const [lost, low, high] = [forget, zero, one].map(fraction);
  if (hashes > size) refuse("more hashes than bits");
  const below = low.top * high.bottom < high.top * low.bottom;
  if (!below || lost.top === lost.bottom) refuse("zero < one and forget < 1 are needed");
  if (lost.top === 0n && (low.top === 0n || high.top === high.bottom)) refuse("nothing is hidden");
  return lost.top === 0n ? Infinity : 2 * hashes * ln({ top: 2n * lost.bottom - lost.top, bottom: lost.top });
}

const scaled = { see: (d, value) => gridPlace(d.scale, value) };
const named = { see: (d, value) => whole(value, d.domain) };
const written = { see: (d, value) => new TextDecoder().decode(new TextEncoder().encode(text(value))) };
const windows = {
  fields: { scale: grid, size: from(1), lie: chance },
  cost: windowCost,
  width: (d) => width(cells(d)),
  draw: windowed,
  ...scaled,
};

/** Of each protocol: its fields and their rules, ε, the bytes of a body, how it is drawn, what it sees of a value. */
const PROTOCOLS = {
  direct: {
    fields: { domain: from(2, 2 ** 24), lie: chance },
    cost: (d) => telling(odds(d.lie, d.domain - 1)),
    width: (d) => width(d.domain),
    draw: direct,
    ...named,
  },
  unary: {
    fields: { domain: from(2, 2 ** 20), keep: chance, stray: chance },
    cost: unaryCost,
    width: (d) => bits(d.domain),
    draw: unary,
    ...named,
  },
  "local-hash": {
    fields: { domain: from(2, 2 ** 20), buckets: field, lie: chance },
    cost: hashCost,
    width: (d) => width(functionsOf(d) * d.buckets),
    draw: localHash,
    ...named,
  },
  hadamard: {
    fields: { domain: from(2, 2 ** 24), flip: flipped },
    cost: (d) => ln(odds(d.flip)),
    width: (d) => width(2 * powerFor(d.domain)),
    draw: hadamard,
    ...named,
  },
  subset: {
    fields: { domain: from(2, 2 ** 20), size: from(1), lie: chance },
    cost: (d) => (d.size < d.domain ? telling(odds(d.lie, d.domain - d.size, d.size)) : refuse("the set is too large")),
    width: (d) => bits(d.domain),
    draw: subset,
    ...named,
  },
  projective: {
    fields: { domain: from(2, 2 ** 20), prime, lie: chance },
    cost: (d) => telling(odds(d.lie, ...plane(d))),
    width: (d) => width(spaceOf(d).points(spaceOf(d).dimensions)),
    draw: projective,
    ...named,
  },
  "one-bit": {
    fields: { scale: grid, flip: flipped },
    cost: (d) => ln(odds(d.flip)),
    width: () => 1,
    draw: oneBit,
    ...scaled,
  },
  piecewise: windows,
  "square-wave": { ...windows, cost: waveCost },
  hybrid: {
    fields: { scale: grid, size: from(1), lie: chance, flip: flipped, mix: share },
    cost: (d) => Math.max(windowCost(d), ln(odds(d.flip))),
    width: (d) => width(cells(d) + 2),
    draw: hybrid,
    ...scaled,
  },
  "count-mean-sketch": {
    fields: { hashes: from(1), columns: power, flip: flipped },
    cost: (d) => 2 * sketchCost(d),
    width: (d) => width(d.hashes) + bits(d.columns),
    draw: countMeanSketch,
    ...written,
  },
  "hadamard-sketch": {
    fields: { hashes: from(1), columns: power, flip: flipped },
    cost: sketchCost,
    width: (d) => width(2 * d.hashes * d.columns),
    draw: hadamardSketch,
    ...written,
  },
  rappor: {
    fields: { filter_bits: power, hashes: from(1), cohorts: from(1, 2 ** 16), forget: share, zero: share, one: share },
    cost: rapporCost,
    width: (d) => width(d.cohorts) + bits(d.filter_bits),
    draw: () => refuse("RAPPOR keeps what it drew: use rapporKeep and rapporReport"),
    ...written,
  },
  "every-attribute": {
    fields: { parts: attributes },
    cost: ({ parts }) => sum(parts.map(costOf)),
    width: ({ parts }) => sum(parts.map(widthOf)),
    draw: everyAttribute,
  },
  "one-attribute": {
    fields: { parts: attributes },
    cost: ({ parts }) => Math.max(...parts.map(costOf)),
    width: ({ parts }) => width(parts.length) + longest(parts),
    draw: oneAttribute,
    see: ({ parts }, values) => JSON.stringify(record(values, parts).map((value, i) => seen(parts[i], value))),
  },
};

function protocolOf(plain) {
  const name = plain?.protocol;
  if (typeof name !== "string" || !Object.hasOwn(PROTOCOLS, name)) {
    throw new RangeError(`this protocol is not for web pages: ${String(name)}`);
  }
  return PROTOCOLS[name];
}

const costOf = (plain) => protocolOf(plain).cost(plain);
const widthOf = (plain) => protocolOf(plain).width(plain);
const body = (plain, value, source) => protocolOf(plain).draw(plain, value, source);

/** What a protocol sees of a value: two values that it cannot tell apart are one. */
function seen(plain, value) {
  const found = protocolOf(plain).see(plain, value);
  return typeof found === "number" ? `n:${found}` : `t:${found}`;
}

/** A protocol's own fields, by its rules; its price is worked out, which settles what the fields have to be together. */
function ruled(plain) {
  const { fields } = protocolOf(plain);
  exactly(plain, ["protocol", ...Object.keys(fields)], plain.protocol);
  for (const [name, rule] of Object.entries(fields)) rule(plain[name], name);
  return costOf(plain);
}

/** The description's price, if it is one: format, fingerprint, topic and every parameter are right. */
function priced(description, most = Infinity) {
  head(description);
  const { id, format, topic, ...plain } = description;
  const subject = topic === undefined || (typeof topic === "string" && /^[0-9a-f]{32}$/.test(topic));
  if (!subject) refuse("the topic is not one");
  const price = ruled(plain);
  if (typeof most !== "number" || !(price <= most * (1 + 1e-9))) {
    throw new RangeError(`a report would cost ε = ${price.toPrecision(4)}: at most ${most} is allowed`);
  }
  return price;
}

/** What one report under this description costs, at most, whoever gets it; of RAPPOR all reports of a text (ε∞). */
export function epsilon(description) {
  return priced(description);
}

// ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** JSON with its keys in order, nothing between, and ASCII only: what fingerprints are taken of. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value && typeof value === "object") {
    const keys = Object.keys(value).sort();
    return `{${keys.map((key) => `${canonical(key)}:${canonical(value[key])}`).join(",")}}`;
  }
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[^ -~]/g, escaped);
}

const digest = (plain) => toHex(sha256(new TextEncoder().encode(canonical(plain))));

/** What is asked, an object for JSON, in 32 digits: the `topic` of descriptions whose reports are about nothing else. */
export const topicOf = (asked) => digest(asked).slice(0, 32);

function head(description) {
  if (description?.format !== FORMAT) throw new RangeError(`the description is not of the format ${FORMAT}`);
  const { id, ...plain } = description;
  const print = digest(plain).slice(0, 8);
  if (id !== undefined && id !== print) throw new RangeError("the description was changed: its fingerprint is another");
  return joined(Uint8Array.of(VERSION), fromHex(print));
}

/**
 * The report of a value, as it is sent: version, fingerprint, body. Nothing else about the value leaves here.
 * Refused if it would cost more than ε = `most`.
 */
export function encode(description, value, { most, source = webCrypto } = {}) {
  priced(description, most);
  return joined(head(description), body(description, value, source));
}

/** What a device keeps for good for a text: draw it once, store it, and never draw it again. */
export function rapporKeep(description, value, cohort, { most, source = webCrypto } = {}) {
  priced(description, most);
  if (description.protocol !== "rappor") refuse("it is not RAPPOR's");
  return bloom(description, value, whole(cohort, description.cohorts), source);
}

/** A report from what is kept: a message, drawn anew every time. */
export function rapporReport(description, kept, cohort, { source = webCrypto } = {}) {
  priced(description);
  const { cohorts, filter_bits: size } = description;
  if (description.protocol !== "rappor" || kept.length !== size) refuse("it is not RAPPOR's, or of another size");
  const [zero, one] = [fraction(description.zero), fraction(description.one)];
  const zeros = coins(zero, size, source);
  const rise = one.top * zero.bottom - zero.top * one.bottom; // over both bottoms
  const even = one.top * zero.bottom + zero.top * one.bottom === one.bottom * zero.bottom;
  const room = { top: rise, bottom: (zero.bottom - zero.top) * one.bottom };
  const raised = even ? null : coins(room, size, source);
  const reported = kept.map((bit, i) => (even ? bit ^ zeros[i] : zeros[i] | (bit & raised[i])));
  return joined(head(description), numberBytes(whole(cohort, cohorts), cohorts), bitBytes(reported));
}

// ── memory ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The name under which a device remembers what it drew: of the whole description, so of no other price or topic. */
export function storageName(description) {
  head(description);
  const { id, ...plain } = description;
  return `tacit:${digest(plain)}`;
}

function told(key, store, { length, draw }) {
  const kept = store.getItem(key);
  if (kept === null || kept === undefined) {
    const drawn = draw();
    store.setItem(key, toHex(drawn));
    return drawn;
  }
  if (typeof kept !== "string" || !/^([0-9a-f]{2})*$/.test(kept) || kept.length !== 2 * length) {
    throw new RangeError("what was stored is no report: it is neither told nor drawn again");
  }
  return fromHex(kept);
}

/** As `encode`, but drawn only once and told again ever after, whatever the value: the store never learns it. */
export function once(description, value, store, options = {}) {
  priced(description, options.most);
  const length = head(description).length + widthOf(description);
  return told(storageName(description), store, { length, draw: () => encode(description, value, options) });
}

/**
 * As `once`, but once for each value that the protocol can tell from others, for questions asked day after day; of a
 * record each attribute by itself under "every-attribute". The store shows which values there were.
 */
export function remembered(description, value, store, { most, source = webCrypto } = {}) {
  priced(description, most);
  const every = description.protocol === "every-attribute";
  const parts = every ? description.parts : [description];
  const values = every ? record(value, parts) : [value];
  const name = storageName(description);
  const keys = parts.map((part, i) => `${name}:${i}:${seen(part, values[i])}`);
  const bodies = parts.map((part, i) =>
    told(keys[i], store, { length: widthOf(part), draw: () => body(part, values[i], source) }),
  );
  return joined(head(description), ...bodies);
}
