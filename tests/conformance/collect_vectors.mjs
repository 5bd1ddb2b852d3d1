// Reads test vectors from standard input and writes the reports that the ES module makes of them.
import { readFileSync } from "node:fs";
import { encode, rapporKeep, rapporReport, toHex, fromHex } from "../../src/tacit/collect/js/tacit-collect.mjs";

function tape(hex) {
  const bytes = fromHex(hex);
  let at = 0;
  return {
    draw(count) {
      if (at + count > bytes.length) throw new Error("the tape has ended");
      return bytes.slice(at, (at += count));
    },
    left: () => bytes.length - at,
  };
}

function report(description, value, random) {
  const source = tape(random);
  try {
    const made =
      description.protocol === "rappor"
        ? rapporReport(description, rapporKeep(description, value, 7, { source }), 7, { source })
        : encode(description, value, { source });
    return source.left() ? `${source.left()} bytes left` : toHex(made);
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
}

const protocols = JSON.parse(readFileSync(0, "utf8"));
const reports = protocols.map(({ description, cases }) => cases.map(([value, random]) => report(description, value, random)));
process.stdout.write(JSON.stringify(reports));
