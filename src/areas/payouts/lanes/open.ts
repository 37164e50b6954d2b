import { SystemProgram } from '@solana/web3.js';
import { planPayouts } from '#jobs/payouts.ts';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { rpc } from '#platform/solana/solana.ts';
import { type Draft, type Outcome, retry, submit, type TransactionType } from '#platform/solana/submission/transactions.ts';
import { alert } from '../alerts.ts';
import { decodeNonce, laneAddress, laneSeed, NONCE_BYTES } from './account.ts';
import { insertLane, markStale } from './rows.ts';

const WAIT_MS = 1_000;
const FUNDS_MS = 5_000;

const laneOf = (subject: string): number => Number(subject.slice(0, subject.indexOf(':')));

/**
 * The nonce account of a lane, made of the fee payer's seed. By parts, since anybody can send lamports to an address that
 * can be computed, and then the system program creates no account there.
 */
async function compose(app: App, subject: string): Promise<Draft | Outcome> {
  const feePayer = app.chain.key('feePayer').publicKey;
  const lane = laneOf(subject);
  const address = laneAddress(feePayer, lane);
  if (subject !== `${lane}:${address.toBase58()}`) return { do: 'manual', reason: 'it belongs to another fee payer' };
  const { connection } = app.chain;
  const [final, account, rent] = await Promise.all([
    rpc(() => connection.getAccountInfoAndContext(address, 'finalized')),
    rpc(() => connection.getAccountInfoAndContext(address, 'confirmed')),
    rpc(() => connection.getMinimumBalanceForRentExemption(NONCE_BYTES)),
  ]);
  if (decodeNonce(final.value)) return { do: 'done', signature: null, slot: final.context.slot };
  if (decodeNonce(account.value)) return { do: 'wait', ms: WAIT_MS, reason: 'the account is not final yet' };
  const missing = rent - (account.value?.lamports ?? 0);
  const seed = { accountPubkey: address, basePubkey: feePayer, seed: laneSeed(lane), programId: SystemProgram.programId };
  return {
    do: 'sign',
    instructions: [
      ...(missing > 0 ? [SystemProgram.transfer({ fromPubkey: feePayer, toPubkey: address, lamports: missing })] : []),
      SystemProgram.allocate({ ...seed, space: NONCE_BYTES }),
      SystemProgram.nonceInitialize({ noncePubkey: address, authorizedPubkey: feePayer }),
    ],
    feePayer: 'feePayer',
    spends: [{ asset: 'sol', amount: BigInt(Math.max(0, missing)) }],
  };
}

async function opened(tx: Tx, lanes: readonly number[]): Promise<void> {
  await tx.query(markStale, [lanes]);
  tx.enqueue(planPayouts, {});
}

/** Opens the nonce account of a lane, once: its address guards it. */
export const openPayoutLane: TransactionType = {
  name: 'open-payout-lane',
  scope: 'payout-lanes',
  afterFailure: 'again',
  compose,
  async refused(app, _subject, error) {
    alert(app, 'fee payer', error.message);
    return { do: 'wait', ms: FUNDS_MS, reason: error.message };
  },
  finalized: (tx, landings) =>
    opened(
      tx,
      landings.map(({ subject }) => laneOf(subject)),
    ),
  // Asked for again while something is owed on the lane.
  failed: async () => undefined,
};

/** Has a lane opened that something is owed on. */
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

/** The lane's address under the present fee payer. */
export const addressOf = (app: App, lane: number): string => laneAddress(app.chain.key('feePayer').publicKey, lane).toBase58();
