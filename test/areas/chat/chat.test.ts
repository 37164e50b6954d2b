import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { recordAll } from '#areas/chat/submit.ts';
import { derivedNumbers } from '#lib/draw/numbers.ts';
import { newId } from '#lib/ids.ts';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { closeRound, entriesOf, openRound, say, verifyReceipt } from '#test/support/areas/chat.ts';
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
  const { status, body } = await say(me, '  good luck 🍀 ');
  expect([status, Object.keys(body)]).toEqual([201, ['messageId']]);
  expect(await textOf(body.messageId)).toBe('good luck 🍀');
  expect(await eventsOf(me.wallet)).toEqual([
    {
      type: 'chat_message',
      payload: { messageId: body.messageId, source: 'chat', wallet: me.wallet, handle: null, text: 'good luck 🍀', entryId: null },
    },
  ]);
});

test('!enter is an entry, its numbers derived; the receipt can be checked with the public key alone', async () => {
  const me = await join();
  const { status, body } = await say(me, '!enter');
  expect(status).toBe(201);
  const [entry] = await entriesOf(t.app, round);
  if (!entry || !body.entry) throw new Error('there is no entry');
  expect(body.entry).toMatchObject({ id: entry.id, sequence: 0, numbers: derivedNumbers(entry.id, me.wallet, { picks: 5, range: 50 }) });
  expect(entry).toMatchObject({ wallet: me.wallet, source: 'chat', message: body.messageId, numbers: body.entry.numbers });
  const { receipt } = body.entry;
  expect(receipt.body).toMatchObject({ version: 1, round, entry: entry.id, index: 0, wallet: me.wallet, at: new Date(entry.at).toISOString() });
  expect(verifyReceipt(t.app, receipt)).toBe(true);
  expect(verifyReceipt(t.app, { ...receipt, body: { ...receipt.body, index: 1 } })).toBe(false);
  expect((await eventsOf(me.wallet)).map(({ type, payload }) => [type, payload.entryId])).toEqual([
    ['new_entry', entry.id],
    ['chat_message', entry.id],
  ]);
});

test.each(['!enter 41 3 7 30 12', '!enter 41,3,7,30,12', '!enter 41, 3 ,7  30,12', '!ENTER 41 3 7 30 12'])('%s chooses the numbers', async (text) => {
  const { status, body } = await say(await join(), text);
  expect([status, body.entry?.numbers]).toEqual([201, [3, 7, 12, 30, 41]]);
});

test.each(['!entertain', '!enterprise 1 2 3', 'I !enter', '! enter', '!enter3'])('%s is only something to read', async (text) => {
  const { status, body } = await say(await join(), text);
  expect([status, body.entry]).toEqual([201, undefined]);
  expect(await entriesOf(t.app, round)).toEqual([]);
});

test.each([
  ['!enter please', 'text must be !enter, alone or with numbers, such as !enter 3 7 12 30 41'],
  ['!enter 1 2 3 4 five', 'text must be !enter, alone or with numbers, such as !enter 3 7 12 30 41'],
  ['!enter 1 2 3 4 -5', 'text must be !enter, alone or with numbers, such as !enter 3 7 12 30 41'],
  ['!enter ,', 'text must be !enter, alone or with numbers, such as !enter 3 7 12 30 41'],
  ['!enter 1 2 3 4', 'the numbers of an entry must be 5'],
  ['!enter 1 2 3 4 5 6', 'the numbers of an entry must be 5'],
  ['!enter 1 2 3 4 51', 'the numbers of an entry must be from 1 to 50'],
  ['!enter 0 1 2 3 4', 'the numbers of an entry must be from 1 to 50'],
  ['!enter 1 2 3 4 4', 'the numbers of an entry must be different and ascending'],
  ['', 'text must not be empty'],
  ['   ', 'text must not be empty'],
  ['two\nlines', 'text must not hold control characters'],
  [7, 'text must be text'],
  [undefined, 'text is required and must be text'],
])('%j is 400, and leaves nothing', async (text, error) => {
  const me = await join();
  const answer = await say(me, text);
  expect([answer.status, answer.body]).toEqual([400, { error }]);
  expect([await saidBy(me), await eventsOf(me.wallet), await entriesOf(t.app, round)]).toEqual([[], [], []]);
});

test('a message is at most 500 characters', async () => {
  const me = await join();
  expect((await say(me, 'x'.repeat(500))).status).toBe(201);
  const answer = await say(me, 'x'.repeat(501));
  expect([answer.status, answer.body]).toEqual([400, { error: 'text must be at most 500 characters' }]);
});

test('who is not signed in is 401, a foreign origin 403', async () => {
  expect((await send(t, '/chat/message', { json: { text: 'hello' } })).status).toBe(401);
  expect((await say(await join(), 'hello', { headers: { Origin: 'https://elsewhere.example' } })).status).toBe(403);
});

test('an entry too many, or without a round, is 409, and leaves nothing', async () => {
  const me = await join();
  expect((await say(me, '!enter')).status).toBe(201);
  const again = await say(me, '!enter');
  expect([again.status, again.body]).toEqual([409, { error: 'a wallet has at most 1 entries in this round' }]);
  await closeRound(t.app);
  const other = await join();
  const late = await say(other, '!enter');
  expect([late.status, late.body]).toEqual([409, { error: 'no round takes entries at the moment' }]);
  expect([await saidBy(me), await saidBy(other), await eventsOf(other.wallet)]).toEqual([['!enter'], [], []]);
  expect((await say(other, 'a pity')).status).toBe(201);
});

test('a round that is past its end takes no entries, even where nobody has closed it yet', async () => {
  const now = t.clock.now().getTime();
  await openRound(t, { opensAt: new Date(now - 2_000).toISOString(), closesAt: new Date(now - 1_000).toISOString() });
  expect((await say(await join(), '!enter')).status).toBe(409);
});

test('the same under the same key answers the same, another text 409; nothing happens twice', async () => {
  const me = await join();
  const key = randomUUID();
  const first = await say(me, '!enter', { key });
  expect(first.status).toBe(201);
  expect(await say(me, '!enter', { key })).toMatchObject({ status: 201, body: first.body });
  const other = await say(me, '!enter 1 2 3 4 5', { key });
  expect([other.status, other.body]).toEqual([409, { error: 'Idempotency-Key was used before with another text' }]);
  expect(await saidBy(me)).toEqual(['!enter']);
  expect((await entriesOf(t.app, round)).length).toBe(1);
  // A key is its wallet's own.
  expect((await say(await join(), '!enter', { key })).body.messageId).not.toBe(first.body.messageId);
});

test('what was refused under a key may be sent again', async () => {
  const me = await join();
  const key = randomUUID();
  expect((await say(me, '!enter 1 2', { key })).status).toBe(400);
  expect((await say(me, '!enter', { key })).status).toBe(201);
});

test('a key must be printable', async () => {
  const me = await join();
  expect((await say(me, 'hello', { key: 'x'.repeat(256) })).status).toBe(400);
});

test('twenty at once under one key are one message, from two processes, too', async () => {
  const me = await join();
  const second = await startApi(t.env, t.clock);
  try {
    const there = { fetch: (path: string, init = {}) => send(second, path, { ...init, headers: { ...headersOf(init), Cookie: me.cookie } }) };
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => say(i % 2 ? me : there, 'once', { key })));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.messageId}`)).size).toBe(1);
    expect(await saidBy(me)).toEqual(['once']);
  } finally {
    await second.close();
  }
});
const headersOf = (init: RequestInit): Record<string, string> => Object.fromEntries(new Headers(init.headers));

test('the 21st message within ten seconds is 429 and says when to come back; others are not held up', async () => {
  const me = await join();
  const answers = await Promise.all(Array.from({ length: 25 }, (_, i) => say(me, `message ${i}`)));
  const refused = answers.filter(({ status }) => status === 429);
  expect([answers.filter(({ status }) => status === 201).length, refused.length]).toEqual([20, 5]);
  expect(refused[0]?.body.error).toBe('at most 20 are accepted in 10 s, try again later');
  const seconds = Number(refused[0]?.headers.get('Retry-After'));
  expect(seconds >= 1 && seconds <= 10).toBe(true);
  expect((await say(me, '!enter')).status).toBe(429);
  expect((await saidBy(me)).length).toBe(20);
  expect((await say(await join(), 'hello')).status).toBe(201);
});

test('one bad message fails alone, whatever is wrong with it', async () => {
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

test('a wallet that is banned from the arcade says nothing, even with a session that is still cached', async () => {
  const me = await join();
  await t.app.tx((tx) => tx.query({ text: `update players set banned_at = app_now(), ban_reason = 'bot' where wallet = $1` }, [me.wallet]));
  const answer = await say(me, '!enter');
  expect([answer.status, answer.body]).toEqual([403, { error: 'this wallet is banned from chat' }]);
});

test('messages are read newest first, page by page', async () => {
  const me = await join();
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.unshift((await say(me, `line ${i}`)).body.messageId);
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
  ['before=yesterday', 'before must be a UUID'],
])('%s is 400', async (query, error) => {
  expect(await read(`?${query}`)).toEqual({ status: 400, body: { error } });
});
