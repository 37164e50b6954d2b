import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { BRIDGE_SECRET, bridged, deliverBridged, linkedAuthor, verdictOn } from '#test/support/areas/bridge.ts';
import { closeRound, entriesOf, openRound } from '#test/support/areas/chat.ts';
import { createSecret } from '#test/support/http/webhook.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ env: { WEBHOOK_SECRET_CHAT_BRIDGE: BRIDGE_SECRET, QUEUES: 'webhooks' } });
});
afterAll(() => t.close());
beforeEach(() => closeRound(t.app));

interface Stored {
  source: string;
  account: string;
  handle: string;
  wallet: string | null;
  text: string;
  entry: string | null;
}
const storedAs = (messageId: unknown) =>
  sql<Stored>(t.app, 'select source, account, handle, wallet, text, entry::text from chat_messages where source_id = $1', [messageId]);
const eventsOf = async (text: string) =>
  (
    await sql<{ payload: Record<string, unknown> }>(t.app, `select payload from outbox where type = 'chat_message' and payload->>'text' = $1`, [text])
  ).map(({ payload }) => payload);
const worked = (verdict: string) => ({ state: 'worked', verdict });
const failed = (verdict: string) => ({ state: 'failed', verdict });

test('a bridged message is stored with its author’s handle', async () => {
  const message = bridged({ text: 'hello,\n\tworld', extra: { badges: ['founder'] } });
  expect(await verdictOn(t, message)).toEqual(worked('stored'));
  const shown = { source: 'twitch', handle: 'ada', wallet: null, text: 'hello, world' };
  expect(await storedAs(message.messageId)).toEqual([{ ...shown, account: message.author.id, entry: null }]);
  expect(await eventsOf('hello, world')).toEqual([{ ...shown, messageId: expect.any(String), entryId: null }]);
});

test('a bridged message of a linked account is stored with the wallet', async () => {
  const { author, wallet } = await linkedAuthor(t);
  const message = bridged({ author });
  expect(await verdictOn(t, message)).toEqual(worked('stored'));
  expect(await storedAs(message.messageId)).toMatchObject([{ wallet, handle: 'grace' }]);
});

test('a bridged !enter makes an entry if the account was linked before the round opened', async () => {
  const { author, wallet } = await linkedAuthor(t);
  const round = await openRound(t, { opensAt: new Date(t.clock.now().getTime() + 5).toISOString() });
  const message = bridged({ author, text: '!enter 9 8 7 6 5' });
  expect(await verdictOn(t, message)).toEqual(worked(`stored as entry 0 of round ${round}`));
  const [entry] = await entriesOf(t.app, round);
  expect(entry).toMatchObject({ index: 0, wallet, source: 'twitch', message: message.messageId, numbers: [5, 6, 7, 8, 9] });
  expect(await storedAs(message.messageId)).toMatchObject([{ wallet, entry: entry?.id }]);
  expect(await eventsOf('!enter 9 8 7 6 5')).toMatchObject([{ entryId: entry?.id }]);
});

test('a bridged !enter of an account that was linked after the opening, or not at all, is stored without an entry', async () => {
  const round = await openRound(t);
  const { author, wallet } = await linkedAuthor(t);
  const [late, unlinked] = [bridged({ author, text: '!enter' }), bridged({ text: '!enter' })];
  expect(await verdictOn(t, late)).toEqual(worked('stored without an entry: the account was linked after the opening of the round'));
  expect(await verdictOn(t, unlinked)).toEqual(worked('stored without an entry: no wallet is linked to the account'));
  expect(await storedAs(late.messageId)).toMatchObject([{ wallet, text: '!enter', entry: null }]);
  expect(await storedAs(unlinked.messageId)).toMatchObject([{ wallet: null, entry: null }]);
  expect(await entriesOf(t.app, round)).toEqual([]);
});

test('a bridged !enter is stored without an entry when no round is active or the wallet has the maximum number of entries', async () => {
  const { author } = await linkedAuthor(t);
  const enter = () => bridged({ author, text: '!enter' });
  expect(await verdictOn(t, enter())).toEqual(worked('stored without an entry: no round accepts entries now'));
  const round = await openRound(t, { opensAt: new Date(t.clock.now().getTime() + 5).toISOString() });
  expect(await verdictOn(t, enter())).toEqual(worked(`stored as entry 0 of round ${round}`));
  expect(await verdictOn(t, enter())).toEqual(worked('stored without an entry: a wallet can have at most 1 entries in this round'));
});

test('a bridged !enter with wrong numbers is not stored, and the verdict names the error', async () => {
  const { author } = await linkedAuthor(t);
  const round = await openRound(t, { opensAt: new Date(t.clock.now().getTime() + 5).toISOString() });
  for (const [text, verdict] of [
    ['!enter 1 2 3', 'the numbers of an entry must be 5 numbers'],
    ['!enter 1 2 3 4 99', 'the numbers of an entry must be from 1 to 50'],
    ['!enter now', 'text must be !enter, alone or with numbers, for example !enter 3 7 12 30 41'],
  ] as const) {
    for (const message of [bridged({ author, text }), bridged({ text })]) {
      expect(await verdictOn(t, message)).toEqual(failed(verdict));
      expect(await storedAs(message.messageId)).toEqual([]);
    }
    expect(await eventsOf(text)).toEqual([]);
  }
  expect(await entriesOf(t.app, round)).toEqual([]);
});

test('a message that is delivered twice under different delivery ids is stored once', async () => {
  const { author } = await linkedAuthor(t);
  const round = await openRound(t, { maxEntriesPerWallet: 10, opensAt: new Date(t.clock.now().getTime() + 5).toISOString() });
  const message = bridged({ author, text: '!enter' });
  expect(await verdictOn(t, message)).toEqual(worked(`stored as entry 0 of round ${round}`));
  expect(await verdictOn(t, message)).toEqual(worked('the message is stored already'));
  const again = bridged({ author, text: '!enter' });
  const verdicts = await Promise.all(Array.from({ length: 6 }, () => verdictOn(t, again)));
  expect(verdicts.filter(({ verdict }) => verdict === 'the message is stored already').length).toBe(5);
  const quiet = bridged({ text: 'six times' });
  await Promise.all(Array.from({ length: 6 }, () => verdictOn(t, quiet)));
  expect((await storedAs(quiet.messageId)).length).toBe(1);
  expect((await eventsOf('six times')).length).toBe(1);
  expect((await entriesOf(t.app, round)).length).toBe(2);
  // Another platform may use the same message id.
  expect(await verdictOn(t, { ...message, platform: 'discord', text: 'hi' })).toEqual(worked('stored'));
});

test('a repeated delivery is acknowledged, and one with the same id and another body is 409', async () => {
  const message = bridged();
  const first = await deliverBridged(t, message);
  expect((await deliverBridged(t, message, { id: first.id })).status).toBe(200);
  expect((await deliverBridged(t, { ...message, text: 'other' }, { id: first.id })).status).toBe(409);
});

test.each([
  [{ platform: 'chat' }, 'platform must not be chat or chain'],
  [{ platform: 'chain' }, 'platform must not be chat or chain'],
  [{ platform: 'Twitch' }, 'platform must be 1 to 32 lower-case letters, digits and hyphens'],
  [{ platform: undefined }, 'platform is required and must be text'],
  [{ messageId: 'x'.repeat(257) }, 'messageId must be at most 256 characters'],
  [{ messageId: '' }, 'messageId must not be empty'],
  [{ messageId: 'a\u0007b' }, 'messageId must not contain control characters'],
  [{ author: { id: 7, handle: 'ada' } }, 'author.id must be text'],
  [{ author: { id: '7', handle: '' } }, 'author.handle must not be empty'],
  [{ author: 'ada' }, 'author must be an object'],
  [{ text: 'x'.repeat(501) }, 'text must be at most 500 characters'],
  [{ text: '\n' }, 'text must not be empty'],
  [{ at: 'yesterday' }, 'at must be an ISO 8601 date and time'],
  [{ at: '0000-01-01T00:00:00Z' }, 'at must be an ISO 8601 date and time, of 1970 or later'],
])('%#: a malformed body is acknowledged and fails permanently', async (given, verdict) => {
  expect(await verdictOn(t, bridged(given))).toEqual(failed(verdict));
});

test('a delivery with a wrong signature is 401, and a body that is no JSON object is 400', async () => {
  expect((await deliverBridged(t, bridged(), { secret: createSecret() })).status).toBe(401);
  expect((await deliverBridged(t, [bridged()])).status).toBe(400);
});

test('messages above an author’s rate limit are not stored, and other authors are not affected', async () => {
  const author = { id: 'spammer', handle: 'spammer' };
  const verdicts = await Promise.all(Array.from({ length: 25 }, (_, i) => verdictOn(t, bridged({ author, text: `buy ${i}` }))));
  const tooMany = 'the chat takes no more messages: at most 20 requests are accepted in 10 s, try again later';
  expect(verdicts.filter(({ state }) => state === 'worked').length).toBe(20);
  expect(verdicts.filter(({ verdict }) => verdict === tooMany).length).toBe(5);
  expect(await verdictOn(t, bridged())).toEqual(worked('stored'));
});
