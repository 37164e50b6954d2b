import { randomInt } from 'node:crypto';
import { runThroughHavoc } from './run.ts';

/** `bin/soak system [minutes] [seed]`: things go wrong for so long (10), as the seed says (any). */
const [minutes = 10, seed = randomInt(1_000_000)] = process.argv.slice(2).map(Number);
if (!(minutes > 0) || !Number.isInteger(seed)) {
  process.stderr.write('usage: bin/soak system [minutes] [seed]\n');
  process.exit(2);
}
const say = (line: string) => void process.stdout.write(`${line}\n`);
say(`seed ${seed}, ${minutes} minutes`);
const { failures, log } = await runThroughHavoc({
  ...{ seed, forMs: minutes * 60_000, players: 8, quietMs: 4_000, downMs: 5_000, settleMs: 180_000, verified: 50 },
  say,
});
if (failures.length > 0) {
  say(`\nthe last faults of seed ${seed}:\n${log.slice(-20).join('\n')}\n\n${failures.length} failures:`);
  for (const failure of failures) say(`- ${failure}`);
} else say('nothing that was confirmed is lost, nothing is paid twice, streams are whole or said that they are not');
process.exitCode = failures.length === 0 ? 0 : 1;
