import { planPayouts } from '#jobs/payouts.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { laneAddress, laneOpening } from '#platform/solana/nonce-lanes.ts';
import { type ComposeOutcome, retry, submit, type TransactionDraft, type TransactionType } from '#platform/solana/submission/index.ts';
import { decodeNonce, NONCE_BYTES } from '#platform/solana/system-program.ts';
import { alert } from '../alerts.ts';
import { insertLane, markStale } from './rows.ts';

const WAIT_MS = 1_000;
const FUNDS_MS = 5_000;

const laneOf = (subject: string): number => Number(subject.slice(0, subject.indexOf(':')));

/** Builds the transaction that opens the nonce account of a lane. */
async function compose(app: App, subject: string): Promise<TransactionDraft | ComposeOutcome> {
  const feePayer = app.chain.key('feePayer').publicKey;
  const lane = laneOf(subject);
  const address = laneAddress(feePayer, lane);
  if (subject !== `${lane}:${address.toBase58()}`) return { do: 'manual', reason: 'the nonce account belongs to another fee payer' };
  const { node } = app.chain;
  const [final, confirmed, rent] = await Promise.all([
    node.account(address, 'finalized'),
    node.account(address, 'confirmed'),
    node.rentOf(NONCE_BYTES),
  ]);
  if (decodeNonce(final.account)) return { do: 'done', signature: null, slot: final.slot };
  if (decodeNonce(confirmed.account)) return { do: 'wait', ms: WAIT_MS, reason: 'the account is not finalized yet' };
  const { instructions, lamports } = laneOpening({ payer: feePayer, feePayer, lane }, confirmed.account, rent);
  return { do: 'sign', instructions, feePayer: 'feePayer', spends: [{ asset: 'sol', amount: BigInt(lamports) }] };
}

async function markLanesStale(tx: Tx, lanes: readonly number[]): Promise<void> {
  await run(tx, markStale(lanes));
  tx.enqueue(planPayouts, {});
}

/**
 * The transaction type that opens the nonce account of a lane. The chain allows one account per address, so a repeated transaction cannot open the
 * account twice.
 */
export const openPayoutLane: TransactionType = {
  name: 'open-payout-lane',
  scope: 'payout-lanes',
  priority: 'payouts',
  afterFailure: 'again',
  compose,
  async simulationFailed(app, _subject, error) {
    alert(app, 'fee payer', error.message);
    return { do: 'wait', ms: FUNDS_MS, reason: error.message };
  },
  finalized: (tx, landings) =>
    markLanesStale(
      tx,
      landings.map(({ subject }) => laneOf(subject)),
    ),
  // A failed opening needs no action, because the planner submits the opening again while the lane has pending payments.
  failed: async () => undefined,
};

/** Inserts a lane and submits the transaction that opens its nonce account. */
export async function openLane(app: App, lane: number): Promise<void> {
  const feePayer = app.chain.key('feePayer').publicKey;
  const address = laneAddress(feePayer, lane).toBase58();
  const subject = `${lane}:${address}`;
  await app.tx(async (tx) => {
    await tx.query(insertLane, [lane, address, feePayer.toBase58()]);
    await submit(tx, openPayoutLane, [subject]);
    await retry(tx, openPayoutLane, [subject]);
  });
}

/** Returns the address of a lane's nonce account for the fee payer in the present configuration. */
export const currentLaneAddress = (app: App, lane: number): string => laneAddress(app.chain.key('feePayer').publicKey, lane).toBase58();
