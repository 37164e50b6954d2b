import { PublicKey } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { rpc } from '#platform/solana/solana.ts';
import {
  type ChainError,
  type Draft,
  type Outcome,
  outflowLeft,
  retry,
  type Spend,
  submit,
  TOKEN_ACCOUNTS,
  type TransactionType,
} from '#platform/solana/submission/transactions.ts';
import { decodeNonce } from '../lanes/account.ts';
import { advanceNonce, advanceSubject } from '../lanes/advance.ts';
import { diagnose } from './diagnose.ts';
import { instructionsOf } from './members.ts';
import { type Batch, readBatch } from './rows.ts';
import { bookConfirmed, bookFailed, bookFinalized, bookRetracted } from './settlement.ts';

/** The scope that is paused when payouts are to stand still. */
export const PAYOUTS = 'payouts';

const fault = (name: string, message: string): ChainError => ({ name, message, instruction: null, code: null });
const over = (name: string, message: string): Outcome => ({ do: 'fail', error: fault(name, message) });

/** What a batch takes out: the tokens, and the rents of the accounts that it opens. */
function spendsOf(batch: Batch): Spend[] {
  const tokens = batch.members.reduce((sum, { amount }) => sum + amount, 0n);
  const rents = batch.rent * BigInt(batch.members.filter(({ opens }) => opens).length);
  return [
    { asset: batch.mint, amount: tokens },
    { asset: 'sol', amount: rents },
    { asset: TOKEN_ACCOUNTS, amount: rents },
  ];
}

/** The batch as it was written down, unless its nonce was used meanwhile: then it can never land, and its members regroup. */
async function compose(app: App, subject: string): Promise<Draft | Outcome> {
  const batch = await readBatch(app.db, subject);
  if (batch?.state !== 'live') return { do: 'manual', reason: 'there is no such batch' };
  if (!batch.whole) return over('Changed', 'a member is no longer to be paid by it');
  const keys = { feePayer: app.chain.key('feePayer').publicKey.toBase58(), treasury: app.chain.key('treasury').publicKey.toBase58() };
  if (keys.feePayer !== batch.feePayer || keys.treasury !== batch.treasury) return over('Rotated', 'the keys have changed since');
  const account = new PublicKey(batch.address);
  const [nonce, limits] = await Promise.all([
    rpc(() => app.chain.connection.getAccountInfoAndContext(account, 'finalized')),
    Promise.all([outflowLeft(app, batch.mint), outflowLeft(app, TOKEN_ACCOUNTS)]),
  ]);
  if (decodeNonce(nonce.value)?.value !== batch.nonce) return over('NonceUsed', 'another transaction has used its nonce');
  const spends = spendsOf(batch);
  // Of a batch that has to wait for another day a smaller one may do.
  const isOver = spends.some(({ asset, amount }) => (asset === batch.mint && amount > limits[0]) || (asset === TOKEN_ACCOUNTS && amount > limits[1]));
  if (isOver) return over('OverLimit', 'the daily limit is reached');
  return {
    do: 'sign',
    instructions: instructionsOf(batch, batch.members),
    feePayer: 'feePayer',
    signers: ['treasury'],
    spends,
    nonce: { account, value: batch.nonce },
    urgency: batch.urgency,
  };
}

async function refused(app: App, subject: string, error: ChainError): Promise<Outcome | undefined> {
  const batch = await readBatch(app.db, subject);
  return batch ? await diagnose(app, batch, error) : undefined;
}

const notWhole = statement<{ payment: string }>(
  'find_members_not_batched',
  `select m.payment::text from payout_batches b join payout_batch_members m on m.batch = b.id join payments p on p.id = m.payment
   where b.id = $1 and (b.state <> 'live' or not m.live or p.state <> 'batched') limit 1`,
);
const noncesOf = statement<{ lane: number; nonce: string }>(
  'nonces_of_payout_batches',
  `select lane::int, nonce from payout_batches where id = any($1::uuid[]) and state = 'live'`,
);

/** A batch of payments out of the treasury: of all that is ever signed with its nonce, one transaction lands at most. */
export const payoutBatch: TransactionType = {
  name: 'payout-batch',
  scope: PAYOUTS,
  // One attempt a batch: what did not land regroups, and a higher fee is a batch of its own.
  afterFailure: 'over',
  compose,
  refused,
  async signed(tx, { subject }) {
    if ((await tx.query(notWhole, [subject])).length > 0) throw new Error(`batch ${subject} is not what it was`);
  },
  confirmed: bookConfirmed,
  retracted: bookRetracted,
  finalized: bookFinalized,
  failed: bookFailed,
  /** Gives the batch up: of it and a transaction that does nothing but use its nonce, whichever is finalized decides. */
  async overdue(tx, subjects) {
    const advances = (await tx.query(noncesOf, [subjects])).map(({ lane, nonce }) => advanceSubject(lane, nonce));
    await submit(tx, advanceNonce, advances);
    await retry(tx, advanceNonce, advances);
  },
};
