import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import asc from 'assemblyscript/asc';

const OPTIONS = ['-O3', '--noAssert', '--runtime', 'stub', '--use', 'abort=', '--initialMemory', '1', '--maximumMemory', '1'];

/** Path of the module beside its source. */
export const MODULE_PATH = fileURLToPath(new URL('./block-cascade.wasm', import.meta.url));

/**
 * Compiles the simulation. The same source and compiler give the same bytes.
 * @throws Error with the messages of the compiler
 */
export async function buildBlockCascade(): Promise<Uint8Array<ArrayBuffer>> {
  const source = await readFile(new URL('./simulation.ts', import.meta.url), 'utf8');
  let module: Uint8Array | undefined;
  const { error, stderr } = await asc.main(['simulation.ts', '--outFile', 'block-cascade.wasm', ...OPTIONS], {
    readFile: (name) => (name === 'simulation.ts' ? source : null),
    writeFile: (_name, contents) => {
      if (contents instanceof Uint8Array) module = contents;
    },
    listFiles: () => [],
  });
  if (error || !module) throw new Error(`the compiler refused the simulation: ${stderr.toString()}`);
  return new Uint8Array(module);
}

if (import.meta.main) await writeFile(MODULE_PATH, await buildBlockCascade());
