import { describe, expect, test } from '@jest/globals';
import { EMPTY_BLOCK, OP, TYPE } from '#lib/replay/instructions.ts';
import { FUEL_EXPORT, meterSimulation } from '#lib/replay/simulation.ts';
import { buildModule, code, type ModuleParts } from '#test/support/wasm.ts';

const refuses = (parts: ModuleParts, message: RegExp) => () => {
  const source = buildModule(parts);
  expect(WebAssembly.validate(source)).toBe(true);
  expect(() => meterSimulation(source)).toThrow(message);
};

describe('a simulation module', () => {
  test('is accepted when it exports start, tick and score, and the same source gives the same metered bytes', () => {
    const metered = meterSimulation(buildModule());
    expect(meterSimulation(buildModule())).toEqual(metered);
    expect(Object.keys(new WebAssembly.Instance(new WebAssembly.Module(metered)).exports)).toEqual(['start', 'tick', 'score', FUEL_EXPORT]);
  });

  test('must be WebAssembly', () => {
    expect(() => meterSimulation(new TextEncoder().encode('<html>'))).toThrow('the file must be a valid WebAssembly module');
    expect(() => meterSimulation(new Uint8Array())).toThrow('the file must be a valid WebAssembly module');
  });

  test('must have at most 512 KiB', () => {
    expect(() => meterSimulation(buildModule({ sections: { 0: [1, 97, ...new Array<number>(524_288).fill(0)] } }))).toThrow('at most 524288 bytes');
  });

  test('must have no imports', refuses({ sections: { 2: [1, 1, 97, 1, 98, 3, TYPE.i32, 0] } }, /no imports/));
  test(
    'must have no start function',
    refuses({ functions: [], sections: { 8: [3], 3: [4, 0, 1, 2, 3], 1: types(), 10: bodies() } }, /no start function/),
  );
  test('must limit its memory to 256 pages', refuses({ memory: [1, 257] }, /at most 256 pages/));
  test('must declare the maximum of its memory', refuses({ sections: { 5: [1, 0, 1] } }, /must declare a maximum/));
  test('must not share its memory', refuses({ sections: { 5: [1, 3, 1, 1] } }, /must not be shared/));
  test('must not use vector instructions', refuses({ tick: [...code.i32(0), 0xfd, 15, 0x1a, ...code.i32(0)] }, /0xfd, which is not allowed/));
  test('must not use vector types', refuses({ locals: [0x7b] }, /a type other than i32/));
  test('must not change tables', refuses({ sections: { 4: [1, 0x70, 0, 1] }, tick: [0xd0, 0x70, ...code.i32(1), 0xfc, 15, 0] }, /not allowed/));
  test('must not have a large table', refuses({ sections: { 4: [1, 0x70, 0, 0x91, 0x4e] } }, /at most 10000 entries/));
  test('must not use tail calls', refuses({ tick: [...code.input, 0x12, 1] }, /0x12, which is not allowed/));
  test('must have few exports', refuses({ names: Array.from({ length: 62 }, (_, i) => `e${i}`) }, /at most 64 exports/));
  test('must have short names of exports', refuses({ names: ['x'.repeat(65)] }, /at most 64 bytes/));
  test('must leave the name of the fuel to metering', refuses({ names: [FUEL_EXPORT] }, /must not export the name fuel/));
  test(
    'must have few local variables',
    refuses({ sections: { 10: bodies(1_001).slice(0), 3: [4, 0, 1, 2, 3], 1: types() } }, /at most|more than 1000 local variables/),
  );
  test(
    'must export tick with its type',
    refuses({ sections: { 7: [2, 5, ...ascii('start'), 0, 0, 5, ...ascii('score'), 0, 2] } }, /must export the function tick\(i32\) -> i32/),
  );
  test(
    'must export score as a 64-bit integer',
    refuses({ sections: { 7: [3, 5, ...ascii('start'), 0, 0, 4, ...ascii('tick'), 0, 1, 5, ...ascii('score'), 0, 1] } }, /score\(\) -> i64/),
  );

  test(
    'must not use functions with several results',
    refuses({ sections: { 1: [5, ...types().slice(1), 0x60, 0, 2, TYPE.i32, TYPE.i32] } }, /several results/),
  );
  test('must not have globals of another type than numbers', () => {
    refuses({ sections: { 6: [1, 0x70, 0, 0xd0, 0x70, OP.end] } }, /a type other than i32/)();
    refuses({ sections: { 6: [1, 0x7b, 0, 0xfd, 12, ...new Array<number>(16).fill(1), OP.end] } }, /a type other than i32/)();
  });
  test('may have globals that compute their value from constants', () => {
    const sum = [TYPE.i32, 0, ...code.i32(5), ...code.i32(2), OP.i32Add, OP.end];
    expect(() =>
      meterSimulation(buildModule({ sections: { 6: [2, ...sum, TYPE.f64, 1, OP.f64Const, ...new Array<number>(8).fill(0), OP.end] } })),
    ).not.toThrow();
  });
  test('must have data and tables that can be instantiated', () => {
    refuses({ sections: { 11: [1, 0, ...code.i32(65_536), OP.end, 1, 7] } }, /cannot be instantiated: .*data segment 0 is out of bounds/)();
    refuses({ sections: { 4: [1, 0x70, 0, 1], 9: [1, 0, ...code.i32(1), OP.end, 1, 0] } }, /cannot be instantiated/)();
  });
  test('must export start, tick and score under exactly these names', () => {
    const mark = [0xef, 0xbb, 0xbf];
    const names = [3, 8, ...mark, ...ascii('start'), 0, 0, 4, ...ascii('tick'), 0, 1, 5, ...ascii('score'), 0, 2];
    refuses({ sections: { 7: names } }, /must export the function start/)();
  });
  test('must export functions under these names', () => {
    const kinds = [3, 5, ...ascii('start'), 2, 0, 4, ...ascii('tick'), 0, 1, 5, ...ascii('score'), 0, 2];
    refuses({ sections: { 7: kinds } }, /must export the function start/)();
  });
  test('must not become larger than 4 MiB by metering', () => {
    const one = [OP.unreachable, ...new Array<number>(60_000).fill(OP.f64Copysign), OP.end];
    refuses(
      { functions: Array.from({ length: 8 }, () => [...one.slice(0, -1), 0x1a, ...code.i32(0)]) },
      /with metering must have at most 4194304 bytes/,
    )();
  });

  // Each of these encodings has immediates that a reader of the first version of WebAssembly takes for instructions. They could hide a loop from metering.
  test('must not name the memory of an instruction', () => {
    const hidden = [OP.loop, EMPTY_BLOCK, OP.br, 0, OP.end];
    refuses({ tick: [...code.i32(0), 0x28, 0x42, 0, OP.i32Const, ...hidden] }, /index of a memory, which is not allowed/)();
    refuses({ tick: [...code.i32(0), ...code.i32(0), 0x36, 0x42, 0, OP.i32Const, ...hidden, ...code.i32(0)] }, /index of a memory/)();
  });
  test('must not use integers with more bytes than 32 bits need', () => {
    refuses({ tick: [...code.i32(0), 0x28, 2, 0x80, 0x80, 0x80, 0x80, 0x80, 0] }, /more than 32 bits/)();
  });
  test('may write integers with redundant bytes', () => {
    const grow = [...code.i32(0), OP.memoryGrow, 0x80, 0, 0x1a];
    const copy = [...code.i32(0), ...code.i32(0), ...code.i32(0), OP.prefix, 0x8a, 0, 0x80, 0, 0x80, 0x80, 0];
    const block = [...code.i32(0), OP.block, 0x81, 0, OP.end];
    expect(() => meterSimulation(buildModule({ tick: [...grow, ...copy, ...block] }))).not.toThrow();
  });

  test('loses its custom sections, so a large or broken name section has no effect', () => {
    const bomb = [4, ...ascii('name'), 1, 0xff, 0xff, 0xff, 0xff, 0x0f];
    expect(meterSimulation(buildModule({ sections: { 0: bomb } }))).toEqual(meterSimulation(buildModule()));
  });

  test('is refused or accepted, but never breaks the registration, whatever bytes of it change', () => {
    const source = buildModule({ tick: [...code.input, OP.call, 3], functions: [code.i32(0)] });
    for (let at = 0; at < source.length; at += 1) {
      for (const value of [0, 1, 0x7f, 0x80, 0xff]) {
        const changed = source.slice();
        changed[at] = value;
        try {
          meterSimulation(changed);
        } catch (error) {
          expect(error).toMatchObject({ name: 'SimulationError' });
        }
      }
    }
  });
});

function ascii(text: string): number[] {
  return [...new TextEncoder().encode(text)];
}

/** Types of the test module, and a function without parameters and results. */
function types(): number[] {
  return [4, 0x60, 4, TYPE.i32, TYPE.i32, TYPE.i32, TYPE.i32, 0, 0x60, 1, TYPE.i32, 1, TYPE.i32, 0x60, 0, 1, TYPE.i64, 0x60, 0, 0];
}

/** Bodies of the test module and of a function with local variables. */
function bodies(locals = 0): number[] {
  const declaration = locals === 0 ? [0] : [1, 0x80 | (locals & 0x7f), locals >> 7, TYPE.i32];
  return [4, 2, 0, OP.end, 4, 0, ...code.i32(0), OP.end, 4, 0, ...code.i64(7), OP.end, declaration.length + 1, ...declaration, OP.end];
}
