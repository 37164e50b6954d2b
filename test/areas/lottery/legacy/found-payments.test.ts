import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { scanAccount } from '#areas/lottery/legacy/scan.ts';
import { transferLamports } from '#platform/solana/system-program.ts';
import { associatedTokenAddress, memo } from '#platform/solana/tokens.ts';
import { sql } from '#test/support/areas/boards.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { newPayer, openRound, type Payer, payFor, untilFinal } from '#test/support/areas/tickets.ts';
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
