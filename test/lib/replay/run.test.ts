import { execFileSync } from 'node:child_process';
import { describe, expect, test } from '@jest/globals';
import { EMPTY_BLOCK, OP, TYPE } from '#lib/replay/instructions.ts';
import { type ReplayVerdict, runReplay } from '#lib/replay/run.ts';
import { meterSimulation } from '#lib/replay/simulation.ts';
import { buildModule, code, type ModuleParts } from '#test/support/wasm.ts';

const LIMITS = { maxTicks: 100, instructionsPerTick: 1_000 };
const SEED = new Uint8Array(16);

function play(parts: ModuleParts, ticks = 10, limits = LIMITS): ReplayVerdict {
  const module = new WebAssembly.Module(meterSimulation(buildModule(parts)));
  return runReplay(module, SEED, [{ ticks, input: 3 }], limits);
}

describe('a replay', () => {
  test('gives the score of the simulation and the number of ticks', () => {
    expect(play({})).toEqual({ result: { score: 7, ticks: 10, isOver: false } });
  });

  test('without inputs is a play of 0 ticks', () => {
    const module = new WebAssembly.Module(meterSimulation(buildModule()));
    expect(runReplay(module, SEED, [], LIMITS)).toEqual({ result: { score: 7, ticks: 0, isOver: false } });
  });

  test('must not have more ticks than the game allows', () => {
    expect(play({}, 100)).toHaveProperty('result');
    expect(play({}, 101)).toEqual({ refusal: 'too_many_ticks' });
    expect(play({}, 4_294_967_295)).toEqual({ refusal: 'too_many_ticks' });
  });

  test('must end when the game ends', () => {
    expect(play({ tick: code.i32(1) }, 1)).toEqual({ result: { score: 7, ticks: 1, isOver: true } });
    expect(play({ tick: code.i32(1) }, 2)).toEqual({ refusal: 'continues_after_end' });
  });

  test('must have a score from 0 to 2^53 − 1', () => {
    const max = [OP.i64Const, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f];
    expect(play({ score: max })).toMatchObject({ result: { score: 2 ** 53 - 1 } });
    expect(play({ score: [...max, ...code.i64(1), 0x7c] })).toEqual({ refusal: 'invalid_score' });
    expect(play({ score: [OP.i64Const, 0x7f] })).toEqual({ refusal: 'invalid_score' });
  });

  test('gets the 16 bytes of the seed as four little-endian integers', () => {
    const store = [0, 1, 2, 3].flatMap((i) => [...code.i32(i * 4), OP.localGet, i, 0x36, 2, 0]);
    const module = new WebAssembly.Module(meterSimulation(buildModule({ start: store, score: [...code.i32(5), 0x31, 0, 0] })));
    const seed = Uint8Array.from({ length: 16 }, (_, i) => i * 10);
    expect(runReplay(module, seed, [], LIMITS)).toMatchObject({ result: { score: 50 } });
  });
});

describe('a hostile simulation', () => {
  test('with an endless loop in tick, start or score ends after its instructions', () => {
    expect(play({ tick: [...code.endlessLoop, ...code.i32(0)] })).toEqual({ refusal: 'too_many_instructions' });
    expect(play({ start: code.endlessLoop })).toEqual({ refusal: 'too_many_instructions' });
    expect(play({ score: [...code.endlessLoop, ...code.i64(0)] })).toEqual({ refusal: 'too_many_instructions' });
  });

  test('ends at the same instruction each time', () => {
    // A tick of this game costs 6 instructions. The first 1,000 ticks of the budget are for `start`.
    const parts = { tick: [...code.i32(1), ...code.i32(1), OP.i32Add, 0x1a, ...code.i32(0)] };
    const limits = { maxTicks: 10_000_000, instructionsPerTick: 1 };
    const module = new WebAssembly.Module(meterSimulation(buildModule(parts)));
    const run = (ticks: number) => runReplay(module, SEED, [{ ticks, input: 0 }], limits);
    // 1,000 + n units of fuel; each tick takes 5, and score takes 1: the last n with enough fuel is 249.
    expect(run(249)).toHaveProperty('result');
    expect(run(250)).toEqual({ refusal: 'too_many_instructions' });
  });

  test('may use its whole budget', () => {
    const parts = { tick: [...code.i32(1), 0x45, 0x1a, ...code.i32(0)] };
    const module = new WebAssembly.Module(meterSimulation(buildModule(parts)));
    const run = (ticks: number) => runReplay(module, SEED, [{ ticks, input: 0 }], { maxTicks: 10_000_000, instructionsPerTick: 1 });
    // 1,000 + n units of fuel; each tick takes 4, and score takes 1: 333 ticks use all of them.
    expect(run(333)).toHaveProperty('result');
    expect(run(334)).toEqual({ refusal: 'too_many_instructions' });
  });

  test('with endless recursion traps at a fixed depth', () => {
    expect(play({ tick: code.call(1) }, 1, { maxTicks: 1, instructionsPerTick: 1_000_000 })).toEqual({ refusal: 'trap' });
    expect(play({ tick: code.call(3), functions: [code.call(1)] }, 1, { maxTicks: 1, instructionsPerTick: 1_000_000 })).toEqual({ refusal: 'trap' });
  });

  test('can nest calls to the limit, also with many local variables', () => {
    // The weight of `tick` is 16 + 1 parameter + 900 locals + 9 instructions = 926: 70 nested calls fit into 65,536.
    const locals = new Array<number>(900).fill(TYPE.i64);
    const down = [...code.input, 0x45, OP.if, TYPE.i32, ...code.i32(0), OP.else, ...code.input, ...code.i32(1), OP.i32Sub, OP.call, 1, OP.end];
    const module = new WebAssembly.Module(meterSimulation(buildModule({ tick: down, locals })));
    const run = (depth: number) => runReplay(module, SEED, [{ ticks: 1, input: depth }], { maxTicks: 1, instructionsPerTick: 1_000_000 });
    expect(run(69)).toHaveProperty('result');
    expect(run(75)).toEqual({ refusal: 'trap' });
  });

  test('that grows its memory gets no more than the declared maximum', () => {
    const grow = [...code.i32(1), OP.memoryGrow, 0, 0x1a];
    const score = [OP.memorySize, 0, OP.i64ExtendI32U];
    expect(play({ memory: [1, 256], tick: [...grow, ...code.i32(0)], score }, 100)).toMatchObject({ result: { score: 101 } });
    expect(play({ memory: [1, 3], tick: [...grow, ...code.i32(0)], score }, 100)).toMatchObject({ result: { score: 3 } });
  });

  test('that grows its memory by nothing again and again pays for each growth', () => {
    const grow = [OP.loop, EMPTY_BLOCK, ...code.i32(0), OP.memoryGrow, 0, 0x1a, OP.br, 0, OP.end, ...code.i32(0)];
    expect(play({ tick: grow })).toEqual({ refusal: 'too_many_instructions' });
  });

  test('has no verdict on a machine that refuses to grow the memory below its maximum', () => {
    // Node needs memory for its own modules, so the program sets the limit after its imports.
    const program = `import { setFlagsFromString } from 'node:v8';
      import { runReplay } from '#lib/replay/run.ts';
      const [module, ticks, pages] = process.argv.slice(1);
      setFlagsFromString('--wasm-max-mem-pages=' + pages);
      try {
        const limits = { maxTicks: 100, instructionsPerTick: 10_000 };
        console.log(JSON.stringify(runReplay(new WebAssembly.Module(Buffer.from(module, 'base64')), new Uint8Array(16), [{ ticks: Number(ticks), input: 0 }], limits)));
      } catch (error) {
        console.log(error.name);
      }`;
    const grow = [...code.i32(1), OP.memoryGrow, 0, 0x1a, ...code.i32(0)];
    const module = Buffer.from(meterSimulation(buildModule({ memory: [1, 8], tick: grow }))).toString('base64');
    const run = (ticks: number, pages: number) =>
      execFileSync(process.execPath, ['--input-type=module', '-e', program, module, String(ticks), String(pages)], { encoding: 'utf8' }).trim();
    expect(run(9, 100)).toBe('{"result":{"score":7,"ticks":9,"isOver":false}}');
    expect(run(3, 4)).toBe('{"result":{"score":7,"ticks":3,"isOver":false}}');
    expect(run(4, 4)).toBe('RangeError');
  });

  test('that fills its memory again and again pays for each 8 bytes', () => {
    expect(play({ tick: [...code.fill(65_536), ...code.i32(0)] }, 100, { maxTicks: 100, instructionsPerTick: 500 })).toEqual({
      refusal: 'too_many_instructions',
    });
    expect(play({ tick: [...code.fill(4_096), ...code.i32(0)] }, 100)).toHaveProperty('result');
  });

  test('that traps is refused', () => {
    expect(play({ tick: [OP.unreachable] })).toEqual({ refusal: 'trap' });
    expect(play({ tick: [...code.i32(1), ...code.i32(0), 0x6d] })).toEqual({ refusal: 'trap' });
    expect(play({ tick: code.fill(65_537).concat(code.i32(0)) })).toHaveProperty('refusal');
    expect(play({ start: [OP.unreachable] }, 0)).toEqual({ refusal: 'trap' });
  });

  test('cannot read the sign and the payload of a NaN', () => {
    // 0/0 with the sign changed, and a NaN with a payload from the memory: as bits and through a store.
    const nan = [OP.f64Const, 0, 0, 0, 0, 0, 0, 0, 0];
    const bits = (value: number[]) => play({ score: [...value, OP.i64ReinterpretF64, ...code.i64(20), OP.i64ShrU] });
    const zeroByZero = [...nan, ...nan, 0xa3];
    expect(bits(zeroByZero)).toEqual(bits([...zeroByZero, 0x9a]));
    expect(bits(zeroByZero)).toEqual(bits([OP.f64Const, 1, 2, 3, 4, 5, 6, 0xf9, 0xff]));
    const stored = [...code.i32(0), ...zeroByZero, 0x9a, OP.f64Store, 3, 0];
    expect(play({ start: stored, score: [...code.i32(4), 0x29, 0, 0] })).toMatchObject({ result: { score: 0x7ff80000 } });
    const single = [...code.i32(0), OP.f32Const, 1, 2, 0xc3, 0xff, 0x38, 2, 0];
    expect(play({ start: single, score: [...code.i32(0), 0x35, 0, 0] })).toMatchObject({ result: { score: 0x7fc00000 } });
    const one = [OP.f64Const, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
    expect(play({ score: [...one, ...zeroByZero, 0x9a, OP.f64Copysign, 0xb0] })).toMatchObject({ result: { score: 1 } });
  });

  test('with a block that ends in dead code keeps its meaning', () => {
    const tick = [OP.block, TYPE.i32, ...code.i32(0), OP.br, 0, OP.end, OP.return, ...code.i32(1)];
    expect(play({ tick })).toMatchObject({ result: { isOver: false } });
    expect(play({ tick: [OP.block, EMPTY_BLOCK, ...code.i32(1), OP.return, OP.end, OP.unreachable] }, 1)).toMatchObject({ result: { isOver: true } });
  });
});
