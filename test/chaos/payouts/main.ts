import { randomInt } from 'node:crypto';
import { runPayouts } from './run.ts';

/** `bin/soak payouts [minutes] [seed]`: payments and claims under strangers' spam, congestion and misbehaving providers. */
const [minutes = 30, seed = randomInt(1_000_000)] = process.argv.slice(2).map(Number);
if (!(minutes > 0) || !Number.isInteger(seed)) {
  process.stderr.write('usage: bin/soak payouts [minutes] [seed]\n');
  process.exit(2);
}
const say = (line: string) => void process.stdout.write(`${line}\n`);
say(`seed ${seed}, ${minutes} minutes`);
const { failures, log } = await runPayouts({
  ...{ seed, forMs: minutes * 60_000, players: 6, quietMs: 4_000, downMs: 5_000, settleMs: 180_000 },
  print: say,
});
if (failures.length > 0) {
  say(`\nthe last faults of seed ${seed}:\n${log.slice(-20).join('\n')}\n\n${failures.length} failures:`);
  for (const failure of failures) say(`- ${failure}`);
} else say('passed: every payment and claim is made exactly once, and the audit finds no difference');
process.exitCode = failures.length === 0 ? 0 : 1;
