import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { deleteRequestedAccounts } from '#areas/privacy';
import { linkAccount } from '#areas/social';
import { canonicalize } from '#lib/canonical.ts';
import { ADMIN_TOKEN, startTestApp, type TestApp } from '#test/support/app.ts';
import { playAndScore, registerGame, requestAsAdmin } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import { entriesOf, openRound, sendMessage } from '#test/support/areas/chat.ts';
import { GAME, uploadClip } from '#test/support/areas/clips.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { NEW_ID } from '#test/support/database.ts';
import { createWallet, type SignedIn, signIn, type TestWallet } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp();
  await registerGame(t.url, ADMIN_TOKEN, GAME);
});
afterAll(() => t.close());

interface Stored {
  clip: string;
  message: string;
  record: string;
}
/** Makes a wallet store one row of each kind that can be erased. */
async function storeOfEach(player: SignedIn): Promise<Stored> {
  const { id: clip } = await uploadClip(player);
  const { body: said } = await sendMessage(player, 'my telephone number is 555-0100');
  const receipts = [];
  for (const level of [1, 2, 3]) {
    const response = await player.fetch(`/game/${GAME}/record`, { json: { level, name: 'Ada' } });
    receipts.push((await response.json()) as { recordId: string });
  }
  expect((await player.fetch(`/game/${GAME}/state`, { method: 'PUT', json: { name: 'Ada' } })).status).toBe(200);
  const accountId = randomUUID();
  await t.app.tx((tx) => linkAccount(tx, { platform: 'twitch', accountId, handle: 'ada', wallet: player.wallet }));
  return { clip, message: said.messageId, record: receipts[1]?.recordId ?? '' };
}
const rows = async (text: string, values: unknown[]) => await sql<Record<string, unknown>>(t.app, text, values);
const erase = async (json: Record<string, unknown>) => {
  const response = await requestAsAdmin(t, '/admin/erasures', json);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

interface RecordView {
  salt: string | null;
  record: unknown;
  hash: string;
  previousHash: string;
  contentHash: string;
}
const sha256 = (...parts: readonly (Buffer | string)[]) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex');
/** Verifies a hash chain of records as a stranger does. @returns the number of records with a content */
function verifyChain(newestFirst: readonly RecordView[]): number {
  let previous = '00'.repeat(32);
  let contents = 0;
  for (const one of newestFirst.toReversed()) {
    expect(one.previousHash).toBe(previous);
    expect(one.hash).toBe(sha256(Buffer.from(previous, 'hex'), Buffer.from(one.contentHash, 'hex')));
    if (one.salt !== null) {
      expect(one.contentHash).toBe(sha256(Buffer.from(one.salt, 'hex'), canonicalize(one.record)));
      contents += 1;
    }
    previous = one.hash;
  }
  return contents;
}
const recordsOf = async (player: SignedIn) => (await (await player.fetch(`/game/${GAME}/records`)).json()) as RecordView[];

describe('POST /admin/erasures', () => {
  test('erases a record, and its hash chain still verifies', async () => {
    const player = await signIn(t);
    const { record } = await storeOfEach(player);
    for (const _time of ['first', 'again']) expect((await erase({ kind: 'record', id: record, reason: 'request 1' })).status).toBe(201);
    const records = await recordsOf(player);
    expect([records.length, verifyChain(records)]).toEqual([3, 2]);
    expect(records[1]).toMatchObject({ salt: null, record: null });
    expect(await rows('select erased_by, reason from game_record_erasures where record_id = $1', [record])).toEqual([
      { erased_by: 'admin-1', reason: 'request 1' },
    ]);
  });

  test('erases a message that made an entry, and the leaf of the entry stays the same', async () => {
    const round = await openRound(t);
    const player = await signIn(t);
    const { body: said } = await sendMessage(player, '!enter');
    const before = await entriesOf(t.app, round);
    const { status, body } = await erase({ kind: 'chat', id: said.messageId, reason: 'request 2' });
    expect([status, body]).toMatchObject([201, { kind: 'chat', id: said.messageId, reason: 'request 2', by: 'admin-1' }]);
    expect(await entriesOf(t.app, round)).toEqual(before);
    expect(await rows('select text from chat_messages where id = $1', [said.messageId])).toEqual([{ text: '' }]);
  });

  test('erases a clip with its file, a state, and names', async () => {
    const player = await signIn(t);
    const { clip } = await storeOfEach(player);
    expect((await erase({ kind: 'clip', id: clip, reason: 'request 3' })).status).toBe(201);
    expect((await fetch(`${t.url}/clips/${clip}`)).status).toBe(404);
    await retryUntilPass(async () =>
      expect(await rows('select state, title from clips where id = $1', [clip])).toEqual([{ state: 'removed', title: null }]),
    );
    expect((await erase({ kind: 'state', id: `${player.wallet}/${GAME}`, reason: 'request 3' })).status).toBe(201);
    expect(await (await player.fetch(`/game/${GAME}/state`)).json()).toMatchObject({ state: null });
    expect((await erase({ kind: 'name', id: player.wallet, reason: 'request 3' })).status).toBe(201);
    expect(await rows('select handle from linked_accounts where wallet = $1', [player.wallet])).toEqual([]);
    const list = (await (await requestAsAdmin(t, '/admin/erasures?limit=3')).json()) as { kind: string }[];
    expect(list.map(({ kind }) => kind)).toEqual(['name', 'state', 'clip']);
  });

  test('answers 404 for content that does not exist, and 400 for a malformed id', async () => {
    for (const [kind, id] of [
      ['record', randomUUID()],
      ['clip', randomUUID()],
      ['chat', randomUUID()],
      ['state', `${createWallet().address}/${GAME}`],
      ['name', createWallet().address],
    ]) {
      expect([kind, (await erase({ kind, id, reason: 'request 4' })).status]).toEqual([kind, 404]);
      expect([kind, (await erase({ kind, id: 'nonsense', reason: 'request 4' })).status]).toEqual([kind, 400]);
    }
  });

  test('needs the scope moderation', async () => {
    const player = await signIn(t);
    expect((await player.fetch('/admin/erasures', { json: { kind: 'clip', id: randomUUID(), reason: 'x' } })).status).toBe(403);
  });
});

async function exported(player: SignedIn) {
  const response = await player.fetch('/me/export');
  expect([response.status, response.headers.get('Content-Type')]).toEqual([200, 'application/x-ndjson']);
  const lines = (await response.text()).trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as { table: string; row: Record<string, unknown> });
}

describe('GET /me/export', () => {
  test('contains the rows of the wallet, and neither secrets nor rows of others', async () => {
    const [player, other] = [await signIn(t), await signIn(t)];
    const { clip, message } = await storeOfEach(player);
    await storeOfEach(other);
    await playAndScore(player, GAME, 2_000);
    const lines = await exported(player);
    const of = (table: string) => lines.filter((line) => line.table === table).map(({ row }) => row);
    expect(of('players')).toMatchObject([{ wallet: player.wallet }]);
    expect(of('clips')).toMatchObject([{ id: clip }]);
    expect(of('chat_messages')).toMatchObject([{ id: message, text: 'my telephone number is 555-0100' }]);
    expect(of('game_records')).toHaveLength(3);
    expect(of('game_states')).toMatchObject([{ game_id: GAME }]);
    expect(of('scores')).toMatchObject([{ score: 2_000 }]);
    expect(of('linked_accounts')).toMatchObject([{ handle: 'ada' }]);
    expect(of('sessions').map((row) => Object.keys(row))).toEqual([expect.not.arrayContaining(['key'])]);
    expect(JSON.stringify(lines)).not.toContain(other.wallet);
  });

  test('is limited to three an hour per wallet', async () => {
    const player = await signIn(t);
    const statuses = [];
    for (let time = 0; time < 4; time++) statuses.push((await player.fetch('/me/export')).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  test('reads tables of several pages', async () => {
    const player = await signIn(t);
    await rows(`insert into plays (id, wallet, game_id, started_at) select ${NEW_ID}, $1, 'past', app_now() from generate_series(1, 1200)`, [
      player.wallet,
    ]);
    expect((await exported(player)).filter(({ table }) => table === 'plays')).toHaveLength(1_200);
  });
});

describe('DELETE /me', () => {
  const leave = async (wallet: TestWallet, player: SignedIn) => {
    expect((await player.fetch('/me', { method: 'DELETE' })).status).toBe(202);
    await retryUntilPass(async () =>
      expect(await rows('select completed_at is not null as done from account_deletions where wallet = $1', [wallet.address])).toEqual([
        { done: true },
      ]),
    );
  };

  test('deletes what can go, keeps points and scores, and a new sign-in starts anew', async () => {
    const wallet = createWallet();
    const player = await signIn(t, wallet);
    const second = await signIn(t, wallet);
    const { clip, message } = await storeOfEach(player);
    const { body: score } = await playAndScore(player, GAME, 3_000);
    await leave(wallet, player);
    for (const one of [player, second]) expect((await one.fetch('/me')).status).toBe(401);
    expect((await fetch(`${t.url}/clips/${clip}`)).status).toBe(404);
    expect(await rows('select text, deleted_at is not null as deleted from chat_messages where id = $1', [message])).toEqual([
      { text: '', deleted: true },
    ]);
    expect(await rows('select state from game_states where wallet = $1', [wallet.address])).toEqual([]);
    expect(await rows('select handle from linked_accounts where wallet = $1', [wallet.address])).toEqual([]);

    const again = await signIn(t, wallet);
    const records = await recordsOf(again);
    expect([records.length, verifyChain(records)]).toEqual([3, 0]);
    expect(await (await again.fetch('/me/scores')).json()).toMatchObject([{ scoreId: score.scoreId, status: 'accepted' }]);
    expect((await sendMessage(again, 'hello again')).status).toBe(201);
    expect((await player.fetch('/me', { method: 'DELETE' })).status).toBe(401);
  });

  test('keeps what the wallet stores after a new sign-in, also while the job is late', async () => {
    const wallet = createWallet();
    const player = await signIn(t, wallet);
    await storeOfEach(player);
    await leave(wallet, player);
    const again = await signIn(t, wallet);
    const { message } = await storeOfEach(again);
    await rows('update account_deletions set completed_at = null where wallet = $1', [wallet.address]);
    await deleteRequestedAccounts(t.app);
    expect(await rows('select completed_at is not null as done from account_deletions where wallet = $1', [wallet.address])).toEqual([
      { done: true },
    ]);
    expect((await again.fetch('/me')).status).toBe(200);
    expect(await rows('select text from chat_messages where id = $1', [message])).toEqual([{ text: 'my telephone number is 555-0100' }]);
    expect(verifyChain(await recordsOf(again))).toBe(3);
  });

  test('is open to a banned wallet, and the ban stays', async () => {
    const wallet = createWallet();
    await signIn(t, wallet);
    await requestAsAdmin(t, `/admin/wallets/${wallet.address}/ban`, { reason: 'bot' });
    const banned = await signIn(t, wallet);
    expect((await banned.fetch('/me/export')).status).toBe(200);
    await leave(wallet, banned);
    const again = await signIn(t, wallet);
    expect((await sendMessage(again, 'hello')).status).toBe(403);
  });
});
