import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { printedLines, type ShellVariable, withoutEarlierLines, writeShellFile } from '#dev/stack/shell-lines.ts';

const folder = mkdtempSync(join(tmpdir(), 'coinop-shell-lines-'));
afterAll(() => rmSync(folder, { recursive: true }));

const variables: ShellVariable[] = [
  { name: 'BASE_URL', value: 'http://localhost:3001', isPrinted: true },
  { name: 'DATABASE_URL', value: 'postgresql://secret@host/x?a=1&b=2', isGiven: true, isPrinted: true },
  { name: 'STATEMENT', value: `Don't pay $5 "now"; \`id\`` },
];

/** Returns the environment of a shell that has sourced a file. */
function sourced(file: string, env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const script = `. "$1"; exec "$2" -p 'JSON.stringify(process.env)'`;
  return JSON.parse(execFileSync('sh', ['-c', script, 'sh', file, process.execPath], { env: { PATH: process.env.PATH, ...env }, encoding: 'utf8' }));
}

test('a shell that sources the file of bin/dev gets every value unchanged, and only the owner can read the file', () => {
  const file = join(folder, 'missing', 'env');
  for (let times = 0; times < 2; times++) writeShellFile(file, variables);
  const env = sourced(file);
  for (const { name, value } of variables) expect(env[name]).toBe(value);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('bin/dev in a shell that sourced the file ignores its own values of the earlier run and keeps the values of the caller', () => {
  const file = join(folder, 'again');
  writeShellFile(file, variables);
  const env = withoutEarlierLines(sourced(file, { PORT: '3100' }));
  expect(env).toMatchObject({ PORT: '3100', DATABASE_URL: 'postgresql://secret@host/x?a=1&b=2' });
  expect(Object.keys(env)).not.toEqual(expect.arrayContaining(['BASE_URL']));
  expect(env.STATEMENT).toBeUndefined();
  expect(withoutEarlierLines({ DATABASE_URL: 'x' })).toEqual({ DATABASE_URL: 'x' });
});

test('the printed lines contain no value that the caller gave', () => {
  expect(printedLines(variables)).toBe('export BASE_URL=http://localhost:3001\n');
});
