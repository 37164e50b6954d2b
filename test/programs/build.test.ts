import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { distributorError } from '#platform/solana/distributor/index.ts';
import { drawsError } from '#platform/solana/draws/index.ts';
import { type BuildRecord, compile, compilerVersion, PROGRAMS, recordOf } from '#programs/shared/build.ts';
import { link, murmur3 } from '#programs/shared/link.ts';

const FIXTURES = join(import.meta.dirname, 'fixtures');
const fixtures = readdirSync(FIXTURES).filter((name) => name.endsWith('.c'));
const programs = [
  ...PROGRAMS,
  ...fixtures.map((name) => ({ name, source: join(FIXTURES, name), file: join(FIXTURES, `${basename(name, '.c')}.so`) })),
];

const recorded = (file: string): BuildRecord => JSON.parse(readFileSync(`${file}.json`, 'utf8'));
const compiler = compilerVersion();
const sameCompiler = compiler !== null && programs.every(({ file }) => compiler === recorded(file).compiler);

describe.each(programs)('the committed program $name', ({ source, file }) => {
  test('the hashes of program and sources equal the record of the build', () => {
    const record = recorded(file);
    expect(recordOf(readFileSync(file), source, record.compiler)).toEqual(record);
  });

  // Without the recorded compiler, only the hashes above connect the program to its sources. With it, the program is built again.
  const name = sameCompiler
    ? 'compiling the sources gives the same bytes'
    : `the recorded compiler is clang 19, which is not installed (installed: ${compiler ?? 'none'})`;
  test(name, () => {
    if (sameCompiler) expect(compile(source).equals(readFileSync(file))).toBe(true);
    else expect(recorded(file).compiler).toMatch(/clang version 19\./);
  });
});

const ERRORS = {
  distributor: { errorOf: distributorError, first: 6_000 },
  draws: { errorOf: drawsError, first: 7_000 },
};

describe.each([
  ['distributor', 20_000],
  ['draws', 10_000],
] as const)('the committed program %s', (name, maxBytes) => {
  const { file, source } = PROGRAMS.find((program) => program.name === name) ?? { file: '', source: '' };

  test('the program is a small SBPF v3 executable with two segments and no sections', () => {
    const bytes = readFileSync(file);
    expect(bytes.subarray(0, 4).toString('latin1')).toBe('\x7fELF');
    expect(bytes.readUInt32LE(48)).toBe(3); // version
    expect([56, 58, 60, 62].map((at) => bytes.readUInt16LE(at))).toEqual([2, 64, 0, 0]);
    expect(bytes.length).toBeLessThan(maxBytes);
  });

  test('the error names of the program and the client are equal', () => {
    const { errorOf, first } = ERRORS[name];
    const text = readFileSync(join(dirname(source), 'errors.h'), 'utf8');
    const body = /typedef enum \{(.*?)\} Result;/s.exec(text)?.[1] ?? '';
    const names = body
      .replaceAll(/\/\/.*/g, '')
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '' && entry !== 'OK = 0');
    expect(names[0]).toBe(`BadInstruction = ${first}`);
    const codes = names.map((entry, i) => ({ name: entry.replace(` = ${first}`, ''), code: first + i }));
    expect(codes.length).toBeGreaterThanOrEqual(20);
    for (const error of codes) expect(errorOf(error.code)?.name).toBe(error.name);
    for (const code of [-1, 0, 1, 17, first - 1, first + codes.length]) expect(errorOf(code)).toBeNull();
  });
});

describe('the linker', () => {
  test('murmur3 returns the hashes by which the runtime identifies system calls', () => {
    expect(murmur3('abort').toString(16)).toBe('b6fc1a11');
    expect(murmur3('sol_log_').toString(16)).toBe('207559bd');
    expect(murmur3('sol_sha256').toString(16)).toBe('11f49d86');
  });

  test('link throws for a file that is not an object file', () => {
    expect(() => link(Buffer.alloc(64))).toThrow();
    for (const { file } of PROGRAMS) expect(() => link(readFileSync(file))).toThrow(); // already linked
  });
});
