import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { routes } from '#areas/index.ts';
import { LEDGER_CAUSES } from '#areas/points';
import { eventTypes } from '#areas/registry.ts';
import { readConfig } from '#config';
import { openApi } from '#platform/http/openapi/document.ts';
import { AUDITED_CAUSES } from '#tools/audit/checks/players.ts';
import { GUARDS } from '#tools/audit/guards.ts';
import { NOT_AUDITED } from '#tools/audit/not-audited.ts';
import { REFERENCES } from '#tools/audit/references.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** Returns the text of all TypeScript files below a folder. */
const textOf = (folder: string): string =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => read(join(folder, file)))
    .join('\n');

/** Returns the distinct values of the first group of a pattern in a text, in order. */
const matches = (text: string, pattern: RegExp): string[] => [...new Set([...text.matchAll(pattern)].map(([, value = '']) => value))].sort();

test('the audit knows every cause of points that the service can write, and no other', () => {
  const written = LEDGER_CAUSES.map(({ source, kind, reason }) => `${source} ${kind} ${reason}`);
  expect(AUDITED_CAUSES.map((cause) => cause.join(' ')).sort()).toEqual(written.sort());
});

test('a check of the audit reads every table, or the list of unaudited tables names it with a reason', () => {
  const migrations = textOf('src/platform/db/migrations').replace(/ {2}override down\(\).*?\n {2}\}\n/gs, '');
  const tables = matches(migrations, /\bcreate (?:unlogged )?table (?:if not exists )?(\w+)/g);
  const checks = textOf('tools/audit/checks');
  const audited = new Set([
    ...matches(checks, /\b(?:from|join) (\w+)/g),
    ...REFERENCES.flatMap(({ from, to }) => [from, to]),
    ...GUARDS.map(([table]) => table),
  ]);
  expect(tables.length).toBeGreaterThan(50);
  expect(tables.filter((table) => !audited.has(table) && !(table in NOT_AUDITED))).toEqual([]);
  expect(Object.keys(NOT_AUDITED).filter((table) => audited.has(table) || !tables.includes(table))).toEqual([]);
});

test('every declared event type is registered, described at GET /events and typed in the client', () => {
  const declared = matches(textOf('src/areas'), /\bevent\(\{\s*type: '(\w+)'/g);
  expect(declared).toEqual([...eventTypes.keys()].sort());
  const description = openApi(readConfig({}), Object.values(routes).flat()).paths?.['/events']?.get?.description ?? '';
  expect(declared.filter((type) => !description.includes(`\`${type}\``))).toEqual([]);
  const [, events = ''] = read('packages/client/src/api.ts').split('export interface Events {');
  // `reset` is written by the stream itself and has no outbox rows.
  expect(matches(events.split('\n}\n')[0] ?? '', /^ {2}(\w+): \{/gm)).toEqual([...declared, 'reset'].sort());
});

test('every metric in the code is on the dashboard or in an alert', () => {
  const metrics = matches(['src', 'workers', 'jobs'].map(textOf).join('\n'), /['`]?(coinop_[a-z_]+)(?:'|`|:)/g);
  const used = `${read('ops/grafana/coinop.json')}\n${read('ops/prometheus/alerts.yml')}`;
  expect(metrics.length).toBeGreaterThan(40);
  expect(metrics.filter((name) => !new RegExp(`\\b${name}(?:_bucket|_sum|_count)?\\b`).test(used))).toEqual([]);
});

test('.env.example names only settings that docker-compose.yml uses, and sets every setting that it requires', () => {
  const compose = read('docker-compose.yml');
  const used = [...matches(compose, /^ {2,}([A-Z][A-Z0-9_]*):/gm), ...matches(compose, /\$\{([A-Z0-9_]+)/g), 'COMPOSE_PROFILES'];
  const example = read('.env.example');
  expect(matches(example, /^#?([A-Z][A-Z0-9_]*)=/gm).filter((name) => !used.includes(name))).toEqual([]);
  const required = matches(compose, /\$\{([A-Z0-9_]+):\?/g);
  expect(required.length).toBeGreaterThan(0);
  expect(required.filter((name) => !matches(example, /^([A-Z][A-Z0-9_]*)=/gm).includes(name))).toEqual([]);
});
