import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { BRIDGE_SECRET, bridged, linkedAuthor, verdictOn } from '#test/support/areas/bridge.ts';
import { entriesOf, openRound, sendMessage } from '#test/support/areas/chat.ts';
import { asAdmin } from '#test/support/areas/rounds.ts';
import { createWallet, send, signIn } from '#test/support/wallet.ts';

const NARROW = 'content-token-0123456789';
let t: TestApp;
beforeAll(async () => {
  const ADMIN_TOKENS = `test-admin-token-0123456789,editor:content:${NARROW}`;
  t = await startTestApp({ env: { ADMIN_TOKENS, WEBHOOK_SECRET_CHAT_BRIDGE: BRIDGE_SECRET, QUEUES: 'webhooks' } });
});
afterAll(() => t.close());

const join = () => signIn(t, createWallet());
async function moderate(json: unknown, headers: Record<string, string> = asAdmin) {
  const response = await send(t, '/admin/chat/moderate', { json, headers });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
const moderations = async (field: 'wallet' | 'messageId', value: string) =>
  (
    await sql<{ action: string }>(
      t.app,
      `select payload->>'action' as action from outbox where type = 'chat_moderation' and payload->>'${field}' = $1 order by id`,
      [value],
    )
  ).map(({ action }) => action);

test('a deleted message loses its text in the list and in the database, and its entry stays', async () => {
  const round = await openRound(t);
  const me = await join();
  const key = randomUUID();
  const { body: said } = await sendMessage(me, '!enter', { key });
  const erased = { action: 'delete', messageId: said.messageId, wallet: null, account: null, until: null };
  for (let time = 0; time < 2; time++) {
    expect(await moderate({ action: 'delete', messageId: said.messageId })).toEqual({ status: 200, body: erased });
  }
  expect(await moderations('messageId', said.messageId)).toEqual(['delete']);
  expect(await sql(t.app, 'select text, wallet from chat_messages where id = $1', [said.messageId])).toEqual([{ text: '', wallet: me.wallet }]);
  const listed = (await (await send(t, '/chat/messages?limit=200')).json()) as { messages: { messageId: string }[] };
  expect(listed.messages.some(({ messageId }) => messageId === said.messageId)).toBe(false);
  expect((await entriesOf(t.app, round)).map(({ id }) => id)).toEqual([said.entry?.id]);
  expect((await sendMessage(me, '!enter', { key })).body).toEqual(said);
});

test('deleting an unknown message is 404', async () => {
  expect(await moderate({ action: 'delete', messageId: randomUUID() })).toEqual({
    status: 404,
    body: { error: 'messageId must be the id of a chat message' },
  });
});

test('a muted wallet cannot write or enter until the mute ends or is lifted', async () => {
  const round = await openRound(t, { maxEntriesPerWallet: 9 });
  const me = await join();
  expect((await sendMessage(me, '!enter')).status).toBe(201);
  const { status, body } = await moderate({ action: 'mute', wallet: me.wallet, minutes: 10 });
  expect([status, body]).toEqual([200, { action: 'mute', messageId: null, wallet: me.wallet, account: null, until: expect.any(String) }]);
  for (const text of ['hello', '!enter']) {
    const answer = await sendMessage(me, text);
    expect([answer.status, answer.body]).toEqual([403, { error: `this wallet is muted in chat until ${body.until}` }]);
  }
  expect((await entriesOf(t.app, round)).length).toBe(1);
  for (let time = 0; time < 2; time++) expect((await moderate({ action: 'unmute', wallet: me.wallet })).status).toBe(200);
  expect((await sendMessage(me, '!enter')).status).toBe(201);
  expect(await moderations('wallet', me.wallet)).toEqual(['mute', 'unmute']);
  await moderate({ action: 'mute', wallet: me.wallet, minutes: 1 });
  expect((await sendMessage(me, 'hello')).status).toBe(403);
  await t.app.tx((tx) => tx.query({ text: `update chat_sanctions set muted_until = app_now() where account = $1` }, [me.wallet]));
  expect((await sendMessage(me, 'hello')).status).toBe(201);
});

test('a banned wallet cannot write until the ban is lifted, also when a mute ends; refused messages are not stored', async () => {
  const me = await join();
  expect((await moderate({ action: 'mute', wallet: me.wallet, minutes: 1 })).status).toBe(200);
  for (let time = 0; time < 2; time++) expect((await moderate({ action: 'ban', wallet: me.wallet })).status).toBe(200);
  expect((await moderate({ action: 'unmute', wallet: me.wallet })).status).toBe(200);
  const answer = await sendMessage(me, 'hello');
  expect([answer.status, answer.body]).toEqual([403, { error: 'this wallet is banned from chat' }]);
  expect(await sql(t.app, 'select id from chat_messages where wallet = $1', [me.wallet])).toEqual([]);
  for (let time = 0; time < 2; time++) expect((await moderate({ action: 'unban', wallet: me.wallet })).status).toBe(200);
  expect((await sendMessage(me, 'hello')).status).toBe(201);
  expect(await moderations('wallet', me.wallet)).toEqual(['mute', 'ban', 'unmute', 'unban']);
});

test('a sanction on a wallet applies to its linked accounts, and a sanction on an account applies to it alone', async () => {
  const [one, two] = [await linkedAuthor(t), await linkedAuthor(t)];
  await moderate({ action: 'ban', wallet: one.wallet });
  expect(await verdictOn(t, bridged({ author: one.author }))).toEqual({ state: 'failed', verdict: 'this wallet is banned from chat' });
  const account = { platform: 'twitch', id: two.author.id };
  const muted = await moderate({ action: 'mute', account, minutes: 5 });
  expect(muted).toMatchObject({ status: 200, body: { action: 'mute', wallet: null, account } });
  expect(await verdictOn(t, bridged({ author: two.author }))).toEqual({
    state: 'failed',
    verdict: `this account is muted in chat until ${muted.body.until}`,
  });
  expect(await verdictOn(t, bridged({ author: two.author, platform: 'discord' }))).toMatchObject({ state: 'worked' });
  await moderate({ action: 'unmute', account });
  expect(await verdictOn(t, bridged({ author: two.author }))).toEqual({ state: 'worked', verdict: 'stored' });
});

test('a wallet that is banned from the arcade cannot write through its linked accounts', async () => {
  const me = await join();
  const { author, wallet } = await linkedAuthor(t);
  await t.app.tx((tx) => tx.query({ text: `update linked_accounts set wallet = $1 where wallet = $2` }, [me.wallet, wallet]));
  await send(t, `/admin/wallets/${me.wallet}/ban`, { json: { reason: 'bot' }, headers: asAdmin });
  expect(await verdictOn(t, bridged({ author }))).toEqual({ state: 'failed', verdict: 'this wallet is banned from chat' });
});

const wallet = createWallet().address;
test.each([
  [{ action: 'mute', wallet }, 'minutes is required and must be a number'],
  [{ action: 'mute', wallet, minutes: 0 }, 'minutes must be at least 1'],
  [{ action: 'mute', wallet, minutes: 43_201 }, 'minutes must be at most 43200'],
  [{ action: 'ban' }, 'wallet or account must be given, but not both'],
  [{ action: 'ban', wallet, account: { platform: 'twitch', id: '7' } }, 'wallet or account must be given, but not both'],
  [{ action: 'ban', wallet: 'nobody' }, 'wallet must be a wallet address (base58 of 32 bytes)'],
  [{ action: 'ban', account: { platform: 'chat', id: '7' } }, 'account.platform must not be chat or chain'],
  [{ action: 'delete', messageId: 'x' }, 'messageId must be a UUID in lower case'],
  [{ action: 'unmute', wallet, minutes: 5 }, 'minutes is not a known field'],
])('the request %j is 400', async (json, error) => {
  expect(await moderate(json)).toEqual({ status: 400, body: { error } });
});

test('an unknown action is 400', async () => {
  expect((await moderate({ action: 'shout', wallet })).status).toBe(400);
});

test('a moderation request without a token, or with a token of another scope, is 403', async () => {
  const json = { action: 'ban', wallet };
  expect((await moderate(json, {})).status).toBe(403);
  expect((await moderate(json, { Authorization: `Bearer ${NARROW}` })).status).toBe(403);
});
