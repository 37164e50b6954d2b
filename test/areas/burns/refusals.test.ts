import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { ingestBurns } from '#areas/burns/ingest.ts';
import { activateEvent, endEvent } from '#areas/burns/lifecycle.ts';
import type { BurnEventRow } from '#areas/burns/rows.ts';
import { RefusedBurn } from '#areas/burns/schemas.ts';
import type { Instruction } from '#platform/solana/primitives.ts';
import { memo } from '#platform/solana/tokens.ts';
import { sql } from '#test/support/areas/boards.ts';
import * as burns from '#test/support/areas/burns.ts';
import { newPayer } from '#test/support/areas/tickets.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { type RewardsTest, startRewardsTest } from '#test/support/solana/claims.ts';
import { send, signIn } from '#test/support/wallet.ts';

const { activateNewEvent, burn, burnFor, burnMemo, createTestEvent, creditAll, finalizedBurn, ingestFinal, readBurns, scheduleRelist } = burns;

type Payer = Awaited<ReturnType<typeof newPayer>>;
let t: RewardsTest;
let event: BurnEventRow;
let me: Payer;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false });
  me = await newPayer(t);
});
afterAll(() => t.close());

const listOf = (who: Pick<Payer, 'fetch'>, query = '') => jsonOf(who.fetch(`/me/burns/refused${query}`), z.array(RefusedBurn));
const reasonsOf = async (who: Pick<Payer, 'fetch'> = me) =>
  new Map((await listOf(who)).map(({ signature, index, reason, burnEventId, amount }) => [`${signature}:${index}`, [reason, burnEventId, amount]]));

/** Moves the start and the end of an event into the past. */
const antedate = ({ id }: { id: string }, by: string) =>
  sql(t.app, 'update burn_events set activated_at = activated_at - $2::interval, ends_at = ends_at - $2::interval where id = $1', [id, by]);

test('a burn that cannot be credited is listed to its wallet only, with the reason', async () => {
  const ended = await activateNewEvent(t.app);
  await endEvent(t.app, ended.id);
  await antedate(ended, '1 hour');
  event = await activateNewEvent(t.app);
  const pending = await createTestEvent(t.app);
  const unknown = crypto.randomUUID();
  const send = (amount: bigint, ...memos: Instruction[]) => t.chain.send([...memos, burn(t, me.keys, amount)], [me.keys]);
  const right = burnMemo(event);
  const sent = new Map<string, unknown[]>([
    [`${await send(1n)}:0`, ['no-memo', null, '1']],
    [`${await send(2n, memo('for grandma'))}:1`, ['no-memo', null, '2']],
    [`${await send(3n, right, burnMemo(event, 'social'))}:2`, ['several-memos', null, '3']],
    [`${await send(4n, right, right)}:2`, ['several-memos', null, '4']],
    [`${await send(5n, burnMemo(event, 'total'))}:1`, ['invalid-memo', null, '5']],
    [`${await send(6n, memo('burn:me'))}:1`, ['invalid-memo', null, '6']],
    [`${await send(7n, burnMemo({ id: unknown }))}:1`, ['unknown-event', unknown, '7']],
    [`${await send(8n, burnMemo(pending))}:1`, ['not-started', pending.id, '8']],
    [`${await send(9n, burnMemo(ended))}:1`, ['ended', ended.id, '9']],
  ]);
  const credited = await burnFor(t, me.keys, event, 10n);
  await ingestFinal(t, [...[...sent.keys()].map((key) => key.slice(0, key.lastIndexOf(':'))), credited]);
  expect(await reasonsOf()).toEqual(sent);
  expect((await readBurns(t.app, event)).map(({ signature }) => signature)).toEqual([credited]);
  expect(await listOf(await signIn(t))).toEqual([]);

  // The transactions are listed and read again, also by two runs at once.
  await sql(t.app, 'delete from burn_refusal_candidates');
  await scheduleRelist(t.app);
  await Promise.all([ingestFinal(t, []), ingestFinal(t, [])]);
  await ingestFinal(t, []);
  expect(await reasonsOf()).toEqual(sent);
});

test('the list is paged, newest first, and requires a session', async () => {
  const all = await listOf(me);
  expect(all.map(({ at }) => at)).toEqual(
    all
      .map(({ at }) => at)
      .sort()
      .reverse(),
  );
  expect((await me.fetch('/me/burns/refused?limit=2')).headers.get('X-Total-Count')).toBe(String(all.length));
  expect([...(await listOf(me, '?limit=4')), ...(await listOf(me, '?limit=500&offset=4'))]).toEqual(all);
  expect((await send(t, '/me/burns/refused')).status).toBe(401);
});

test('a burn that the owner of the tokens did not sign is listed to the owner', async () => {
  const delegate = await newPayer(t);
  const { rewardMint } = t.chain.keys;
  const account = burns.tokenAccountOf(t, me.keys);
  const approve = burns.tokenInstruction(4, 50n, [account, delegate.keys.publicKey, me.keys.publicKey], me.keys);
  const burnDelegated = burns.tokenInstruction(burns.BURN, 11n, [account, rewardMint.publicKey, delegate.keys.publicKey], delegate.keys);
  const signature = await t.chain.send([approve, burnDelegated, burnMemo(event)], [me.keys, delegate.keys]);
  await ingestFinal(t, [signature]);
  expect((await reasonsOf()).get(`${signature}:1`)).toEqual(['not-owner', event.id, '11']);
  expect(await listOf(delegate)).toEqual([]);
});

test('a burn for an event of another token, and a burn that is found after the event is final, are refused', async () => {
  const at = Date.parse(event.activatedAt ?? '');
  const other = finalizedBurn(event, me.wallet, 12n);
  await sql(t.app, 'update burn_events set mint = $2 where id = $1', [event.id, t.chain.keys.usdcMint.publicKey.toBase58()]);
  await creditAll(t.app, event, [other]);
  await sql(t.app, 'update burn_events set mint = $2 where id = $1', [event.id, event.mint]);
  const counted = finalizedBurn(event, me.wallet, 13n, 'game', { at });
  await creditAll(t.app, event, [counted]);
  await endEvent(t.app, event.id);
  await sql(t.app, 'update burn_events set final_at = app_now() where id = $1', [event.id]);
  const late = finalizedBurn(event, me.wallet, 14n, 'game', { at });
  await creditAll(t.app, event, [late, counted]);
  const reasons = await reasonsOf();
  expect(reasons.get(`${other.signature}:0`)).toEqual(['other-token', event.id, '12']);
  expect(reasons.get(`${late.signature}:0`)).toEqual(['too-late', event.id, '14']);
  expect(reasons.has(`${counted.signature}:0`)).toBe(false);
});

test('a burn made after the end of the last event is listed until a day after the end, by one request per minute', async () => {
  await antedate(event, '1 hour');
  const late = await burnFor(t, me.keys, event, 15n);
  await scheduleRelist(t.app);
  await ingestFinal(t, [late]);
  expect((await reasonsOf()).get(`${late}:0`)).toEqual(['ended', event.id, '15']);
  const requests = await t.chain.control.fault({ kind: 'delay', ms: 0 });
  await ingestBurns(t.app);
  expect(await requests.hits()).toBe(0);
  for (const { id } of await sql<{ id: string }>(t.app, `select id from burn_events where state = 'ended'`)) await antedate({ id }, '2 days');
  await scheduleRelist(t.app);
  await ingestBurns(t.app);
  expect(await requests.hits()).toBe(0);
  await t.chain.control.clear();
});

test('a burn that was refused because its event had not started is credited when the event turns out to have started before it', async () => {
  const { id } = await createTestEvent(t.app);
  const early = await burnFor(t, me.keys, { id }, 16n);
  await burns.waitUntilFinal(t, [early]);
  const pending = { ...event, id, mint: event.mint };
  const at = (await t.chain.connection.getBlockTime(await burns.slotOf(t, early))) ?? 0;
  await creditAll(t.app, pending, [finalizedBurn(pending, me.wallet, 16n, 'game', { signature: early, at: at * 1_000 })]);
  expect((await reasonsOf()).get(`${early}:0`)).toEqual(['not-started', id, '16']);
  await activateEvent(t.app, id, null);
  await sql(t.app, 'update burn_events set activated_at = to_timestamp($2) where id = $1', [id, at]);
  await scheduleRelist(t.app);
  await ingestFinal(t, [early]);
  expect((await readBurns(t.app, { id })).map(({ amount }) => amount)).toEqual(['16']);
  expect((await reasonsOf()).has(`${early}:0`)).toBe(false);
});
