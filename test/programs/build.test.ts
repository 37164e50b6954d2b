import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { distributorError } from '#platform/solana/distributor/index.ts';
import { type BuildRecord, compile, compilerVersion, PROGRAM, PROGRAM_SOURCE, recordOf } from '#programs/distributor/build.ts';
import { link, murmur3 } from '#programs/distributor/link.ts';

const SOURCES = join(import.meta.dirname, '../../programs/distributor/src');
const FIXTURES = join(import.meta.dirname, 'fixtures');
const fixtures = readdirSync(FIXTURES).filter((name) => name.endsWith('.c'));
const programs = [
  { name: 'distributor', source: PROGRAM_SOURCE, file: PROGRAM },
  ...fixtures.map((name) => ({ name, source: join(FIXTURES, name), file: join(FIXTURES, `${basename(name, '.c')}.so`) })),
];

const recorded = (file: string): BuildRecord => JSON.parse(readFileSync(`${file}.json`, 'utf8'));
const compiler = compilerVersion();
const sameCompiler = compiler !== null && compiler === recorded(PROGRAM).compiler;

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

describe('the committed program', () => {
  const bytes = readFileSync(PROGRAM);

  test('the program is a small SBPF v3 executable with two segments and no sections', () => {
    expect(bytes.subarray(0, 4).toString('latin1')).toBe('\x7fELF');
    expect(bytes.readUInt32LE(48)).toBe(3); // version
    expect([56, 58, 60, 62].map((at) => bytes.readUInt16LE(at))).toEqual([2, 64, 0, 0]);
    expect(bytes.length).toBeLessThan(20_000);
  });

  test('the error names of the program and the client are equal', () => {
    const text = readFileSync(join(SOURCES, 'errors.h'), 'utf8');
    const body = /typedef enum \{(.*?)\} Result;/s.exec(text)?.[1] ?? '';
    const names = body
      .replaceAll(/\/\/.*/g, '')
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '' && entry !== 'OK = 0');
    expect(names[0]).toBe('BadInstruction = 6000');
    const codes = names.map((name, i) => ({ name: name.replace(' = 6000', ''), code: 6_000 + i }));
    expect(codes.length).toBeGreaterThan(30);
    for (const { name, code } of codes) expect(distributorError(code)?.name).toBe(name);
    for (const code of [-1, 0, 1, 17, 5_999, 6_000 + codes.length]) expect(distributorError(code)).toBeNull();
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
    expect(() => link(readFileSync(PROGRAM))).toThrow(); // already linked
  });
});
