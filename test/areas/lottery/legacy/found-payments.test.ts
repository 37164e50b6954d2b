import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { findTicketPayments } from '#areas/lottery';
import { checkTicket, sweepTickets } from '#areas/lottery/legacy/check.ts';
import { scanAccount } from '#areas/lottery/legacy/scan.ts';
import { transferLamports } from '#platform/solana/system-program.ts';
import { associatedTokenAddress, memo } from '#platform/solana/tokens.ts';
import { sql } from '#test/support/areas/boards.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { newPayer, openRound, type Payer, payFor, randomSignature, requestTicket, storedTickets, untilFinal } from '#test/support/areas/tickets.ts';
import { holdTransaction } from '#test/support/locks.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { type SignedIn, signIn } from '#test/support/wallet.ts';

/** Small pages, so that few transactions need many runs. */
const SMALL = { firstPage: 2, page: 3, pages: 2 };

let t: RewardsTest;
let creator: SignedIn;
let payer: Payer;
let round: Awaited<ReturnType<typeof openRound>>;
beforeAll(async () => {
  // No worker lists the history, so that only the calls of this test do.
  t = await startRoundsTest({ env: { QUEUES: 'epochs' } });
  [creator, payer] = await Promise.all([signIn(t), newPayer(t)]);
  round = await openRound(t, creator);
});
afterAll(() => t.close());
beforeEach(async () => void (await sql(t.app, 'truncate ticket_payments, ticket_scans')));
afterEach(() => t.chain.control.clear());

const account = () => associatedTokenAddress(t.chain.keys.treasury.publicKey, t.chain.keys.usdcMint.publicKey);
const scan = (limits = SMALL) => scanAccount(t.app, account(), Date.parse(round.opensAt ?? '') - 60_000, limits);
const found = async () =>
  (await sql<{ signature: string }>(t.app, 'select signature from ticket_payments order by 1')).map(({ signature }) => signature);
const state = async () =>
  (await sql<{ head: string | null; done: string }>(t.app, 'select head_slot::text as head, done_slot::text as done from ticket_scans'))[0];
/** Sends a transaction of a stranger that names the treasury's account without paying, with memos. */
const spam = (...memos: readonly string[]) =>
  t.chain.send([transferLamports(payer.keys.publicKey, account(), 0), ...memos.map((text) => memo(text))], [payer.keys]);
async function spamMany(count: number) {
  for (let i = 0; i < count; i++) await spam(`hello ${i} ${Math.random()}`);
}

test('payments between transactions of strangers are found over several runs, each once, while further ones arrive and two processes list', async () => {
  const paid: string[] = [];
  for (let i = 0; i < 4; i++) {
    await spamMany(5);
    paid.push(await payFor(t, payer, round, 1_000n + BigInt(i)));
  }
  await untilFinal(t, paid.at(-1) ?? '');
  await scan();
  expect((await state())?.head).not.toBeNull();
  const late = await payFor(t, payer, round, 2_000n);
  await untilFinal(t, late);
  for (let run = 0; run < 12; run++) await Promise.all([scan(), scan()]);
  expect((await state())?.head).toBeNull();
  expect(await found()).toEqual([...paid, late].sort());
  await sql(t.app, `update ticket_payments set read_at = app_now()`);
  await scan({ ...SMALL, pages: 30 });
  expect(await sql(t.app, 'select 1 from ticket_payments where read_at is null')).toEqual([]);
});

test('a transaction is stored only if it succeeded and its one memo is the id of a round with paid tickets', async () => {
  const free = await openRound(t, creator, { ticketPrice: '0' });
  const poor = await t.chain.fundWallet({ lamports: 1_000_000 });
  const failed = await t.chain.send([transferLamports(poor.publicKey, account(), 10_000_000), memo(round.id)], [poor]);
  const others = [failed, await spam(`${round.id} `), await spam(free.id), await spam(creator.wallet), await spam(round.id, round.id), await spam()];
  const named = await spam(round.id);
  await untilFinal(t, named);
  await scan({ firstPage: 10, page: 1_000, pages: 20 });
  const stored = await found();
  expect(stored).toContain(named);
  expect(others.filter((signature) => stored.includes(signature))).toEqual([]);
});

test('while the RPC node does not answer, a run fails and keeps its progress, and a later run continues', async () => {
  await spamMany(8);
  const paid = await payFor(t, payer, round, 3_000n);
  await untilFinal(t, paid);
  await scan({ ...SMALL, pages: 1 });
  const kept = await state();
  expect(kept?.head).not.toBeNull();
  await t.chain.control.fault({ kind: 'fail', methods: ['getSignaturesForAddress'] });
  await expect(scan()).rejects.toThrow('the RPC node does not answer');
  expect(await state()).toEqual(kept);
  await t.chain.control.clear();
  await scan({ ...SMALL, pages: 100 });
  expect((await state())?.head).toBeNull();
  expect(await found()).toContain(paid);
});

test('when no RPC node knows the transaction at which a listing continues, the listing begins again at the newest transaction', async () => {
  await spamMany(8);
  const paid = await payFor(t, payer, round, 4_000n);
  await untilFinal(t, paid);
  await scan({ ...SMALL, pages: 1 });
  await sql(t.app, 'update ticket_scans set before = $1', ['unknown']);
  await expect(scan()).rejects.toThrow('no RPC node lists the transactions of the treasury at the moment');
  expect(await sql(t.app, 'select head_slot, before from ticket_scans')).toEqual([{ head_slot: null, before: null }]);
  await scan({ ...SMALL, pages: 100 });
  expect(await found()).toContain(paid);
});

test('an account without transactions is listed once at each RPC node', async () => {
  const listed = await t.chain.control.fault({ kind: 'delay', methods: ['getSignaturesForAddress'], ms: 0 });
  const unused = associatedTokenAddress(payer.keys.publicKey, payer.keys.publicKey);
  await scanAccount(t.app, unused, 0, SMALL);
  expect(await listed.hits()).toBe([t.app.chain.node, t.app.chain.second].filter((node) => node !== null).length);
});

test('a run that lists slowly does not overwrite the progress of a run that ended meanwhile', async () => {
  await spamMany(4);
  await untilFinal(t, await payFor(t, payer, round, 5_000n));
  const slow = await t.chain.control.fault({ kind: 'delay', methods: ['getSignaturesForAddress'], ms: 600 });
  const late = scan({ ...SMALL, pages: 1 });
  await retryUntilPass(async () => expect(await slow.hits()).toBe(1));
  await slow.clear();
  await scan({ firstPage: 1_000, page: 1_000, pages: 3 });
  const ended = await state();
  expect(ended?.head).toBeNull();
  await late;
  expect(await state()).toEqual(ended);
});

test('a run lists the payments of the last hour and records the tickets of those that were found five seconds ago and that no wallet named', async () => {
  const own = await openRound(t, creator);
  const paid = await untilFinal(t, await payFor(t, payer, own));
  const slow = await t.chain.control.fault({ kind: 'delay', methods: ['getSignaturesForAddress'], ms: 300 });
  await findTicketPayments(t.app);
  await slow.clear();
  expect(await found()).toContain(paid);
  expect(await storedTickets(t, own)).toEqual([]);
  await sql(t.app, 'update ticket_payments set next_at = app_now()');
  await findTicketPayments(t.app);
  expect(await storedTickets(t, own)).toMatchObject([{ wallet: payer.wallet, signature: paid, state: 'checking' }]);
});

test('a run reads at most 100 transactions, of all rounds those that are oldest', async () => {
  const rounds = [];
  for (let i = 0; i < 5; i++) rounds.push((await openRound(t, creator)).id);
  const payments = rounds.flatMap((id, i) =>
    Array.from({ length: 25 }, (_, n) => ({ id, slot: 1_000_000 + 5 * n - i, signature: randomSignature() })),
  );
  await sql(
    t.app,
    `insert into ticket_payments (signature, round, slot, next_at)
     select signature, id, slot, app_now() from jsonb_to_recordset($1) as p(signature text, id uuid, slot int8)`,
    [JSON.stringify(payments)],
  );
  await findTicketPayments(t.app);
  const read = await sql<{ slot: number }>(t.app, 'select slot::int as slot from ticket_payments where tries > 0 order by slot');
  const oldest = payments.map(({ slot }) => slot).sort((a, b) => a - b);
  expect(read.map(({ slot }) => slot)).toEqual(oldest.slice(0, 100));
});

test('a run deletes what was read more than a day ago, and does not wait for another process that deletes a part of it', async () => {
  const [locked, old, recent] = [randomSignature(), randomSignature(), randomSignature()];
  const insert = `insert into ticket_payments (signature, round, slot, read_at) values ($1, $2, 1, app_now() - $3::interval)`;
  for (const [signature, age] of [
    [locked, '25 hours'],
    [old, '25 hours'],
    [recent, '23 hours'],
  ])
    await sql(t.app, insert, [signature, round.id, age]);
  const commit = await holdTransaction(t.app, (tx) => tx.query({ text: 'select 1 from ticket_payments where signature = $1 for update' }, [locked]));
  const run = findTicketPayments(t.app);
  const first = await Promise.race([run.then(() => 'the run'), sleep(5_000, 'the wait', { ref: false })]);
  await commit();
  await run;
  expect(first).toBe('the run');
  const left = await found();
  expect([locked, old, recent].map((signature) => left.includes(signature))).toEqual([true, false, true]);
});

/** Requests a ticket a time ago, of which no worker checks the payment. @returns the id of the ticket */
async function requested(signature: string, ago: string): Promise<string> {
  expect((await requestTicket(payer, round, signature, { Prefer: 'respond-async' })).status).toBe(202);
  const [ticket] = await sql<{ id: string }>(
    t.app,
    'update tickets set asked_at = app_now() - $2::interval, next_at = app_now() where signature = $1 returning id::text',
    [signature, ago],
  );
  if (!ticket) throw new Error('no ticket was requested');
  return ticket.id;
}

test('a ticket whose transaction cannot be read is refused after a day, and until then its check fails and is repeated', async () => {
  const signature = randomSignature();
  const id = await requested(signature, '23 hours');
  await t.chain.control.fault({ kind: 'fail', methods: ['getTransaction'] });
  const stateOf = () => sql(t.app, 'select state, reason from tickets where id = $1', [id]);
  await expect(checkTicket(t.app, id)).rejects.toThrow('the RPC node does not answer');
  expect(await stateOf()).toEqual([{ state: 'checking', reason: null }]);
  await sql(t.app, `update tickets set asked_at = app_now() - interval '25 hours' where id = $1`, [id]);
  await checkTicket(t.app, id);
  expect(await stateOf()).toEqual([{ state: 'refused', reason: 'the transaction cannot be read; request the ticket again later' }]);
});

test('a sweep enqueues a check for each ticket whose transaction is finalized or lost, and for no other', async () => {
  await sql(t.app, `update tickets set next_at = app_now() + interval '1 hour'`);
  const final = await requested(await untilFinal(t, await payFor(t, payer, round)), '1 second');
  const lost = await requested(randomSignature(), '11 minutes');
  await requested(randomSignature(), '9 minutes');
  const enqueued: unknown[] = [];
  const add = async (jobs: readonly { payload: unknown }[]) => void enqueued.push(...jobs.map(({ payload }) => payload));
  await sweepTickets({ ...t.app, queues: { ...t.app.queues, add } });
  expect(enqueued).toHaveLength(2);
  expect(enqueued).toEqual(expect.arrayContaining([{ ticket: final }, { ticket: lost }]));
});

test('the account for payments is listed until a day after the last round with paid tickets was closed', async () => {
  await sql(
    t.app,
    `update rounds set state = 'void', void_reason = 'no-entries', closed = '{}', closed_at = app_now(), ended_at = app_now()
     where kind = 'legacy' and state = 'active'`,
  );
  const dayLater = t.clock.now().getTime() + 86_400_000;
  const isListed = async () => {
    await sql(t.app, 'truncate ticket_scans');
    await findTicketPayments(t.app);
    return (await state()) !== undefined;
  };
  await t.clock.set(new Date(dayLater - 60_000));
  expect(await isListed()).toBe(true);
  await t.clock.set(new Date(dayLater + 60_000));
  expect(await isListed()).toBe(false);
});
