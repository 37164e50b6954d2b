import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { recordAll } from '#areas/chat/submit.ts';
import { derivedNumbers } from '#lib/draw/numbers.ts';
import { newId } from '#lib/ids.ts';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { closeRound, entriesOf, openRound, sendMessage, verifyReceipt } from '#test/support/areas/chat.ts';
import { createWallet, type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
let round: string;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());
beforeEach(async () => {
  round = await openRound(t);
});

const join = () => signIn(t, createWallet());
const textOf = async (id: string) => (await sql<{ text: string }>(t.app, 'select text from chat_messages where id = $1', [id]))[0]?.text;
const saidBy = async ({ wallet }: SignedIn) =>
  (await sql<{ text: string }>(t.app, 'select text from chat_messages where wallet = $1 order by seq', [wallet])).map(({ text }) => text);
const eventsOf = (wallet: string) =>
  sql<{ type: string; payload: Record<string, unknown> }>(t.app, `select type, payload from outbox where payload->>'wallet' = $1 order by id`, [
    wallet,
  ]);
interface Page {
  messages: { messageId: string }[];
  next: string | null;
}
const read = async (query = '') => {
  const response = await send(t, `/chat/messages${query}`);
  return { status: response.status, body: (await response.json()) as Page };
};

test('a message is stored and broadcast', async () => {
  const me = await join();
  const { status, body } = await sendMessage(me, '  good luck 🍀 ');
  expect([status, Object.keys(body)]).toEqual([201, ['messageId']]);
  expect(await textOf(body.messageId)).toBe('good luck 🍀');
  expect(await eventsOf(me.wallet)).toEqual([
    {
      type: 'chat_message',
      payload: { messageId: body.messageId, source: 'chat', wallet: me.wallet, handle: null, text: 'good luck 🍀', entryId: null },
    },
  ]);
});

test('!enter makes an entry with derived numbers, and its receipt verifies with the public key', async () => {
  const me = await join();
  const { status, body } = await sendMessage(me, '!enter');
  expect(status).toBe(201);
  const [entry] = await entriesOf(t.app, round);
  if (!entry || !body.entry) throw new Error('there is no entry');
  expect(body.entry).toMatchObject({ id: entry.id, sequence: 0, numbers: derivedNumbers(entry.id, me.wallet, { picks: 5, range: 50 }) });
  expect(entry).toMatchObject({ wallet: me.wallet, source: 'chat', message: body.messageId, numbers: body.entry.numbers });
  const { receipt } = body.entry;
  expect(receipt.statement).toMatchObject({
    type: 'coinop/receipt/1',
    round,
    entry: entry.id,
    index: 0,
    wallet: me.wallet,
    at: new Date(entry.at).toISOString(),
  });
  expect(verifyReceipt(t.app, receipt)).toBe(true);
  expect(verifyReceipt(t.app, { ...receipt, statement: { ...receipt.statement, index: 1 } })).toBe(false);
  expect((await eventsOf(me.wallet)).map(({ type, payload }) => [type, payload.entryId])).toEqual([
    ['new_entry', entry.id],
    ['chat_message', entry.id],
  ]);
});

test.each(['!enter 41 3 7 30 12', '!enter 41,3,7,30,12', '!enter 41, 3 ,7  30,12', '!ENTER 41 3 7 30 12'])('%s chooses the numbers', async (text) => {
  const { status, body } = await sendMessage(await join(), text);
  expect([status, body.entry?.numbers]).toEqual([201, [3, 7, 12, 30, 41]]);
});

test.each(['!entertain', '!enterprise 1 2 3', 'I !enter', '! enter', '!enter3'])('%s is an ordinary message without an entry', async (text) => {
  const { status, body } = await sendMessage(await join(), text);
  expect([status, body.entry]).toEqual([201, undefined]);
  expect(await entriesOf(t.app, round)).toEqual([]);
});

test.each([
  ['!enter please', 'text must be !enter, alone or with numbers, for example !enter 3 7 12 30 41'],
  ['!enter 1 2 3 4 five', 'text must be !enter, alone or with numbers, for example !enter 3 7 12 30 41'],
  ['!enter 1 2 3 4 -5', 'text must be !enter, alone or with numbers, for example !enter 3 7 12 30 41'],
  ['!enter ,', 'text must be !enter, alone or with numbers, for example !enter 3 7 12 30 41'],
  ['!enter 1 2 3 4', 'the numbers of an entry must be 5 numbers'],
  ['!enter 1 2 3 4 5 6', 'the numbers of an entry must be 5 numbers'],
  ['!enter 1 2 3 4 51', 'the numbers of an entry must be from 1 to 50'],
  ['!enter 0 1 2 3 4', 'the numbers of an entry must be from 1 to 50'],
  ['!enter 1 2 3 4 4', 'the numbers of an entry must be different and ascending'],
  ['', 'text must not be empty'],
  ['   ', 'text must not be empty'],
  ['two\nlines', 'text must not contain control characters'],
  [7, 'text must be text'],
  [undefined, 'text is required and must be text'],
])('the message %j is 400 and stores nothing', async (text, error) => {
  const me = await join();
  const answer = await sendMessage(me, text);
  expect([answer.status, answer.body]).toEqual([400, { error }]);
  expect([await saidBy(me), await eventsOf(me.wallet), await entriesOf(t.app, round)]).toEqual([[], [], []]);
});

test('a message can have at most 500 characters', async () => {
  const me = await join();
  expect((await sendMessage(me, 'x'.repeat(500))).status).toBe(201);
  const answer = await sendMessage(me, 'x'.repeat(501));
  expect([answer.status, answer.body]).toEqual([400, { error: 'text must be at most 500 characters' }]);
});

test('a message without a session is 401, and one from a foreign origin is 403', async () => {
  expect((await send(t, '/chat/message', { json: { text: 'hello' } })).status).toBe(401);
  expect((await sendMessage(await join(), 'hello', { headers: { Origin: 'https://elsewhere.example' } })).status).toBe(403);
});

test('an entry above the maximum per wallet, or without an active round, is 409 and stores nothing', async () => {
  const me = await join();
  expect((await sendMessage(me, '!enter')).status).toBe(201);
  const again = await sendMessage(me, '!enter');
  expect([again.status, again.body]).toEqual([409, { error: 'a wallet can have at most 1 entries in this round' }]);
  await closeRound(t.app);
  const other = await join();
  const late = await sendMessage(other, '!enter');
  expect([late.status, late.body]).toEqual([409, { error: 'no round accepts entries now' }]);
  expect([await saidBy(me), await saidBy(other), await eventsOf(other.wallet)]).toEqual([['!enter'], [], []]);
  expect((await sendMessage(other, 'a pity')).status).toBe(201);
});

test('a round past its closing time accepts no entries, also when no worker has closed it yet', async () => {
  const now = t.clock.now().getTime();
  await openRound(t, { opensAt: new Date(now - 2_000).toISOString(), closesAt: new Date(now - 1_000).toISOString() });
  expect((await sendMessage(await join(), '!enter')).status).toBe(409);
});

test('a repeated Idempotency-Key returns the first answer for the same text and 409 for another text', async () => {
  const me = await join();
  const key = randomUUID();
  const first = await sendMessage(me, '!enter', { key });
  expect(first.status).toBe(201);
  expect(await sendMessage(me, '!enter', { key })).toMatchObject({ status: 201, body: first.body });
  const other = await sendMessage(me, '!enter 1 2 3 4 5', { key });
  expect([other.status, other.body]).toEqual([409, { error: 'Idempotency-Key was used before with another text' }]);
  expect(await saidBy(me)).toEqual(['!enter']);
  expect((await entriesOf(t.app, round)).length).toBe(1);
  // Idempotency keys are separate for each wallet.
  expect((await sendMessage(await join(), '!enter', { key })).body.messageId).not.toBe(first.body.messageId);
});

test('the Idempotency-Key of a refused message can be used again', async () => {
  const me = await join();
  const key = randomUUID();
  expect((await sendMessage(me, '!enter 1 2', { key })).status).toBe(400);
  expect((await sendMessage(me, '!enter', { key })).status).toBe(201);
});

test('an Idempotency-Key of 256 characters is 400', async () => {
  const me = await join();
  expect((await sendMessage(me, 'hello', { key: 'x'.repeat(256) })).status).toBe(400);
});

test('twenty concurrent requests with one Idempotency-Key, through two processes, store one message', async () => {
  const me = await join();
  const second = await startApi(t.env, t.clock);
  try {
    const there = { fetch: (path: string, init = {}) => send(second, path, { ...init, headers: { ...headersOf(init), Cookie: me.cookie } }) };
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => sendMessage(i % 2 ? me : there, 'once', { key })));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.messageId}`)).size).toBe(1);
    expect(await saidBy(me)).toEqual(['once']);
  } finally {
    await second.close();
  }
});
const headersOf = (init: RequestInit): Record<string, string> => Object.fromEntries(new Headers(init.headers));

test('the 21st message of a wallet within 10 s is 429 with Retry-After, and other wallets are not affected', async () => {
  const me = await join();
  const answers = await Promise.all(Array.from({ length: 25 }, (_, i) => sendMessage(me, `message ${i}`)));
  const refused = answers.filter(({ status }) => status === 429);
  expect([answers.filter(({ status }) => status === 201).length, refused.length]).toEqual([20, 5]);
  expect(refused[0]?.body.error).toBe('at most 20 requests are accepted in 10 s, try again later');
  const seconds = Number(refused[0]?.headers.get('Retry-After'));
  expect(seconds >= 1 && seconds <= 10).toBe(true);
  expect((await sendMessage(me, '!enter')).status).toBe(429);
  expect((await saidBy(me)).length).toBe(20);
  expect((await sendMessage(await join(), 'hello')).status).toBe(201);
});

test('one invalid message in a batch does not fail the others', async () => {
  const sayings = Array.from({ length: 9 }, (_, i) => ({
    ...{ id: newId(), entryId: newId(), wallet: createWallet().address, text: i === 4 ? '' : `${i}`, command: null, key: null },
  }));
  const outcomes = await recordAll(t.app, sayings);
  expect(outcomes.map((outcome) => ('failure' in outcome ? 'failed' : 'said'))).toEqual(sayings.map((_, i) => (i === 4 ? 'failed' : 'said')));
  const stored = await sql<{ id: string }>(t.app, 'select id::text from chat_messages where id = any($1::uuid[]) order by seq', [
    sayings.map(({ id }) => id),
  ]);
  expect(stored.map(({ id }) => id)).toEqual(sayings.flatMap(({ id }, i) => (i === 4 ? [] : [id])));
});

test('a wallet that is banned from the arcade cannot write, even with a cached session', async () => {
  const me = await join();
  await t.app.tx((tx) => tx.query({ text: `update players set banned_at = app_now(), ban_reason = 'bot' where wallet = $1` }, [me.wallet]));
  const answer = await sendMessage(me, '!enter');
  expect([answer.status, answer.body]).toEqual([403, { error: 'this wallet is banned from chat' }]);
});

test('messages are listed newest first in pages', async () => {
  const me = await join();
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.unshift((await sendMessage(me, `line ${i}`)).body.messageId);
  const idsOf = (body: Page) => body.messages.map(({ messageId }) => messageId);
  const { status, body } = await read('?limit=2');
  expect([status, idsOf(body), body.next]).toEqual([200, ids.slice(0, 2), ids[1]]);
  expect(body.messages[0]).toEqual({
    ...{ messageId: ids[0], source: 'chat', wallet: me.wallet, handle: null, text: 'line 4', entryId: null },
    at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  });
  expect(idsOf((await read(`?limit=3&before=${ids[1]}`)).body)).toEqual(ids.slice(2, 5));
  expect((await read(`?before=${randomUUID()}`)).body).toEqual({ messages: [], next: null });
  await t.app.tx((tx) => tx.query({ text: `update chat_messages set text = '', deleted_at = app_now() where id = $1` }, [ids[1]]));
  expect(idsOf((await read('?limit=2')).body)).toEqual([ids[0], ids[2]]);
  expect(idsOf((await read(`?limit=1&before=${ids[1]}`)).body)).toEqual([ids[2]]);
});

test.each([
  ['limit=0', 'limit must be at least 1'],
  ['limit=201', 'limit must be at most 200'],
  ['limit=many', 'limit must be a number'],
  ['before=yesterday', 'before must be a UUID in lower case'],
])('the query %s is 400', async (query, error) => {
  expect(await read(`?${query}`)).toEqual({ status: 400, body: { error } });
});
