import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readConfig } from '#config';
import { actionsPage } from '#tools/docs/actions.ts';
import { withScaleTable } from '#tools/docs/scale.ts';

const root = join(import.meta.dirname, '../..');

test('every point of the document on security names tests, and those are there', () => {
  const points = readFileSync(join(root, 'docs/security.md'), 'utf8').matchAll(/^\| \*\*(API\d+)\*\* .*\|([^|]+)\|$/gm);
  const named = [...points].map(([, point, cell = '']) => ({ point, tests: [...cell.matchAll(/`([\w/-]+)`/g)].map(([, name]) => name) }));
  expect(named.map(({ point }) => point)).toEqual(Array.from({ length: 10 }, (_, i) => `API${i + 1}`));
  expect(named.filter(({ tests }) => tests.length === 0)).toEqual([]);
  const missing = named.flatMap(({ tests }) => tests).filter((name) => !existsSync(join(root, 'test', `${name}.test.ts`)));
  expect(missing).toEqual([]);
});

test('the scripts in bin name only test files and folders that exist', () => {
  const scripts = readdirSync(join(root, 'bin')).map((name) => readFileSync(join(root, 'bin', name), 'utf8'));
  const named = scripts.flatMap((text) => [...text.matchAll(/(?<![\w/$}])test\/[\w/.-]+/g)].map(([path]) => path));
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('docs/operations.md lists every setting that a process reads, and no other', () => {
  const read = new Set<string>();
  readConfig(new Proxy({}, { get: (_env, name) => void read.add(String(name)) }));
  const settings = readFileSync(join(root, 'docs/operations.md'), 'utf8').split('## Settings')[1] ?? '';
  const listed = new Set(
    [...settings.matchAll(/^\|([^|]+)\|/gm)].flatMap(([, cell = '']) => [...cell.matchAll(/`([A-Z0-9_]+\*?)`/g)].map(([, name = '']) => name)),
  );
  const isListed = (name: string) =>
    listed.has(name) || [...listed].some((pattern) => pattern.endsWith('*') && name.startsWith(pattern.slice(0, -1)));
  // NODE_ENV is a convention of Node.
  expect([...read].filter((name) => name !== 'NODE_ENV' && !isListed(name))).toEqual([]);
  expect([...listed].filter((name) => !name.endsWith('*') && !read.has(name))).toEqual([]);
});

test('docs/architecture.md names every table that the migrations create, and no other', () => {
  const folder = join(root, 'src/platform/db/migrations');
  const upOf = (migration: string) => migration.replace(/ {2}override down\(\).*?\n {2}\}\n/s, '');
  const text = readdirSync(folder)
    .map((file) => upOf(readFileSync(join(folder, file), 'utf8')))
    .join('\n');
  const dropped = new Set([...text.matchAll(/\bdrop table (?:if exists )?(\w+)/g)].map(([, name]) => name));
  const created = [...text.matchAll(/\bcreate table (?:if not exists )?(\w+)/g)].map(([, name = '']) => name).filter((name) => !dropped.has(name));
  const rows = readFileSync(join(root, 'docs/architecture.md'), 'utf8').matchAll(/^\| [\w, ]+\|([^|]*`[^|]*)\|$/gm);
  const named = [...rows].flatMap(([, cell = '']) => [...cell.matchAll(/`([\w*]+)`/g)].map(([, name = '']) => name));
  const isNamed = (table: string) => named.some((name) => (name.endsWith('*') ? table.startsWith(name.slice(0, -1)) : table === name));
  expect(created.filter((table) => !isNamed(table))).toEqual([]);
  expect(named.filter((name) => !name.endsWith('*') && !created.includes(name))).toEqual([]);
});

test('docs/operator-actions.md has the present request for every action of operators', () => {
  expect(readFileSync(join(root, 'docs/operator-actions.md'), 'utf8')).toBe(actionsPage());
});

test('docs/scale.md has the table that is computed from the measured costs', () => {
  const page = readFileSync(join(root, 'docs/scale.md'), 'utf8');
  expect(page).toBe(withScaleTable(page));
});
