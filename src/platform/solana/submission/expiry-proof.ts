import { type Connection, PublicKey } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { rpc } from '../solana.ts';
import type { PendingAttempt } from './rows.ts';

/** What speaks for an attempt being dead: stored with it, for people. */
export type Evidence = Readonly<Record<string, string | number>>;

/** What a look at an attempt without a status found. `no`: it may still land. `unclear`: it should be over, and cannot be proven. */
export type Look = { verdict: 'no' } | { verdict: 'unclear'; evidence: Evidence } | { verdict: 'dead'; evidence: Evidence };

/** How the chain stands at finalized. */
export interface Finalized {
  readonly slot: number;
  readonly height: number;
}

export async function finalizedNow(connection: Connection): Promise<Finalized> {
  const info = await rpc(() => connection.getEpochInfo('finalized'));
  if (info.blockHeight === undefined) throw new Error('the node does not tell its block height');
  return { slot: info.absoluteSlot, height: info.blockHeight };
}

/**
 * Whether an attempt with a blockhash can never land, as far as one look can tell. A missing status alone proves nothing:
 * the chain must be finalized well beyond the last block that takes it, the missing status must have been answered by a
 * node that knows that height, and whose history goes back to before the signing; a second provider must agree.
 */
export async function lookAtBlockhash(app: App, attempt: PendingAttempt): Promise<Look> {
  const { connection, second } = app.chain;
  const found = await lookAt(connection, attempt, app.config.chain.landing.depthBlocks);
  if (found.verdict !== 'dead' || second === null) return found;
  const other = await lookAt(second, attempt, app.config.chain.landing.depthBlocks);
  if (other.verdict === 'dead') return found;
  // The two disagree. One that is only behind will catch up.
  return { verdict: 'unclear', evidence: { ...found.evidence, second: other.verdict } };
}

async function lookAt(connection: Connection, attempt: PendingAttempt, depth: number): Promise<Look> {
  const finalized = await finalizedNow(connection);
  if (attempt.last_valid_height === null || finalized.height <= attempt.last_valid_height + depth) return { verdict: 'no' };
  const status = await rpc(() => connection.getSignatureStatuses([attempt.signature], { searchTransactionHistory: true }));
  if (status.value[0] !== null || status.context.slot < finalized.slot) return { verdict: 'no' };
  const first = await rpc(() => connection.getFirstAvailableBlock());
  const evidence = { height: finalized.height, lastValid: attempt.last_valid_height, slot: status.context.slot, firstBlock: first };
  return first <= attempt.signed_slot
    ? { verdict: 'dead', evidence }
    : { verdict: 'unclear', evidence: { ...evidence, reason: 'the history does not reach back' } };
}

const sameNonce = statement<{ signature: string }>(
  'find_nonce_winner',
  `select signature from chain_attempts where nonce_account = $1 and nonce = $2 and signature <> $3 and state in ('finalized', 'failed') limit 1`,
);

/** How many transactions of a nonce account are looked through for the one that used a value. */
const MOST_SEARCHED = 100;

/**
 * Whether an attempt with a durable nonce can never land: only when another finalized transaction has used its value.
 * Which one is known from our own record, or is looked for on the chain.
 */
export async function lookAtNonce(app: App, attempt: PendingAttempt & { nonce_account: string }): Promise<Look> {
  const account = new PublicKey(attempt.nonce_account);
  const { context, value } = await rpc(() => app.chain.connection.getNonceAndContext(account, 'finalized'));
  if (value?.nonce === attempt.nonce) return { verdict: 'no' };
  const status = await rpc(() => app.chain.connection.getSignatureStatuses([attempt.signature], { searchTransactionHistory: true }));
  if (status.value[0] !== null || status.context.slot < context.slot) return { verdict: 'no' };
  const ours = (await app.db.query(sameNonce, [attempt.nonce_account, attempt.nonce, attempt.signature]))[0];
  const winner = ours?.signature ?? (await findUser(app, account, attempt));
  const evidence = { slot: context.slot, nonce: value?.nonce ?? 'the account is gone' };
  if (winner === null) return { verdict: 'unclear', evidence: { ...evidence, reason: 'nobody is known to have used the nonce' } };
  return { verdict: 'dead', evidence: { ...evidence, usedBy: winner } };
}

/** The finalized transaction, not ours, whose blockhash was the nonce's value: there is one at most. */
async function findUser(app: App, account: PublicKey, attempt: PendingAttempt): Promise<string | null> {
  const { connection } = app.chain;
  const listed = await rpc(() => connection.getSignaturesForAddress(account, { limit: MOST_SEARCHED }, 'finalized'));
  const candidates = listed.filter(({ slot, signature }) => slot >= attempt.signed_slot && signature !== attempt.signature);
  for (const { signature } of candidates.reverse()) {
    const found = await rpc(() => connection.getTransaction(signature, { commitment: 'finalized', maxSupportedTransactionVersion: 1 }));
    if (found?.transaction.message.recentBlockhash === attempt.nonce) return signature;
  }
  return null;
}
