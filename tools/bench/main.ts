import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { COMPARED_RUNS, compare, isPeer, type RunBenchmark } from './comparison/compare.ts';
import { GO, PASS, Turns } from './comparison/turns.ts';
import { type Figure, table } from './support/report.ts';

/** Approximate duration of each benchmark on two cores, minutes. Each benchmark runs in its own process. */
const MINUTES: Readonly<Record<string, number>> = {
  startup: 1,
  scores: 3.5,
  replays: 1,
  mixed: 2,
  boards: 4,
  profile: 2.5,
  events: 7,
  rounds: 3.5,
  epochs: 4,
  proofs: 2,
  claims: 8,
  verify: 2,
  audit: 15,
  growth: 30,
  abuse: 3,
  neighbours: 4,
};

const [first, ...others] = process.argv.slice(2);
const ref = first === 'compare' ? others[0] : undefined;
const requested = first === 'compare' ? others.slice(1) : process.argv.slice(2);
const names = requested.length === 0 || requested.includes('all') ? Object.keys(MINUTES) : requested;
/** The benchmarks that other servers can be measured with, in tools/bench/peers. */
const PEER_BENCHMARKS: readonly string[] = ['scores'];
const comparesPeer = ref !== undefined && isPeer(ref);
const unknown = names.filter((name) => MINUTES[name] === undefined || (comparesPeer && !PEER_BENCHMARKS.includes(name)));
if (unknown.length > 0 || (first === 'compare' && (ref === undefined || requested.length === 0))) {
  const list = `${Object.keys(MINUTES).join('|')}|all`;
  console.error(
    `usage: bin/bench [${list}], or bin/bench compare COMMIT BENCHMARK..., or bin/bench compare URL ${PEER_BENCHMARKS.join('|')}${unknown.length > 0 ? `; unknown: ${unknown.join(', ')}` : ''}`,
  );
  process.exit(2);
}
const minutes = Math.ceil(names.reduce((sum, name) => sum + (MINUTES[name] ?? 0), 0)) * (ref === undefined ? 1 : 2 * COMPARED_RUNS);
console.log(`${names.join(', ')}: about ${minutes} min on two cores, on an otherwise idle machine`);

/** Runs a benchmark in a process of its own when it has the turn. Sets the exit code of this process when the benchmark fails. */
const run: RunBenchmark = async (name, { env = {}, turns = new Turns(), label } = {}) => {
  const figures: Figure[] = [];
  let hasTurn = false;
  const takeTurn = async () => {
    await turns.take();
    hasTurn = true;
    if (label !== undefined) console.log(`turn of ${label}`);
  };
  const passTurn = () => {
    hasTurn = false;
    turns.pass();
  };
  await takeTurn();
  const program = join(import.meta.dirname, env.PEER_URL === undefined ? '' : 'peers', `${name}.ts`);
  const child = fork(program, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], env: { ...process.env, ...env } });
  child.on('message', async (message: Figure | typeof PASS) => {
    if (message !== PASS) return void figures.push(message);
    passTurn();
    await takeTurn();
    // A process that ended while it waited needs no turn.
    if (child.connected) child.send(GO);
    else passTurn();
  });
  const [code, signal] = await once(child, 'close');
  if (hasTurn) passTurn();
  if (code === 0) return figures;
  process.exitCode = 1;
  return [
    ...figures,
    { bench: name, what: `failed: ${signal ?? `exit code ${code}`}`, figure: '–', value: Number.NaN, against: 'see above', ratio: '' },
  ];
};

const figures: Figure[] = [];
if (ref === undefined) for (const name of names) figures.push(...(await run(name)));
else figures.push(...(await compare(ref, names, run)));
console.log(`\n${table(figures)}`);
