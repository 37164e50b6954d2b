import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { refreshDenyList } from '#areas/lottery';
import { parseDenyList } from '#areas/lottery/restrictions/deny-list.ts';
import { denyListGauges } from '#areas/lottery/restrictions/gauges.ts';
import { readConfig } from '#config';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

/** The answer of the source. */
let answer = { status: 200, text: '' };
let source: Server;
let folder: string;
let t: TestApp;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deny-list-'));
  source = createServer((_, response) => void response.writeHead(answer.status, { Location: '/other' }).end(answer.text));
  await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve));
  t = await startTestApp({ workers: false, env: { DENY_LIST: `http://127.0.0.1:${(source.address() as AddressInfo).port}/list?key=secret` } });
});
afterAll(async () => {
  await t?.close();
  source.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => sql(t.app, 'truncate deny_list, denied_wallets'));

const newWallets = (count: number) => Array.from({ length: count }, () => createWallet().address).sort();
const stored = async () =>
  (await sql<{ wallet: string }>(t.app, 'select wallet::text from denied_wallets order by wallet collate "C"')).map(({ wallet }) => wallet);
const load = async (text: string, status = 200) => {
  answer = { status, text };
  await refreshDenyList(t.app);
};
const gauges = async () =>
  Object.fromEntries((await denyListGauges.read(t.app)).map(({ name, value }) => [name.replace('coinop_deny_list_', ''), value]));

test('a deny list has one wallet per line, with comments and empty lines', () => {
  const [a = '', b = ''] = newWallets(2);
  expect(parseDenyList(`# sanctioned\n${a}\r\n\n  ${b}   # since May\n${a}\n`)).toEqual([a, b]);
  expect(() => parseDenyList(`${a}\n0x1234\n`)).toThrow('line 2 of the deny list must be a wallet address');
  expect(() => parseDenyList('# nobody\n')).toThrow('the deny list must have at least one wallet');
});

test('a changed list replaces the stored one and keeps the time at which a wallet was first denied', async () => {
  const [a = '', b = '', c = ''] = newWallets(3);
  await load([a, b].join('\n'));
  const since = await sql(t.app, 'select since from denied_wallets where wallet = $1', [b]);
  await load([b, c].join('\n'));
  expect(await stored()).toEqual([b, c]);
  expect(await sql(t.app, 'select since from denied_wallets where wallet = $1', [b])).toEqual(since);
});

test('after a failure the list that was loaded last stays in force, and its age grows', async () => {
  const wallets = newWallets(2);
  expect(await gauges()).toEqual({ loaded: 0, wallets: 0 });
  await load(wallets.join('\n'));
  expect(await gauges()).toEqual({ loaded: 1, wallets: 2, age_seconds: expect.any(Number) });
  await sql(t.app, `update deny_list set loaded_at = loaded_at - interval '1 hour'`);
  for (const [text, status] of [
    ['', 200],
    ['nobody', 200],
    [newWallets(1).join(), 404],
    [newWallets(1).join(), 302],
    [`# ${'x'.repeat(4_194_304)}\n${newWallets(1)[0]}`, 200],
  ] as const) {
    await load(text, status);
    expect(await stored()).toEqual(wallets);
  }
  expect((await gauges()).age_seconds).toBeGreaterThanOrEqual(3_600);
  await load(wallets.join('\n'));
  expect((await gauges()).age_seconds).toBeLessThan(3_600);
});

test('concurrent loads of a list store it once', async () => {
  answer = { status: 200, text: newWallets(5).join('\n') };
  await Promise.all([1, 2, 3, 4].map(() => refreshDenyList(t.app)));
  expect(await stored()).toEqual(answer.text.split('\n'));
});

test('the stored list is deleted when no deny list is configured', async () => {
  await load(newWallets(2).join('\n'));
  await refreshDenyList({ ...t.app, config: { ...t.app.config, restrictions: { ...t.app.config.restrictions, denyList: null } } });
  expect(await stored()).toEqual([]);
  expect(await gauges()).toEqual({ loaded: 0, wallets: 0 });
});

test('a deny list can be a file', async () => {
  const path = join(folder, 'list');
  const other = await startTestApp({ workers: false, env: { DENY_LIST: path } });
  try {
    await writeFile(path, newWallets(1).join());
    await refreshDenyList(other.app);
    expect(await sql(other.app, 'select wallet from denied_wallets')).toHaveLength(1);
  } finally {
    await other.close();
  }
});

test('a URL with credentials is refused, and production needs https', () => {
  expect(() => readConfig({ DENY_LIST: 'https://user:key@lists.example/wallets' })).toThrow('without credentials');
  expect(readConfig({ DENY_LIST: '/etc/coinop/wallets' }).restrictions.denyList).toBe('/etc/coinop/wallets');
  expect(() => readConfig({ TERMS_VERSION: '1' })).toThrow('TERMS_VERSION and TERMS_URL must be set together');
  expect(readConfig({}).restrictions).toEqual({ denyList: null, terms: null });
});
