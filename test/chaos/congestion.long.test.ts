import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createPayments } from '#areas/payouts';
import { requestClaim } from '#areas/rewards/claims/request.ts';
import { readConfig } from '#config';
import { openContext } from '#context';
import { LocalnetControl } from '#dev/localnet/control/control.ts';
import { type System, startSystem } from '#dev/stack/system.ts';
import type { App } from '#platform/app.ts';
import { addTickets, closeNow, openLegacy } from '#test/support/areas/draws.ts';
import { paymentRequest } from '#test/support/areas/payouts.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { connect, type TestConnection } from '#test/support/solana/chain.ts';
import { insertComputedEpoch, untilEpoch } from '#test/support/solana/claims.ts';
import { createWallet } from '#test/support/wallet.ts';
import { audit } from './system/audit.ts';

/** Number of turns. In each turn, an epoch with `CLAIMS` wallets is opened, one round is closed, and `PAYMENTS` payments are requested. */
const TURNS = Number(process.env.CONGESTION_TURNS ?? 15);
const CLAIMS = 6;
const PAYMENTS = 3;
const SLOT_MS = 200;
/** Pause after each turn, ms: the turns last as long as the waves of the market. */
const TURN_MS = 4_000;
/** Life of a blockhash, blocks. */
const LIFE_BLOCKS = 150;
/** Minimum share of the transactions that land within the life of a blockhash. */
const SHARE_IN_TIME = 0.99;
/** Maximum of the priority fees paid, as a multiple of the fees at the lowest price that landed in the same blocks. */
const MAX_RATIO = 2;

let system: System;
let db: pg.Client;
let app: App;
let control: LocalnetControl;
let connection: TestConnection;
/** The lowest price that landed in each block. */
const lowest = new Map<number, number>();

beforeAll(async () => {
  system = await startSystem({
    workers: 2,
    localnet: { slotMs: SLOT_MS, finalizedAfter: 32, beaconMs: 1_000 },
    env: {
      ...{ LANDING_POLL_MS: String(SLOT_MS), LANDING_GIVE_UP_MS: '60000', LOG_LEVEL: 'error', DRAW_LEAD_SEC: '60', DRAW_MARGIN_SEC: '1' },
      ...{ TOKEN_ACCOUNT_DAILY_BUDGET: '1000000000000', DAILY_SOL_LIMIT: '1000000000000', TOKEN_ACCOUNT_MIN_CLAIM: '1' },
    },
  });
  db = new pg.Client({ connectionString: system.postgres.url });
  await db.connect();
  app = await openContext(readConfig(system.env), 'congestion');
  control = new LocalnetControl(app.config.chain.rpcUrl);
  connection = connect(app.config.chain.rpcUrl);
}, 120_000);

afterAll(async () => {
  await app?.close();
  await db?.end();
  await system?.stop();
}, 60_000);

const FIRST_EPOCH = Math.floor(Date.now() / 86_400_000) - 2 * TURNS - 1;

async function recordPrices(): Promise<void> {
  for (const { slot, prioritizationFee } of await connection.getRecentPrioritizationFees())
    if (prioritizationFee > 0) lowest.set(slot, prioritizationFee);
}

/** Opens an epoch, and requests its claims when its root is finalized. */
async function runEpoch(epoch: number): Promise<void> {
  const wallets = Array.from({ length: CLAIMS }, () => [createWallet().address, 1_000n] as const);
  const { leaves } = await insertComputedEpoch(app, epoch, wallets);
  await retryUntilPass(() => untilEpoch({ app }, epoch, 'committed'), 120_000);
  for (const { wallet, proof } of leaves) {
    await app.tx((tx) => requestClaim(tx, wallet, { epoch, proof: proof.map((node) => Buffer.from(node, 'hex')) }));
    await sleep(5 * SLOT_MS);
  }
}

interface Landed {
  kind: string;
  subject: string;
  /** Slot at the first signing, and slot of landing. */
  first: number;
  slot: number;
  attempts: number;
  price: number;
  /** Priority fees of all attempts that landed, failed ones included, lamports. */
  paid: number;
  fee: number;
}

const readLanded = async (since: Date): Promise<Landed[]> =>
  (
    await db.query<Landed>(
      `select t.kind, t.subject, min(a.signed_slot)::float8 as first, max(a.slot) filter (where a.state = 'finalized')::float8 as slot, count(*)::int as attempts,
         max(a.price) filter (where a.state = 'finalized')::float8 as price,
         sum(a.fee - 5000 * cardinality(a.signers)) filter (where a.state in ('finalized', 'failed'))::float8 as paid,
         sum(a.fee - 5000 * cardinality(a.signers)) filter (where a.state = 'finalized')::float8 as fee
       from chain_transactions t join chain_attempts a on a.transaction_id = t.id
       where t.kind in ('claim', 'epoch-root', 'draw-commitment', 'payout-batch') and t.created_at >= $1
       group by t.kind, t.subject having bool_or(a.state = 'finalized')`,
      [since],
    )
  ).rows;

/** Returns the slots from the first signing of each payment until its landing, over all batches that contained it. */
const readPaymentSlots = async (since: Date): Promise<number[]> =>
  (
    await db.query<{ slots: number }>(
      `select (max(a.slot) filter (where a.state = 'finalized') - min(a.signed_slot))::float8 as slots
       from payout_batch_members m join chain_transactions t on t.kind = 'payout-batch' and t.subject = m.batch::text
       join chain_attempts a on a.transaction_id = t.id where t.created_at >= $1 group by m.payment`,
      [since],
    )
  ).rows.map(({ slots }) => slots);

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;

/** Makes transactions of all types in turns, and waits until all are finalized and no attempt is live. */
async function runLoad(firstEpoch: number, beforeTurn: (turn: number) => Promise<void>): Promise<void> {
  const epochs: Promise<void>[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    await beforeTurn(turn);
    epochs.push(runEpoch(firstEpoch + turn));
    const round = await openLegacy({ app }, '0', `wallet ${turn}`);
    await addTickets({ app }, round, 1);
    await closeNow({ app }, round);
    await app.tx((tx) =>
      createPayments(
        app,
        tx,
        Array.from({ length: PAYMENTS }, () => paymentRequest()),
      ),
    );
    await sleep(TURN_MS);
    await recordPrices();
  }
  let isDone = false;
  const recording = (async () => {
    while (!isDone) {
      await recordPrices();
      await sleep(20 * SLOT_MS);
    }
  })();
  await Promise.all(epochs);
  await retryUntilPass(async () => {
    const { rows } = await db.query<{ open: number }>(
      `select (select count(*) from claims where state <> 'claimed')::int + (select count(*) from payments where state <> 'completed')::int
         + (select count(*) from chain_attempts where state in ('signed', 'sent', 'confirmed'))::int as open`,
    );
    expect(rows[0]?.open).toBe(0);
  }, 240_000);
  isDone = true;
  await recording;
}

interface Figures {
  readonly kind: string;
  readonly transactions: number;
  readonly attempts: number;
  /** Landing times, slots after the first signing. For payouts, those of the payments. */
  readonly slots: readonly number[];
  /** The priority fees paid, as a multiple of those at the lowest price of the same blocks: of all transactions, and at the 95th percentile. */
  readonly ratio: number;
  readonly p95Ratio: number;
}

/** Reads the figures of the transactions since a time, by type, and prints them. */
async function measure(title: string, since: Date): Promise<Figures[]> {
  const landed = await readLanded(since);
  const payments = await readPaymentSlots(since);
  const figures = [...Map.groupBy(landed, ({ kind }) => kind)].map(([kind, all]): Figures => {
    const ratios = all.flatMap(({ price, slot }) => (lowest.has(slot) ? [price / (lowest.get(slot) ?? 1)] : []));
    const paid = all.reduce((sum, one) => sum + one.paid, 0);
    const cheapest = all.reduce((sum, { fee, price, slot }) => sum + (fee * (lowest.get(slot) ?? price)) / price, 0);
    return {
      kind,
      transactions: all.length,
      attempts: all.reduce((sum, { attempts }) => sum + attempts, 0),
      slots: kind === 'payout-batch' ? payments : all.map(({ first, slot }) => slot - first),
      ratio: Number((paid / cheapest).toFixed(2)),
      p95Ratio: Number(percentile(ratios, 0.95).toFixed(2)),
    };
  });
  const lines = figures.map(({ slots, ...figure }) =>
    JSON.stringify({
      ...figure,
      ...{ inTime: inTime(slots), medianSlots: percentile(slots, 0.5), p95Slots: percentile(slots, 0.95), maxSlots: Math.max(...slots) },
    }),
  );
  process.stdout.write(`${title}\n${lines.join('\n')}\n`);
  return figures;
}

const inTime = (slots: readonly number[]): number => slots.filter((n) => n <= LIFE_BLOCKS).length / slots.length;

test('while blocks are full at the median fee, transactions land within the life of a blockhash, at less than twice the cheapest fees', async () => {
  const since = new Date();
  // The median rises and falls by a factor of four within one minute.
  await control.congest({ median: 10_000, spread: 1, load: 2, wave: 2, waveSlots: (2 * 60_000) / SLOT_MS });
  await sleep(40 * SLOT_MS);
  await runLoad(FIRST_EPOCH, async () => undefined);
  const figures = await measure('the median fee rises and falls', since);
  expect(figures.map(({ kind }) => kind).sort()).toEqual(['claim', 'draw-commitment', 'epoch-root', 'payout-batch']);
  const cases = figures.flatMap(({ slots }) => slots);
  expect(cases.length).toBeGreaterThanOrEqual(100);
  expect(inTime(cases)).toBeGreaterThanOrEqual(SHARE_IN_TIME);
  for (const { kind, ratio } of figures) expect([kind, ratio <= MAX_RATIO]).toEqual([kind, true]);
}, 590_000);

test('when the fees jump to eight times as much, claims, roots and commitments land within the life of a blockhash by further attempts', async () => {
  const since = new Date();
  const jumps: Promise<unknown>[] = [];
  await runLoad(FIRST_EPOCH + TURNS, async (turn) => {
    await control.congest({ median: 5_000, spread: 1, load: 2 });
    await sleep(30 * SLOT_MS);
    // The transactions of the turn are signed at the low price, and compete at the high one.
    jumps.push(sleep(2 * SLOT_MS).then(() => control.congest({ median: 40_000, spread: 1, load: 2, seed: turn })));
  });
  await Promise.all(jumps);
  const figures = await measure('the median fee jumps', since);
  // A payout has one live attempt, so it waits until its batch is given up.
  const guarded = figures.filter(({ kind }) => kind !== 'payout-batch');
  expect(inTime(guarded.flatMap(({ slots }) => slots))).toBeGreaterThanOrEqual(SHARE_IN_TIME);
  expect(guarded.some(({ attempts, transactions }) => attempts > transactions)).toBe(true);
  await control.congest(null);
  // The other checks find that this test stores epochs without points.
  expect((await audit(system)).filter((line) => /^audit, (transactions|nonces|outflows|signatures|payouts|payments)\b/.test(line))).toEqual([]);
}, 590_000);
