import { describe, expect, test } from '@jest/globals';
import { meterSimulation } from '#lib/replay/simulation.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { RandomProgram } from '#test/support/random-program.ts';
import { buildModule } from '#test/support/wasm.ts';

const PROGRAMS = 400;
const INPUTS = [0, 1, 3, -7, 2 ** 31 - 1];

interface Exports {
  tick(input: number): number;
  score(): bigint;
  fuel?: WebAssembly.Global;
}

/** Returns what a caller sees of a program: the result or the trap of each tick, and the score after it. */
function trace(bytes: Uint8Array<ArrayBuffer>): { seen: unknown[]; fuel: bigint | undefined } {
  // TypeScript does not know the exports of a module; `buildModule` exports these.
  const { tick, score, fuel } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports as unknown as Exports;
  const seen = INPUTS.map((input) => {
    try {
      return [tick(input), score()];
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) return [error.message, score()];
      throw error;
    }
  });
  return { seen, fuel: fuel?.value };
}

describe('metering', () => {
  test(`changes no result and no trap of ${PROGRAMS} random programs, and takes the same fuel each time`, () => {
    const outcomes = { results: 0, traps: 0 };
    for (let seed = 1; seed <= PROGRAMS; seed += 1) {
      const source = buildModule(new RandomProgram(randomGenerator(seed)).parts());
      expect([seed, WebAssembly.validate(source)]).toEqual([seed, true]);
      const metered = meterSimulation(source);
      const [plain, first, second] = [trace(source), trace(metered), trace(metered)];
      expect([seed, first.seen]).toEqual([seed, plain.seen]);
      expect([seed, second.fuel]).toEqual([seed, first.fuel]);
      expect(first.fuel).toBeLessThan(2n ** 63n - 1n);
      for (const [result] of plain.seen as unknown[][]) outcomes[typeof result === 'number' ? 'results' : 'traps'] += 1;
    }
    // The programs are worth running only if many of them return and some of them trap.
    expect(outcomes.results).toBeGreaterThan(PROGRAMS);
    expect(outcomes.traps).toBeGreaterThan(PROGRAMS / 10);
  });
});
