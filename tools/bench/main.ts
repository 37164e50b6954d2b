import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type Figure, table } from './support/report.ts';

/** Approximate duration of each benchmark on two cores, minutes. Each benchmark runs in its own process. */
const MINUTES: Readonly<Record<string, number>> = {
  startup: 1,
  scores: 2.5,
  replays: 1,
  mixed: 2,
  boards: 4,
  profile: 2.5,
  events: 6,
  rounds: 3.5,
  epochs: 4,
  proofs: 2,
  claims: 5.5,
  verify: 2,
  audit: 15,
  abuse: 3,
};

const requested = process.argv.slice(2);
const names = requested.length === 0 || requested.includes('all') ? Object.keys(MINUTES) : requested;
const unknown = names.filter((name) => MINUTES[name] === undefined);
if (unknown.length > 0) {
  console.error(`usage: bin/bench [${Object.keys(MINUTES).join('|')}|all]; unknown: ${unknown.join(', ')}`);
  process.exit(2);
}
const minutes = Math.ceil(names.reduce((sum, name) => sum + (MINUTES[name] ?? 0), 0));
console.log(`${names.join(', ')}: about ${minutes} min on two cores, on an otherwise idle machine`);

const figures: Figure[] = [];
for (const name of names) {
  const child = fork(join(import.meta.dirname, `${name}.ts`), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  child.on('message', (figure: Figure) => void figures.push(figure));
  const [code, signal] = await once(child, 'close');
  if (code === 0) continue;
  figures.push({ bench: name, what: `failed: ${signal ?? `exit code ${code}`}`, figure: '–', against: 'see above', ratio: '' });
  process.exitCode = 1;
}
console.log(`\n${table(figures)}`);
