import { sql } from 'kysely';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import {
  type ChainError,
  type ComposeOutcome,
  outflowLeft,
  retry,
  type Spend,
  submit,
  TOKEN_ACCOUNTS,
  type TransactionDraft,
  type TransactionType,
} from '#platform/solana/submission/index.ts';
import { decodeNonce } from '#platform/solana/system-program.ts';
import { build } from '../build.ts';
import { advanceNonce, advanceSubject } from '../lanes/advance.ts';
import { readNonceUser } from '../lanes/nonce-user.ts';
import { diagnose } from './diagnose.ts';
import { batchInstructions } from './members.ts';
import { type Batch, readBatch } from './rows.ts';
import { markConfirmed, markRetracted, settleFailed, settleFinalized } from './settlement.ts';

/** Name of the pause scope of payouts. While this scope is paused, no batch is signed. */
export const PAYOUTS_SCOPE = 'payouts';

const chainError = (name: string, message: string): ChainError => ({ name, message, instruction: null, code: null });
const failed = (name: string, message: string): ComposeOutcome => ({ do: 'fail', error: chainError(name, message) });

/** Returns the amounts that a batch spends: the paid tokens, and the rent of the token accounts that the batch opens. */
function spendsOf(batch: Batch): Spend[] {
  const tokens = batch.members.reduce((sum, { amount }) => sum + amount, 0n);
  const rents = batch.rent * BigInt(batch.members.filter(({ opens }) => opens).length);
  return [
    { asset: batch.mint, amount: tokens },
    { asset: 'sol', amount: rents },
    { asset: TOKEN_ACCOUNTS, amount: rents },
  ];
}

/**
 * Builds the transaction of a stored batch. Fails the batch when another transaction has used the nonce of the batch, because then the batch can
 * never land.
 */
async function compose(app: App, subject: string): Promise<TransactionDraft | ComposeOutcome> {
  const batch = await readBatch(app.db, subject);
  if (batch?.state !== 'live') return { do: 'manual', reason: 'the batch does not exist or is closed' };
  if (!batch.complete) return failed('Changed', 'a member is no longer in the state batched');
  const keys = { feePayer: app.chain.key('feePayer').publicKey.toBase58(), treasury: app.chain.key('treasury').publicKey.toBase58() };
  if (keys.feePayer !== batch.feePayer || keys.treasury !== batch.treasury) return failed('Rotated', 'the fee payer or treasury key was rotated');
  const account = parseAddress(batch.address);
  const [nonce, limits] = await Promise.all([
    app.chain.node.account(account, 'finalized'),
    Promise.all([outflowLeft(app, batch.mint, 'payouts'), outflowLeft(app, TOKEN_ACCOUNTS, 'payouts')]),
  ]);
  if (decodeNonce(nonce.account)?.value !== batch.nonce) return failed('NonceUsed', 'another transaction has used the nonce of the batch already');
  const spends = spendsOf(batch);
  // Fails the batch instead of waiting for the next day, because its payments then return to `pending`, and a smaller batch may still fit into the
  // daily limit.
  const isOver = spends.some(({ asset, amount }) => (asset === batch.mint && amount > limits[0]) || (asset === TOKEN_ACCOUNTS && amount > limits[1]));
  if (isOver) return failed('OverLimit', 'the daily limit is reached');
  return {
    do: 'sign',
    instructions: batchInstructions(batch, batch.members),
    feePayer: 'feePayer',
    signers: ['treasury'],
    spends,
    nonce: { account, value: batch.nonce },
    urgency: batch.urgency,
  };
}

async function refused(app: App, subject: string, error: ChainError): Promise<ComposeOutcome | undefined> {
  const batch = await readBatch(app.db, subject);
  return batch ? await diagnose(app, batch, error) : undefined;
}

const selectUnbatched = statement<{ payment: string }>(
  'find_members_not_batched',
  `select m.payment::text from payout_batches b join payout_batch_members m on m.batch = b.id join payments p on p.id = m.payment
   where b.id = $1 and (b.state <> 'live' or not m.live or p.state <> 'batched') limit 1`,
);
const selectNonces = (batches: readonly string[]) =>
  build.selectFrom('payout_batches').select(['lane', 'nonce']).where('id', '=', sql<string>`any(${batches}::uuid[])`).where('state', '=', 'live');

/** The transaction type of a batch of treasury payments. Of all transactions that are signed with the same nonce, at most one can land. */
export const payoutBatch: TransactionType = {
  name: 'payout-batch',
  scope: PAYOUTS_SCOPE,
  priority: 'payouts',
  // A batch is signed once only. If it does not land, its payments go into a new batch with a higher priority fee.
  afterFailure: 'over',
  compose,
  simulationFailed: refused,
  nonceUser: readNonceUser,
  async signed(tx, attempts) {
    for (const { subject } of attempts)
      if ((await tx.query(selectUnbatched, [subject])).length > 0)
        throw new Error(`batch ${subject} was closed, or a member is no longer in the state batched`);
  },
  confirmed: markConfirmed,
  retracted: markRetracted,
  finalized: settleFinalized,
  failed: settleFailed,
  /**
   * Submits, for each overdue batch, a transaction that only advances the nonce of the batch's lane. When this transaction is finalized, the overdue
   * batch can never land.
   */
  async overdue(tx, subjects) {
    const advances = (await run(tx, selectNonces(subjects))).map(({ lane, nonce }) => advanceSubject(lane, nonce));
    await submit(tx, advanceNonce, advances);
    await retry(tx, advanceNonce, advances);
  },
};
