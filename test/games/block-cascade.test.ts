import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import { playAsBot } from '#games/block-cascade/bot.ts';
import { buildBlockCascade, MODULE_PATH } from '#games/block-cascade/build.ts';
import { readInputLog, writeInputLog } from '#lib/replay/input-log.ts';
import { runReplay } from '#lib/replay/run.ts';
import { meterSimulation } from '#lib/replay/simulation.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';

const LIMITS = { maxTicks: 10_800, instructionsPerTick: 20_000 };
const SEED = Uint8Array.from({ length: 16 }, (_, i) => i);
const source = new Uint8Array(await readFile(MODULE_PATH));
const module = new WebAssembly.Module(meterSimulation(source));

/** Returns numbers from 0 to below 1, always the same ones for a seed. */
function numbers(seed: number): () => number {
  const random = randomGenerator(seed);
  return () => random.int(0, 999_999) / 1_000_000;
}

describe('the simulation of Block Cascade', () => {
  test('is the module that its source compiles to', async () => {
    expect(Buffer.from(await buildBlockCascade()).equals(source)).toBe(true);
  }, 60_000);

  test('gives the same score with metering, without metering and in a replay', () => {
    const plain = new WebAssembly.Module(source);
    for (let seed = 1; seed <= 20; seed += 1) {
      const played = playAsBot(plain, SEED, { random: numbers(seed), idleTicks: seed % 5 });
      expect(playAsBot(module, SEED, { random: numbers(seed), idleTicks: seed % 5 })).toEqual(played);
      const { score, ticks, log } = played;
      expect(runReplay(module, SEED, readInputLog(log), LIMITS)).toEqual({ result: { score, ticks, isOver: true } });
    }
  });

  test('gives this score for this seed and these inputs', () => {
    expect(playAsBot(module, SEED, { random: numbers(1), idleTicks: 3 })).toMatchObject({ score: 350, ticks: 199 });
  });

  test('ends after three minutes, and a player who does nothing loses before', () => {
    const idle = runReplay(module, SEED, [{ ticks: 10_800, input: 0 }], LIMITS);
    expect(idle).toEqual({ refusal: 'continues_after_end' });
    const inputs: number[] = [];
    const game = new WebAssembly.Instance(module).exports as { start(...seed: number[]): void; tick(input: number): number };
    game.start(0, 0, 0, 0);
    do inputs.push(0);
    while (game.tick(0) === 0);
    expect(inputs.length).toBeGreaterThan(1_000);
    expect(inputs.length).toBeLessThan(10_800);
    expect(runReplay(module, new Uint8Array(16), readInputLog(writeInputLog(inputs)), LIMITS)).toMatchObject({ result: { isOver: true } });
  });

  test('gives other pieces for each seed', () => {
    const first = playAsBot(module, SEED, { random: numbers(1) });
    const second = playAsBot(module, SEED.toReversed(), { random: numbers(1) });
    expect([first.score, first.ticks]).not.toEqual([second.score, second.ticks]);
  });
});
