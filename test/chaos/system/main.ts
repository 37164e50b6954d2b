import { randomInt } from 'node:crypto';
import { runChaos } from './run.ts';

/** `bin/soak system [minutes] [seed]`: injects faults and failovers for 10 minutes (default) with a random seed (default). */
const [minutes = 10, seed = randomInt(1_000_000)] = process.argv.slice(2).map(Number);
if (!(minutes > 0) || !Number.isInteger(seed)) {
  process.stderr.write('usage: bin/soak system [minutes] [seed]\n');
  process.exit(2);
}
const say = (line: string) => void process.stdout.write(`${line}\n`);
say(`seed ${seed}, ${minutes} minutes`);
const { failures, log } = await runChaos({
  ...{ seed, forMs: minutes * 60_000, players: 8, quietMs: 4_000, downMs: 5_000, settleMs: 600_000, verified: 50 },
  failovers: 'all',
  print: say,
});
if (failures.length > 0) {
  say(`\nthe last faults of seed ${seed}:\n${log.slice(-20).join('\n')}\n\n${failures.length} failures:`);
  for (const failure of failures) say(`- ${failure}`);
} else say('passed: no confirmed write is lost, no payment is made twice, and every gap in an event stream was announced by a reset');
process.exitCode = failures.length === 0 ? 0 : 1;
