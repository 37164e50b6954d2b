import { inTurns } from '#tools/bench/comparison/turns.ts';

/** A program that takes turns like a benchmark, and only writes each step. Exits with 1 when the process that started it goes away. */
const write = (step: string) => process.stdout.write(`${step}\n`);
try {
  await inTurns(
    async () => void write('measure'),
    () => {
      write('pause');
      return async () => void write('resume');
    },
  );
} catch {
  process.exitCode = 1;
}
