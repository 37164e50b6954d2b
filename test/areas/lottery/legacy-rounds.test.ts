import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readDraws } from '#areas/lottery/draws/account.ts';
import { openRound as openIn } from '#areas/lottery/legacy/open.ts';
import { getRound, postFinalize, postRound, postTicket } from '#areas/lottery/legacy/routes.ts';
import { parametersHash, RoundParameters } from '#lib/draw/parameters.ts';
import { sql } from '#test/support/areas/boards.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { inMs, openRound, randomSignature, requestTicket, storedEntries, storedTickets } from '#test/support/areas/tickets.ts';
import { clientOf } from '#test/support/http/client.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { type SignedIn, send, signIn } from '#test/support/wallet.ts';

let t: RewardsTest;
let player: SignedIn;
beforeAll(async () => {
  t = await startRoundsTest();
  player = await signIn(t);
});
afterAll(() => t.close());

const NOBODY = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';
const eventsOf = (round: string) =>
  sql<{ type: string; wallet: string | null; payload: Record<string, unknown> }>(
    t.app,
    `select type, wallet, payload from outbox where payload->>'roundId' = $1 order by id`,
    [round],
  );
const refusal = async (by: SignedIn, json: unknown) => {
  const response = await by.fetch('/round', { json });
  return [response.status, ((await response.json()) as { error: string }).error];
};

test('a new round is active immediately and shows how to pay for a ticket', async () => {
  const { body, headers } = await clientOf(t, player).ok(postRound, { body: { ticketPrice: '2500', maxTickets: 7, closesAt: inMs(t, 3_600_000) } });
  expect(headers.get('location')).toBe(`/round/${body.id}`);
  const { usdcMint, treasury } = t.chain.keys;
  expect(body).toMatchObject({
    ...{ status: 'active', createdBy: player.wallet, ticketPrice: '2500', maxTickets: 7, entries: 0, prizePool: '0' },
    payTo: { mint: usdcMint.publicKey.toBase58(), treasury: treasury.publicKey.toBase58(), memo: body.id },
    ...{ winner: null, winningTicket: null, entriesRoot: null, commitment: null },
  });
  const { body: read, headers: cached } = await clientOf(t).ok(getRound, { params: { id: body.id } });
  expect(read).toEqual(body);
  expect(cached.get('cache-control')).toBe('public, max-age=1');

  const [row] = await sql<{ parameters: unknown; hash: string }>(t.app, 'select parameters, parameters_hash as hash from rounds where id = $1', [
    body.id,
  ]);
  const parameters = RoundParameters.parse(row?.parameters);
  expect(parameters).toMatchObject({ kind: 'legacy', round: body.id, ticketPrice: '2500', maxTickets: 7, maxTicketsPerWallet: null, leadSec: 3 });
  expect(row?.hash).toBe(parametersHash(parameters));
  expect(await eventsOf(body.id)).toMatchObject([
    { type: 'round_started', wallet: null, payload: { kind: 'legacy', title: null, closesAt: body.closesAt } },
  ]);
});

test('by default a round is open for a day and has no ticket limit', async () => {
  const round = await openRound(t, await signIn(t), { ticketPrice: '0' });
  expect(Date.parse(round.closesAt ?? '') - Date.parse(round.opensAt ?? '')).toBe(86_400_000);
  expect(round).toMatchObject({ maxTickets: null, payTo: null });
});

test('terms outside their bounds are refused with 400', async () => {
  const by = await signIn(t);
  expect(await refusal(by, {})).toEqual([400, 'ticketPrice is required and must be text']);
  expect(await refusal(by, { ticketPrice: '1000000000001' })).toEqual([400, 'ticketPrice must be at most 1000000000000']);
  expect((await refusal(by, { ticketPrice: '-1' }))[0]).toBe(400);
  expect((await refusal(by, { ticketPrice: '99999999999999999999' }))[0]).toBe(400);
  expect((await refusal(by, { ticketPrice: '1', maxTickets: 0 }))[0]).toBe(400);
  expect((await refusal(by, { ticketPrice: '1', maxTickets: 1_000_001 }))[0]).toBe(400);
  const soon = [400, 'closesAt must be in the future and at most 30 days ahead'];
  expect(await refusal(by, { ticketPrice: '1', closesAt: inMs(t, -1_000) })).toEqual(soon);
  expect(await refusal(by, { ticketPrice: '1', closesAt: inMs(t, 31 * 86_400_000) })).toEqual(soon);
  expect((await send(t, '/round', { json: { ticketPrice: '1' } })).status).toBe(401);
});

test('a round can close in a millisecond or in exactly 30 days, and neither now nor later than in 30 days', async () => {
  const draws = await readDraws(t.app);
  const now = t.clock.now().getTime();
  /** Opens a round at the time `now`. @returns its duration, or the error */
  const openFor = async (ms: number) => {
    const opened = t.app.tx(async (tx) => {
      const query: typeof tx.query = async (statement, values) => {
        const rows = await tx.query(statement, values);
        return statement.name === 'read_opened_legacy_rounds' ? rows.map((row) => ({ ...row, now })) : rows;
      };
      const terms = { ticketPrice: '0', closesAt: new Date(now + ms).toISOString(), entryRules: {} };
      return await openIn(t.app, { ...tx, query }, draws, player.wallet, terms);
    });
    return await opened.then(
      ({ closesAt }) => Date.parse(closesAt ?? '') - now,
      ({ message }: Error) => message,
    );
  };
  const refused = 'closesAt must be in the future and at most 30 days ahead';
  const days = 30 * 86_400_000;
  expect([await openFor(0), await openFor(1), await openFor(days), await openFor(days + 1)]).toEqual([refused, 1, days, refused]);
});

test('repeated requests with the same Idempotency-Key open one round', async () => {
  const client = clientOf(t, await signIn(t));
  const [a, b] = await Promise.all([1, 2].map(() => client.ok(postRound, { body: { ticketPrice: '5' }, idempotencyKey: 'one-round' })));
  expect(a?.body.id).toBe(b?.body.id);
});

test('an unknown id and the id of a chat round are 404', async () => {
  const [chat] = await sql<{ id: string }>(
    t.app,
    `insert into rounds (kind, state, title, created_by, picks, range, max_entries_per_wallet, prizes, duration_sec)
     values ('chat', 'pending', 'Friday', 'test', 5, 50, 1, '[]', 60) returning id::text`,
  );
  const client = clientOf(t, player);
  for (const id of [NOBODY, chat?.id ?? '']) {
    expect((await client.call(getRound, { params: { id } })).status).toBe(404);
    expect((await client.call(postTicket, { params: { id }, body: {} })).status).toBe(404);
    expect((await client.call(postFinalize, { params: { id } })).status).toBe(404);
    expect((await send(t, `/round/${id}/tickets/${NOBODY}`)).status).toBe(404);
  }
  expect((await send(t, '/round/17')).status).toBe(404);
});

test('a free ticket is confirmed immediately and has a receipt', async () => {
  const round = await openRound(t, player, { ticketPrice: '0' });
  const answer = await clientOf(t, player).ok(postTicket, { params: { id: round.id }, body: {} });
  expect(answer.status).toBe(201);
  expect(answer.body).toMatchObject({ status: 'confirmed', ticketNumber: 0, transaction: null, refunds: [], reason: null });
  const { ticketId, receipt } = answer.body;
  expect(receipt?.statement).toMatchObject({
    round: round.id,
    entry: ticketId,
    index: 0,
    wallet: player.wallet,
    numbers: [],
    source: 'ticket',
    messageId: ticketId,
  });
  expect((await send(t, `/round/${round.id}/tickets/${ticketId}`)).status).toBe(200);
  expect((await clientOf(t).ok(getRound, { params: { id: round.id } })).body).toMatchObject({ entries: 1, prizePool: '0' });
  expect((await eventsOf(round.id)).map(({ type }) => type).sort()).toEqual(['new_entry', 'round_started', 'ticket_confirmed']);
  const paid = await requestTicket(player, round, randomSignature());
  expect([paid.status, await paid.json()]).toEqual([400, { error: 'transaction must be omitted, because tickets of this round are free' }]);
});

test('fifty concurrent requests of a wallet for a free ticket create one ticket', async () => {
  const round = await openRound(t, await signIn(t), { ticketPrice: '0' });
  const answers = await Promise.all(Array.from({ length: 50 }, () => player.fetch(`/round/${round.id}/ticket`, { json: {} })));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(49);
  expect(await storedEntries(t, round)).toHaveLength(1);
  expect(await storedTickets(t, round)).toHaveLength(1);
});

test('a round accepts no more tickets than its maximum and none after its closing time', async () => {
  const creator = await signIn(t);
  const full = await openRound(t, creator, { ticketPrice: '0', maxTickets: 3 });
  const players = await Promise.all(Array.from({ length: 8 }, () => signIn(t)));
  const answers = await Promise.all(players.map((one) => one.fetch(`/round/${full.id}/ticket`, { json: {} })));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409, 409, 409]);
  expect((await storedEntries(t, full)).map(({ index }) => index)).toEqual([0, 1, 2]);

  const closed = await openRound(t, creator, { ticketPrice: '0' });
  await creator.fetch(`/round/${closed.id}/finalize`, { method: 'POST' });
  const late = await player.fetch(`/round/${closed.id}/ticket`, { json: {} });
  expect([late.status, await late.json()]).toEqual([409, { error: 'the round is closed' }]);
});

test('each ticket request that races with the close is either confirmed and counted or refused', async () => {
  const creator = await signIn(t);
  const round = await openRound(t, creator, { ticketPrice: '0' });
  const players = await Promise.all(Array.from({ length: 12 }, () => signIn(t)));
  const asked = players.map((one) => one.fetch(`/round/${round.id}/ticket`, { json: {} }));
  const closing = creator.fetch(`/round/${round.id}/finalize`, { method: 'POST' });
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect([200, 202]).toContain((await closing).status);
  const [row] = await sql<{ entries: number }>(t.app, 'select entries from rounds where id = $1', [round.id]);
  expect(statuses.filter((status) => status === 201)).toHaveLength(row?.entries ?? -1);
  expect(statuses.every((status) => status === 201 || status === 409)).toBe(true);
});

test('the creator can close a round at any time, other wallets only after its closing time', async () => {
  const creator = await signIn(t);
  const round = await openRound(t, creator, { ticketPrice: '0' });
  await player.fetch(`/round/${round.id}/ticket`, { json: {} });
  const params = { id: round.id };
  expect(await clientOf(t, player).call(postFinalize, { params })).toMatchObject({ status: 403 });
  expect((await clientOf(t).ok(getRound, { params })).body.status).toBe('active');
  const answer = await clientOf(t, creator).ok(postFinalize, { params });
  expect(answer.status).toBe(202);
  expect(answer.headers.get('location')).toBe(`/round/${round.id}`);
  expect(answer.body).not.toMatchObject({ status: 'active' });
  expect([200, 202]).toContain((await clientOf(t, player).call(postFinalize, { params })).status);
  expect((await send(t, `/round/${round.id}/finalize`, { method: 'POST' })).status).toBe(401);
});
