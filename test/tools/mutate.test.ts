import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { AREAS, filesOf } from '#tools/mutate/areas.ts';
import { chooseTests, KillHistory } from '#tools/mutate/choose-tests.ts';
import { Coverage, readCoverage } from '#tools/mutate/coverage.ts';
import { applyEdit, findMutants, type Mutant, sample } from '#tools/mutate/mutants.ts';
import { describes, type Outcome, readEquivalentMutants, report } from '#tools/mutate/results.ts';
import { CHECKOUT, parseSource, readSource } from '#tools/mutate/source.ts';
import { runTests } from '#tools/mutate/test-run.ts';

/** Returns each mutant of a text as "line: original → replacement". */
const mutantsOf = (text: string): string[] =>
  findMutants(parseSource('fixture.ts', text)).map(({ line, original, replacement }) => `${line}: ${original} → ${replacement}`);

test('expressions have mutants of their operators, numbers, fallbacks and calls', () => {
  expect(mutantsOf('const a: boolean = (b as number) <= 10;')).toEqual(['1: <= → <', '1: 10 → 9', '1: 10 → 11']);
  expect(mutantsOf('const a = b && !c;')).toEqual(['1: && → ||', '1: ! → ']);
  expect(mutantsOf('const a = b ?? c;')).toEqual(['1:  ?? c → ']);
  expect(mutantsOf('const a = b ? 2n : false;')).toEqual(['1: b → !(b)', '1: 2n → 1n', '1: 2n → 3n', '1: false → true']);
  expect(mutantsOf('const a = Math.max(b, c);')).toEqual(['1: max → min']);
  expect(mutantsOf('const a = [...b].sort(c);')).toEqual(['1: [...b] → []', '1: .sort(c) → ']);
  expect(mutantsOf("query.where('at', '<', to).orderBy('at', 'desc');")).toEqual([
    "1: query.where('at', '<', to).orderBy('at', 'desc'); → ;",
    "1: '<' → '<='",
    "1: 'desc' → 'asc'",
  ]);
});

test('statements are removed, negated, left early or started without waiting', () => {
  expect(mutantsOf('await save();')).toEqual(['1: await  → void ', '1: await save(); → ;']);
  expect(mutantsOf('function f(a) {\n  if (a) return;\n  count += a;\n}')).toEqual([
    '2: if (a) return; → ;',
    '2: a → !(a)',
    '3: count += a; → ;',
    '3: += → -=',
  ]);
  expect(mutantsOf('function f() { return g(); }')).toEqual(['1: g() → null']);
  expect(mutantsOf('function f(a) { for (const b of a) { if (b) return; else continue; } }')).toEqual([
    '1: b → !(b)',
    '1: return; → break;',
    '1: return; → continue;',
    '1: continue; → break;',
  ]);
});

test('SQL has mutants of its operators, words, limits and clauses, and none in comments, texts or between', () => {
  const sql = `statement('s', \`select max(points) from t -- not a mutant
    where at >= $1 and not done and kind = 'a and b' and n between 1 and 2
    order by at desc limit 5 for update skip locked\`);`;
  expect(mutantsOf(sql).slice(1)).toEqual([
    '1: max → min',
    '2: >= → >',
    '2: and → or',
    '2: not → ',
    '2: and → or',
    '2: and → or',
    '2: 1 → 0',
    '2: 1 → 2',
    '2: 2 → 1',
    '2: 2 → 3',
    '3: order by at desc  → ',
    '3: desc → asc',
    '3: 5 → 4',
    '3: 5 → 6',
    '3: for update skip locked → ',
  ]);
  expect(mutantsOf("const s = 'insert into t values ($1) on conflict do nothing';")).toEqual(['1: on conflict do nothing → ']);
});

test('log messages, imports, texts for the OpenAPI document and checks without an effect on results have no mutants', () => {
  expect(mutantsOf("import a from './a.ts';\nlog.warn({ n: 1 }, 'late');")).toEqual([]);
  expect(mutantsOf('const a = z.int().min(3).meta({ example: 7 });')).toEqual(['1: 3 → 2', '1: 3 → 4']);
  expect(mutantsOf('function f(a) { if (a.length === 0) return []; }')).toEqual([
    '1: a.length === 0 → !(a.length === 0)',
    '1: === → !==',
    '1: 0 → 1',
  ]);
  expect(mutantsOf('const TIMEOUT_MS = 5_000;')).toEqual([]);
  expect(mutantsOf('await tx.query(a);')).toEqual(['1: await tx.query(a); → ;']);
  expect(mutantsOf("if (!row) throw new Error('the row is missing');")).toEqual([]);
  expect(mutantsOf('const [a = 0] = list;\nconst b = list[i] ?? 0;\nconst c = list[i]?.size ?? 0;')).toEqual([]);
});

test('offsets of mutants are offsets in the file with types, after characters of any width', () => {
  const text = "const label: string = 'Ünïcode 🎲';\nexport const isOver = (a: number, b: Map<string, number>): boolean => a > b.size;\n";
  const [mutant] = findMutants(parseSource('fixture.ts', text));
  expect(mutant && applyEdit(text, mutant)).toBe(text.replace('a > b', 'a >= b'));
});

test('a seed chooses the same mutants after another line was added', () => {
  const text = Array.from({ length: 30 }, (_, i) => `const a${i} = b${i} < c${i};`).join('\n');
  const keysOf = (source: string) => sample(findMutants(parseSource('fixture.ts', source)), 5, 7).map(({ key }) => key);
  expect(keysOf(`// A comment.\n${text}`)).toEqual(keysOf(text));
});

test('the score is the share of killed mutants, without invalid SQL', () => {
  const result = (outcome: Outcome) => ({
    key: outcome,
    path: 'a.ts',
    line: 1,
    original: '<',
    replacement: '<=',
    context: 'a < b',
    outcome,
    failure: '',
    passed: [],
    ms: 1,
  });
  const outcomes = ['killed', 'killed', 'timed out', 'survived', 'uncovered', 'invalid'] as const;
  const controls = (['passed', 'failed', 'passed'] as const).map((control) => ({ control, failure: '' }));
  const lines = report('lib', outcomes.map(result), controls);
  expect(lines).toHaveLength(4);
  expect(lines[0]).toBe('survived  a.ts:1  < → <=  in: a < b');
  expect(lines[2]).toMatch(/3 killed \(1 by the time limit\), 2 survived \(1 not covered\), 1 invalid SQL, .* score 60\.0 %/);
  expect(lines[3]).toBe('1 of 3 controls failed');
});

test('each reviewed equivalent mutant exists in the sources', () => {
  const mutants = new Map<string, Mutant[]>();
  const mutantsIn = (path: string) => mutants.get(path) ?? mutants.set(path, findMutants(readSource(path))).get(path) ?? [];
  const missing = readEquivalentMutants().filter((entry) => !mutantsIn(entry.path).some((mutant) => describes(entry, mutant)));
  expect(missing).toEqual([]);
});

test('a reviewed equivalent mutant with a number describes one of several equal mutants of its line', () => {
  const entry = { path: 'a.ts', context: 'rows[0] ?? 0', original: '0', replacement: '1', reason: 'a test' };
  const described = (nth?: number) => [1, 2].map((n) => describes({ ...entry, ...(nth === undefined ? {} : { nth }) }, { ...entry, nth: n }));
  expect([described(), described(2)]).toEqual([
    [true, true],
    [false, true],
  ]);
});

test('each area has sources and tests', () => {
  for (const [area, { sources, tests }] of Object.entries(AREAS))
    expect({ area, empty: [sources, tests].filter((one) => filesOf(one).length === 0) }).toEqual({ area, empty: [] });
});

const SOURCE = 'src/lib/ranking.ts';
const TEST = 'test/lib/ranking.test.ts';
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'coinop-mutate-test-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const runWith = (mutant: Mutant, timeoutMs = 30_000) => runTests({ files: [{ file: TEST, timeoutMs }], folder, env: {}, mutant });

function mutantIn(context: string, original: string): Mutant {
  const found = findMutants(readSource(SOURCE)).find((mutant) => mutant.context.includes(context) && mutant.original === original);
  if (!found) throw new Error(`${SOURCE} has no mutant of ${original} in ${context}`);
  return found;
}

test('a killed mutant, a survivor and an endless mutant are told apart', async () => {
  const mutant = mutantIn('rank = offset + i + 1', '!==');
  expect(await runWith(mutant)).toMatchObject({
    outcome: 'failed',
    failure: `${TEST}: ties share a rank and the next rank is skipped`,
    isUncertain: false,
  });
  expect(await runWith({ ...mutant, replacement: mutant.original })).toMatchObject({ outcome: 'passed', passed: [TEST], failure: '' });
  expect(await runWith({ ...mutant, replacement: '!== (() => { for (;;); })() ||' }, 1_500)).toMatchObject({
    outcome: 'timed out',
    isUncertain: true,
  });
});

test('only the test files that execute the code of a mutant are chosen', async () => {
  const coverageFolder = join(folder, 'coverage');
  const run = await runTests({ files: [{ file: TEST, timeoutMs: 30_000 }], folder, env: { NODE_V8_COVERAGE: coverageFolder } });
  expect(run.outcome).toBe('passed');
  const tests = [{ file: TEST, ms: run.ms, coverage: readCoverage(coverageFolder, [SOURCE]) }];
  const options = { tests, sources: [SOURCE], history: new KillHistory(), maxTotalMs: 1 };
  const mutant = mutantIn('rank = offset + i + 1', '!==');
  expect(chooseTests(mutant, options)).toEqual(tests);
  expect(chooseTests({ ...mutant, path: 'src/lib/periods.ts' }, options)).toEqual([]);
});

test('the test file that killed most mutants of a source file per second runs first', () => {
  const coverage = new Coverage([[pathToFileURL(join(CHECKOUT, SOURCE)).href, [[{ startOffset: 0, endOffset: 100_000, count: 1 }]]]]);
  const tests = [
    { file: 'quick.test.ts', ms: 1_000, coverage },
    { file: 'slow.test.ts', ms: 3_000, coverage },
  ];
  const history = new KillHistory();
  const mutant = mutantIn('rank = offset + i + 1', '!==');
  const order = (maxTotalMs = 10_000) => chooseTests(mutant, { tests, sources: [SOURCE], history, maxTotalMs }).map(({ file }) => file);
  expect(order()).toEqual(['quick.test.ts', 'slow.test.ts']);
  expect(order(3_999)).toEqual(['quick.test.ts']);
  for (let n = 0; n < 5; n++) history.add({ path: SOURCE, passed: ['quick.test.ts'], failure: 'slow.test.ts: a test' });
  expect(order()).toEqual(['slow.test.ts', 'quick.test.ts']);
});
