// Runs tests/kernels in WebAssembly: node kernels.mjs MODULE FOLDER
// The module is the test `kernels` of the crate hostwarp; see crates/hostwarp/tests/kernels/wasm.rs.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [path, folder] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(path));
const start = () => new WebAssembly.Instance(module, {}).exports;
let wasm = start();
const said = () => new TextDecoder().decode(new Uint8Array(wasm.memory.buffer, wasm.output(), wasm.output_len()));

let failed = 0;
const files = readdirSync(folder).filter((f) => f.endsWith(".ptx")).sort();
for (const file of files) {
  const text = readFileSync(join(folder, file));
  let why = "";
  try {
    const at = wasm.input(text.length);
    new Uint8Array(wasm.memory.buffer, at, text.length).set(text);
    if (wasm.check() !== 0) why = said();
  } catch (trap) {
    why = `${trap}: ${said()}`;
    wasm = start();
  }
  if (why) {
    failed += 1;
    console.log(`${file}: ${why}`);
  }
}
console.log(`${files.length - failed} of ${files.length} files passed`);
process.exit(failed || files.length === 0 ? 1 : 0);
