import { join, matchesGlob } from 'node:path';
import { parseArgs } from 'node:util';
import { type Supervisor, supervise } from '#dev/stack/supervisor.ts';
import { AREAS, filesOf, testsOf } from './areas.ts';
import { chooseTests, KillHistory } from './choose-tests.ts';
import { measureTests } from './measure-tests.ts';
import { findMutants, type Mutant, sample } from './mutants.ts';
import { describeResult, describes, type Outcome, ResultFile, readEquivalentMutants, report } from './results.ts';
import { startServers } from './servers.ts';
import { CHECKOUT, readSource } from './source.ts';
import { runControl, testMutant } from './test-mutant.ts';

const USAGE = `usage: bin/mutate AREA [--count 200] [--seed 1] [--files GLOB] [--jobs 1] [--seconds 40] [--resume | --survivors]
AREA is one of ${Object.keys(AREAS).join(', ')}`;

/** One control follows this number of kills. */
const KILLS_PER_CONTROL = 25;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    files: { type: 'string', default: '**' },
    jobs: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '40' },
    resume: { type: 'boolean', default: false },
    survivors: { type: 'boolean', default: false },
  },
});
const [count, seed, jobs, seconds] = [Number(options.count), Number(options.seed), Number(options.jobs), Number(options.seconds)];
const [name = ''] = positionals;
const area = AREAS[name];

async function mutate(stack: Supervisor, sourceFiles: readonly string[], testFiles: readonly string[]): Promise<number> {
  const sources = sourceFiles.map(readSource);
  const equivalent = readEquivalentMutants();
  const isEquivalent = (mutant: Mutant) => equivalent.some((entry) => describes(entry, mutant));
  const candidates = sources.filter(({ path }) => matchesGlob(path, options.files)).flatMap(findMutants);
  const chosen = sample(
    candidates.filter((mutant) => !isEquivalent(mutant)),
    count,
    seed,
  );
  const folder = join(CHECKOUT, '.data/mutate');
  const results = new ResultFile(folder, `${name}-${seed}`);
  const isSettled = options.survivors
    ? (outcome: Outcome) => outcome !== 'survived' && outcome !== 'uncovered' && outcome !== 'changed'
    : () => options.resume;
  results.load(({ outcome }) => isSettled(outcome));
  const open = chosen.filter(({ key }) => !results.get(key));
  print(`${candidates.length} mutants in ${sources.length} files; ${open.length} of ${chosen.length} to test`);

  if (open.length > 0) {
    const servers = await Promise.all(Array.from({ length: jobs }, () => startServers(stack)));
    const [first] = servers;
    if (!first) throw new Error('--jobs must be at least 1');
    const cacheFile = join(folder, `${name.replaceAll('/', '-')}-tests.json`);
    const tests = await measureTests({ files: testFiles, sources: sourceFiles, servers: first, cacheFile, print });
    if (tests.length === 0) throw new Error('no test file of the area passes without a mutant');
    const codeOf = new Map(sources.map(({ path, code }) => [path, code]));
    const history = new KillHistory();
    for (const { key } of chosen) history.add(results.get(key) ?? { path: '', passed: [], failure: '' });
    const queue = open.values();
    let kills = 0;
    await Promise.all(
      servers.map(async (own) => {
        for (const mutant of queue) {
          const covering = chooseTests(mutant, { tests, sources: sourceFiles, history, maxTotalMs: seconds * 1_000 });
          const result = { ...mutant, ...(await testMutant(mutant, codeOf.get(mutant.path) ?? '', covering, own)) };
          results.add(result);
          history.add(result);
          print(`${(result.ms / 1_000).toFixed(1).padStart(5)} s  ${describeResult(result)}`);
          if (result.outcome === 'killed' && kills++ % KILLS_PER_CONTROL === 0) results.addControl(await runControl(result, covering, own));
        }
      }),
    );
  }
  print('');
  for (const line of report(
    name,
    chosen.flatMap(({ key }) => results.get(key) ?? []),
    results.controls,
  ))
    print(line);
  return 0;
}

if (!area || ![count, seed, jobs, seconds].every((n) => Number.isSafeInteger(n) && n >= 0)) {
  print(USAGE);
  process.exit(2);
}
const interruptedCode = (signal: NodeJS.Signals): number => (signal === 'SIGINT' ? 130 : 143);
process.exit(await supervise((stack) => mutate(stack, filesOf(area.sources), testsOf(area)), { print, interruptedCode }));
