import { inTurns } from '#tools/bench/comparison/turns.ts';

/** A program that takes turns like a benchmark, and measures nothing. Exits with 1 when the process that started it goes away. */
try {
  await inTurns(async () => undefined);
} catch {
  process.exitCode = 1;
}
