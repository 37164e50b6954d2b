import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readEntries } from '#areas/lottery/entries.ts';
import { readRound } from '#areas/lottery/rows.ts';
import { findBrokenRule } from '#lib/draw/rules.ts';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { type ChatResponse, closeRound, entriesOf, openRound, sendMessage, verifyReceipt } from '#test/support/areas/chat.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { openEvents } from '#test/support/http/sse.ts';
import { createWallet, type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: TestApp;
let second: Awaited<ReturnType<typeof startApi>>;
let players: SignedIn[];
beforeAll(async () => {
  // This test needs only the event publisher, which runs in every worker.
  t = await startTestApp({ env: { CHAT_MESSAGES_PER_10_SEC: '1000', QUEUES: 'webhooks' } });
  second = await startApi(t.env, t.clock);
  players = await Promise.all(Array.from({ length: 20 }, () => signIn(t, createWallet())));
});
afterAll(async () => {
  await second.close();
  await t.close();
});

/** Returns a player whose requests go to the other process. */
const elsewhere = ({ cookie }: SignedIn): Pick<SignedIn, 'fetch'> => ({
  fetch: (path, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set('Cookie', cookie);
    return send(second, path, { ...init, headers });
  },
});
const one = (i: number): SignedIn => {
  const player = players[i % players.length];
  if (!player) throw new Error('the list of players is empty');
  return player;
};
const confirmed = (answers: readonly ChatResponse[]) => answers.flatMap(({ status, body }) => (status === 201 && body.entry ? [body.entry] : []));
const statusesOf = (answers: readonly ChatResponse[]): Record<number, number> => {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

/** Checks the stored entries against the round's rules. @returns the first violation */
async function findViolation(round: string) {
  const parameters = (await readRound(t.app.db, round))?.parameters;
  if (!parameters) throw new Error('the round has no parameters');
  return findBrokenRule(parameters, await readEntries(t.app.db, round));
}

test('fifty concurrent entries of a wallet, through two processes, give at most its maximum number of entries', async () => {
  const round = await openRound(t, { maxEntriesPerWallet: 7 });
  const me = one(0);
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => sendMessage(i % 2 ? me : elsewhere(me), '!enter')));
  expect(statusesOf(answers)).toEqual({ 201: 7, 409: 43 });
  expect((await entriesOf(t.app, round)).length).toBe(7);
  expect(await findViolation(round)).toBeNull();
});

test('indexes have no gaps and no duplicates when two processes accept and refuse entries concurrently', async () => {
  const round = await openRound(t, { maxEntriesPerWallet: 4 });
  const texts = ['!enter', '!enter 1 2 3 4 5', '!enter 1 2', 'hello', '!enter nothing', '!enter 50 49 48 47 46'];
  const answers = await Promise.all(
    Array.from({ length: 400 }, async (_, i) => {
      const player = one(Math.floor(Math.random() * players.length));
      await sleep(Math.random() * 200);
      return await sendMessage(i % 2 ? player : elsewhere(player), texts[Math.floor(Math.random() * texts.length)]);
    }),
  );
  expect(Object.keys(statusesOf(answers)).filter((status) => !['201', '400', '409'].includes(status))).toEqual([]);
  const stored = await entriesOf(t.app, round);
  expect(stored.map(({ index }) => index)).toEqual(stored.map((_, i) => i));
  expect((await readRound(t.app.db, round))?.entries).toBe(stored.length);
  expect(await findViolation(round)).toBeNull();
  // The stored entries are exactly the confirmed ones.
  const entries = confirmed(answers);
  expect(entries.map(({ id }) => id).sort()).toEqual(stored.map(({ id }) => id).sort());
  for (const { id, sequence, numbers, receipt } of entries) {
    expect(stored[sequence]).toMatchObject({ id, numbers });
    expect(verifyReceipt(t.app, receipt)).toBe(true);
  }
});

test('each entry that races with the freeze is either stored or refused, and none is stored after it', async () => {
  const round = await openRound(t, { maxEntriesPerWallet: 1_000 });
  const stop = new AbortController();
  const answers: ChatResponse[] = [];
  const sending = Array.from({ length: 16 }, async (_, i) => {
    const player = i % 2 ? one(i) : elsewhere(one(i));
    while (!stop.signal.aborted) answers.push(await sendMessage(player, '!enter'));
  });
  await retryUntilPass(() => expect(confirmed(answers).length).toBeGreaterThan(50));
  await closeRound(t.app);
  const atFreeze = await entriesOf(t.app, round);
  await retryUntilPass(() => expect(statusesOf(answers)[409] ?? 0).toBeGreaterThan(50));
  stop.abort();
  await Promise.all(sending);
  expect(Object.keys(statusesOf(answers)).sort()).toEqual(['201', '409']);
  const stored = await entriesOf(t.app, round);
  expect(stored).toEqual(atFreeze);
  expect(
    confirmed(answers)
      .map(({ id }) => id)
      .sort(),
  ).toEqual(stored.map(({ id }) => id).sort());
  const closedAt = Date.parse((await readRound(t.app.db, round))?.closedAt ?? '');
  expect(stored.filter(({ at }) => at > closedAt)).toEqual([]);
  expect(await findViolation(round)).toBeNull();
});

test('subscribers of both processes receive entries in the order of acceptance', async () => {
  const round = await openRound(t, { maxEntriesPerWallet: 1_000 });
  const clients = await Promise.all([openEvents(t), openEvents(second)]);
  const answers = await Promise.all(Array.from({ length: 120 }, (_, i) => sendMessage(i % 2 ? one(i) : elsewhere(one(i)), '!enter')));
  const stored = await entriesOf(t.app, round);
  expect(statusesOf(answers)).toEqual({ 201: 120 });
  for (const client of clients) {
    await client.count(120, 'chat_message');
    await client.count(120, 'new_entry');
    expect(client.values('messageId', 'chat_message')).toEqual(stored.map(({ message }) => message));
    expect(client.values('entryId', 'chat_message')).toEqual(stored.map(({ id }) => id));
    expect(client.values('index', 'new_entry')).toEqual(stored.map(({ index }) => index));
    client.close();
  }
});
