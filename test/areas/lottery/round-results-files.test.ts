import { createPublicKey, verify } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { z } from 'zod';
import { entriesFileId, storeEntriesFile } from '#areas/lottery/entries-file.ts';
import { receiptOf } from '#areas/lottery/receipts.ts';
import { EntryView, KeysView } from '#areas/lottery/results-schemas.ts';
import { canonicalize } from '#lib/canonical.ts';
import { type Entry, entryLeaf, entryLine } from '#lib/draw/entry.ts';
import { parametersHash } from '#lib/draw/parameters.ts';
import { addressOf, chatParameters, entriesOf, legacyParameters, uuidOf } from '#test/lib/draw/rounds.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { type StoredRound, storeRound } from '#test/support/areas/stored-rounds.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { send } from '#test/support/wallet.ts';

let t: TestApp;
const random = randomGenerator(92);
const FOREVER = 'public, max-age=31536000, immutable';
const COMMITTER = addressOf('committer');
const DRAWS = addressOf('draws');
const rounds = new Map<string, StoredRound>();
const round = (name: string): StoredRound => {
  const found = rounds.get(name);
  if (!found) throw new Error(`there is no round ${name}`);
  return found;
};
/** Message ids with characters that could break a line or its JSON. */
const HOSTILE = ['"', '\\', '\\u0041', '\u0001\b\t\n\f\r\u001f', '\u007f\u0080', '\u2028\u2029', '</script>', 'é 🎲 \ufffd', "';--", '{"a":1}'];

beforeAll(async () => {
  t = await startTestApp({ workers: false, env: { COMMITTER_ADDRESS: COMMITTER, DRAWS_ADDRESS: DRAWS, USDC_MINT: addressOf('usdc') } });
  const store = async (name: string, entries: (all: Entry[]) => Entry[], options: Parameters<typeof storeRound>[3]) => {
    const parameters = chatParameters({ round: uuidOf(name) });
    rounds.set(name, await storeRound(t.app, parameters, entries(entriesOf(parameters, 33, 20, random)), options));
  };
  const none = () => [];
  const all = (entries: Entry[]) => entries;
  await store('pending', none, { state: 'pending' });
  await store('active', all, { state: 'active' });
  await store('closing', all, { state: 'closing', tree: false });
  await store('frozen', all, { state: 'closing' });
  await store('committed', all, { state: 'committed' });
  await store('finalized', (entries) => entries.map((entry, i) => ({ ...entry, messageId: HOSTILE[i] ?? entry.messageId })), {});
  await store('empty', none, { state: 'void' });
  const legacy = legacyParameters({ round: uuidOf('tickets') });
  rounds.set('tickets', await storeRound(t.app, legacy, entriesOf(legacy, 11, 4, random)));
});
afterAll(() => t.close());

const pathOf = (name: string) => `${name === 'tickets' ? '' : '/chat'}/round/${round(name).id}`;
const get = (name: string, path: string, init?: RequestInit) => send(t, `${pathOf(name)}/${path}`, init);
const errorOf = async (answer: Response) => z.strictObject({ error: z.string() }).parse(await answer.json()).error;

test('entries are listed in pages, also while more are accepted', async () => {
  for (const name of ['active', 'closing', 'finalized', 'tickets']) {
    const { id, entries, entryId } = round(name);
    const listed = entries.map((entry) => ({ ...entry, id: entryId(entry.index), leaf: entryLeaf(id, entry) }));
    const answer = await get(name, 'entries');
    expect([answer.status, answer.headers.get('x-total-count'), answer.headers.get('cache-control')]).toEqual([
      200,
      String(entries.length),
      'no-cache',
    ]);
    expect(await jsonOf(answer, EntryView.array())).toEqual(listed);
    const page = await get(name, 'entries?limit=3&offset=5');
    expect([page.headers.get('x-total-count'), await page.json()]).toEqual([String(entries.length), listed.slice(5, 8)]);
    expect(await (await get(name, 'entries?offset=1000')).json()).toEqual([]);
    const again = await get(name, 'entries', { headers: { 'If-None-Match': answer.headers.get('etag') ?? '' } });
    expect(again.status).toBe(304);
  }
  expect(await (await get('pending', 'entries')).json()).toEqual([]);
  for (const query of ['limit=501', 'offset=-1', 'format=xml']) expect((await get('active', `entries?${query}`)).status).toBe(400);
});

test('a closed round publishes its entries as NDJSON, and the lines equal the hashed text', async () => {
  for (const name of ['closing', 'frozen', 'committed', 'finalized', 'empty', 'tickets']) {
    const answer = await get(name, 'entries?format=ndjson');
    const cache = ['closing', 'frozen', 'committed'].includes(name) ? 'no-cache' : FOREVER;
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')]).toEqual([200, 'application/x-ndjson', cache]);
    expect(await answer.text()).toBe(
      round(name)
        .entries.map((entry) => `${entryLine(entry)}\n`)
        .join(''),
    );
    const again = await get(name, 'entries?format=ndjson', { headers: { 'If-None-Match': answer.headers.get('etag') ?? '' } });
    expect([again.status, await again.text()]).toEqual([304, '']);
  }
  for (const state of ['pending', 'active']) {
    const early = await get(state, 'entries?format=ndjson');
    expect([early.status, await errorOf(early)]).toEqual([404, expect.stringContaining(`is ${state}; it has published entries when it is closed`)]);
  }
});

test('the audit is available when the entries are frozen and equals the recomputed audit and the leaves of the entries byte for byte', async () => {
  for (const name of ['frozen', 'committed', 'finalized', 'empty', 'tickets']) {
    const answer = await get(name, 'audit');
    const isOver = ['finalized', 'empty', 'tickets'].includes(name);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, isOver ? FOREVER : 'no-cache']);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    const { audit, entries } = round(name);
    const entryHashes = entries.map((entry) => entryLeaf(audit.round, entry));
    expect(await answer.text()).toBe(JSON.stringify({ ...audit, entryHashes }));
    const again = await get(name, 'audit', { headers: { 'If-None-Match': answer.headers.get('etag') ?? '' } });
    expect([again.status, await again.text()]).toEqual([304, '']);
    const head = await get(name, 'audit', { method: 'HEAD' });
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, answer.headers.get('etag'), '']);
  }
  for (const state of ['pending', 'active', 'closing']) {
    const early = await get(state, 'audit');
    expect([early.status, await errorOf(early)]).toEqual([404, expect.stringContaining(`is ${state}; it has an audit when its`)]);
  }
});

test('the audit and the entries of a round with more entries than one query reads are complete, and so is the stored file of its entries', async () => {
  const parameters = chatParameters({ round: uuidOf('large') });
  const { id, audit, entries } = await storeRound(t.app, parameters, entriesOf(parameters, 4_100, 20, random));
  rounds.set('large', { ...round('finalized'), id });
  expect(await (await get('large', 'audit')).json()).toEqual({ ...audit, entryHashes: entries.map((entry) => entryLeaf(id, entry)) });
  const text = entries.map((entry) => `${entryLine(entry)}\n`).join('');
  expect(await (await get('large', 'entries?format=ndjson')).text()).toBe(text);
  const root = audit.entries.root ?? '';
  await storeEntriesFile(t.app, id, root);
  const stored = await t.app.storage.open(entriesFileId(root), { start: 0, end: Buffer.byteLength(text) - 1 });
  expect(Buffer.concat(await Array.fromAsync(stored)).toString()).toBe(text);
});

test('the ETag of a file changes with the round’s state', async () => {
  const tags = await Promise.all(['frozen', 'committed', 'finalized', 'empty'].map(async (name) => (await get(name, 'audit')).headers.get('etag')));
  expect(new Set(tags).size).toBe(4);
});

test('the public keys are published, and a receipt verifies with them', async () => {
  const answer = await send(t, '/.well-known/coinop-keys');
  expect(answer.status).toBe(200);
  const keys = await jsonOf(answer, KeysView);
  const { chainHash, publicKey, urls } = t.app.config.chain.beacon;
  expect(keys).toMatchObject({
    draws: DRAWS,
    drawsProgram: null,
    committer: COMMITTER,
    treasury: null,
    mints: { reward: null, usdc: addressOf('usdc') },
    beacon: { chainHash, publicKey, urls },
  });

  const { id, parameters, entries, entryId } = round('active');
  const [entry] = entries;
  if (!entry) throw new Error('the round has no entry');
  const { draws } = parameters;
  const accepted = { ...entry, id: entryId(0), round: id, draws, parametersHash: parametersHash(parameters), runningHash: 'ab'.repeat(32) };
  const receipt = receiptOf(t.app, accepted);
  // SPKI prefix of an ed25519 public key (RFC 8410).
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), bs58.decode(keys.receiptKey)]);
  const signed = Buffer.from(canonicalize(receipt.statement));
  expect(verify(null, signed, createPublicKey({ key: der, format: 'der', type: 'spki' }), Buffer.from(receipt.signature, 'hex'))).toBe(true);
  expect(receipt.statement.leaf).toBe((await jsonOf(get('active', 'entries?limit=1'), EntryView.array()))[0]?.leaf);
});
