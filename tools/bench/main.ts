import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type Figure, table } from './support/report.ts';

/** `bin/bench [name …]`: runs benches one after another, each in a process of its own, and prints the table of all their figures. */
/** About how long each takes on two cores, minutes. */
const BENCHES: Readonly<Record<string, number>> = {
  startup: 1,
  scores: 2.5,
  mixed: 2,
  boards: 4,
  profile: 2.5,
  events: 6,
  rounds: 3.5,
  epochs: 4,
  proofs: 2,
  claims: 5.5,
  audit: 15,
};

const wanted = process.argv.slice(2);
const names = wanted.length === 0 || wanted.includes('all') ? Object.keys(BENCHES) : wanted;
const unknown = names.filter((name) => BENCHES[name] === undefined);
if (unknown.length > 0) {
  console.error(`usage: bin/bench [${Object.keys(BENCHES).join('|')}|all]; there is no ${unknown.join(', ')}`);
  process.exit(2);
}
const minutes = Math.ceil(names.reduce((sum, name) => sum + (BENCHES[name] ?? 0), 0));
console.log(`${names.join(', ')}: about ${minutes} min on two cores, if nothing else runs there`);

const figures: Figure[] = [];
for (const name of names) {
  const child = fork(join(import.meta.dirname, `${name}.ts`), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  child.on('message', (figure: Figure) => void figures.push(figure));
  const [code, signal] = await once(child, 'close');
  if (code === 0) continue;
  figures.push({ bench: name, what: `broke: ${signal ?? `exit code ${code}`}`, figure: '–', against: 'see above', ratio: '' });
  process.exitCode = 1;
}
console.log(`\n${table(figures)}`);
