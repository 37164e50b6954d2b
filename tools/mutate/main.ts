import { join, matchesGlob } from 'node:path';
import { parseArgs } from 'node:util';
import { type Supervisor, supervise } from '#dev/stack/supervisor.ts';
import { AREAS, filesOf } from './areas.ts';
import { chooseTests, type MeasuredTest } from './choose-tests.ts';
import { readCoverage } from './coverage.ts';
import { findMutants, type Mutant, sample } from './mutants.ts';
import { describeResult, describes, type Outcome, ResultFile, readEquivalentMutants, report } from './results.ts';
import { type Servers, startServers } from './servers.ts';
import { CHECKOUT, readSource } from './source.ts';
import { runTests } from './test-run.ts';

const USAGE = `usage: bin/mutate AREA [--count 200] [--seed 1] [--files GLOB] [--jobs 1] [--resume | --survivors]
AREA is one of ${Object.keys(AREAS).join(', ')}`;

/** Time limit of a test run without a mutant, ms. */
const BASELINE_TIMEOUT_MS = 300_000;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    files: { type: 'string', default: '**' },
    jobs: { type: 'string', default: '1' },
    resume: { type: 'boolean', default: false },
    survivors: { type: 'boolean', default: false },
  },
});
const [count, seed, jobs] = [Number(options.count), Number(options.seed), Number(options.jobs)];
const [name = ''] = positionals;
const area = AREAS[name];

/** Runs each test file without a mutant. Leaves out the files that fail, because they would kill each mutant. */
async function measureTests(files: readonly string[], { folder, env }: Servers): Promise<MeasuredTest[]> {
  const measured: MeasuredTest[] = [];
  for (const file of files) {
    const coverageFolder = join(folder, 'coverage');
    const runEnv = { ...env, NODE_V8_COVERAGE: coverageFolder };
    const { outcome, failure, ms } = await runTests({ files: [file], folder: join(folder, 'run'), env: runEnv, timeoutMs: BASELINE_TIMEOUT_MS });
    const coverage = readCoverage(coverageFolder);
    if (outcome === 'passed') measured.push({ file, ms, coverage });
    print(
      `${(ms / 1_000).toFixed(1).padStart(6)} s  ${file}${outcome === 'passed' ? '' : ` is left out, because it fails without a mutant: ${failure}`}`,
    );
  }
  return measured;
}

async function testMutant(
  mutant: Mutant,
  code: string,
  tests: readonly MeasuredTest[],
  servers: Servers,
): Promise<{ outcome: Outcome; failure: string; ms: number }> {
  if (tests.length === 0) return { outcome: 'uncovered', failure: '', ms: 0 };
  const timeoutMs = 10_000 + 3 * tests.reduce((sum, { ms }) => sum + ms, 0);
  servers.reportedInvalidSql();
  const run = await runTests({ files: tests.map(({ file }) => file), folder: join(servers.folder, 'run'), env: servers.env, timeoutMs, mutant });
  const { failure, ms } = run;
  const isInvalid = run.outcome !== 'passed' && servers.reportedInvalidSql();
  await servers.clean();
  if (readSource(mutant.path).code !== code) return { outcome: 'changed', failure, ms };
  if (run.outcome === 'passed') return { outcome: 'survived', failure, ms };
  if (isInvalid) return { outcome: 'invalid', failure, ms };
  return { outcome: run.outcome === 'failed' ? 'killed' : 'timed out', failure, ms };
}

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
  const results = new ResultFile(join(CHECKOUT, '.data/mutate'), `${name}-${seed}`);
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
    const tests = await measureTests(testFiles, first);
    if (tests.length === 0) throw new Error('no test file of the area passes without a mutant');
    const codeOf = new Map(sources.map(({ path, code }) => [path, code]));
    const queue = open.values();
    await Promise.all(
      servers.map(async (own) => {
        for (const mutant of queue) {
          const covering = chooseTests(mutant, tests, sourceFiles);
          const result = { ...mutant, ...(await testMutant(mutant, codeOf.get(mutant.path) ?? '', covering, own)) };
          results.add(result);
          print(describeResult(result));
        }
      }),
    );
  }
  print('');
  for (const line of report(
    name,
    chosen.flatMap(({ key }) => results.get(key) ?? []),
  ))
    print(line);
  return 0;
}

if (!area || ![count, seed, jobs].every((n) => Number.isSafeInteger(n) && n >= 0)) {
  print(USAGE);
  process.exit(2);
}
const { sources, tests } = area;
const interruptedCode = (signal: NodeJS.Signals): number => (signal === 'SIGINT' ? 130 : 143);
process.exit(await supervise((stack) => mutate(stack, filesOf(sources), filesOf(tests)), { print, interruptedCode }));
