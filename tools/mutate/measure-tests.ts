import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { filesOf } from './areas.ts';
import { Coverage, readCoverage, type StoredCoverage } from './coverage.ts';
import type { Servers } from './servers.ts';
import { CHECKOUT } from './source.ts';
import { runTests } from './test-run.ts';

/** A test file that passes without a mutant. */
export interface MeasuredTest {
  readonly file: string;
  readonly ms: number;
  readonly coverage: Coverage;
}

interface StoredTest {
  /** Hash of the test file and of all files that it may import. */
  readonly hash: string;
  readonly ms: number;
  readonly coverage: StoredCoverage;
}

interface MeasureOptions {
  readonly files: readonly string[];
  /** The sources of the area, relative to the checkout. */
  readonly sources: readonly string[];
  readonly servers: Servers;
  /** File that keeps the measurements, so that a later run does not repeat them. */
  readonly cacheFile: string;
  readonly print: (line: string) => void;
}

/** Time limit of a test run without a mutant, ms. */
const TIMEOUT_MS = 300_000;

/** Files that a test may import. */
const IMPORTED = ['src/**/*.ts', 'jobs/**/*.ts', 'workers/**/*.ts', 'test/support/**/*.ts', 'package-lock.json'];

/** Runs each test file without a mutant. Leaves out the files that fail twice, because they would kill each mutant. */
export async function measureTests({ files, sources, servers, cacheFile, print }: MeasureOptions): Promise<MeasuredTest[]> {
  const stored: Record<string, StoredTest> = existsSync(cacheFile) ? JSON.parse(readFileSync(cacheFile, 'utf8')) : {};
  const imported = hashOf(filesOf(IMPORTED));
  const measured: MeasuredTest[] = [];
  for (const file of files) {
    const hash = imported + hashOf([file]);
    const known = stored[file];
    if (known?.hash === hash) {
      measured.push({ file, ms: known.ms, coverage: new Coverage(known.coverage) });
      continue;
    }
    const { test, failure } = await measure(file, sources, servers);
    print(test ? `${(test.ms / 1_000).toFixed(1).padStart(6)} s  ${file}` : `${file} is left out, because it fails without a mutant: ${failure}`);
    if (!test) continue;
    measured.push(test);
    stored[file] = { hash, ms: test.ms, coverage: test.coverage.toJSON() };
    mkdirSync(dirname(cacheFile), { recursive: true });
    writeFileSync(cacheFile, JSON.stringify(stored));
  }
  return measured;
}

/** Runs a test file, and again when it fails, because tests can fail on a loaded machine. */
async function measure(
  file: string,
  sources: readonly string[],
  servers: Servers,
  isSecond = false,
): Promise<{ test: MeasuredTest | null; failure: string }> {
  const { folder, env } = servers;
  const coverageFolder = join(folder, 'coverage');
  const run = await runTests({
    files: [{ file, timeoutMs: TIMEOUT_MS }],
    folder: join(folder, 'run'),
    env: { ...env, NODE_V8_COVERAGE: coverageFolder },
  });
  const coverage = readCoverage(coverageFolder, sources);
  if (run.outcome === 'passed') return { test: { file, ms: run.ms, coverage }, failure: '' };
  return isSecond ? { test: null, failure: run.failure } : await measure(file, sources, servers, true);
}

function hashOf(files: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(join(CHECKOUT, file)));
  return hash.digest('hex').slice(0, 16);
}
