import { type Connection, PublicKey } from '@solana/web3.js';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { rpc } from '../solana.ts';
import type { PendingAttempt } from './rows.ts';

/** The observations of an expiry check. They prove the expiry, or show why it is unproven. They are stored with the attempt for operators. */
type ExpiryEvidence = Readonly<Record<string, string | number>>;

/**
 * The result of an expiry check. `may-land`: the attempt may still land. `dead`: the attempt can never land. `unclear`: the attempt should have
 * expired, but the proof is incomplete.
 */
export type ExpiryCheck = { result: 'may-land' } | { result: 'unclear'; evidence: ExpiryEvidence } | { result: 'dead'; evidence: ExpiryEvidence };

/** The latest finalized slot and block height. */
interface FinalizedHeight {
  readonly slot: number;
  readonly height: number;
}

export async function readFinalized(connection: Connection): Promise<FinalizedHeight> {
  const info = await rpc(() => connection.getEpochInfo('finalized'));
  if (info.blockHeight === undefined) throw new Error('the RPC node returned no block height');
  return { slot: info.absoluteSlot, height: info.blockHeight };
}

/**
 * Checks whether an attempt with a blockhash can never land. A missing status alone is no proof. The proof has three conditions:
 *   The chain is finalized `depthBlocks` beyond the last valid block of the attempt.
 *   The RPC node that has no status of the attempt has reached this block height, and its block history includes the time of the signing.
 *   The second RPC node, if configured, agrees.
 */
export async function checkBlockhashExpiry(app: App, attempt: PendingAttempt): Promise<ExpiryCheck> {
  const { connection, second } = app.chain;
  const check = await checkWithNode(connection, attempt, app.config.chain.submission.depthBlocks);
  if (check.result !== 'dead' || second === null) return check;
  const other = await checkWithNode(second, attempt, app.config.chain.submission.depthBlocks);
  if (other.result === 'dead') return check;
  // The two RPC nodes disagree. If the second node only lags behind, it agrees in a later check.
  return { result: 'unclear', evidence: { ...check.evidence, second: other.result } };
}

async function checkWithNode(connection: Connection, attempt: PendingAttempt, depth: number): Promise<ExpiryCheck> {
  const finalized = await readFinalized(connection);
  if (attempt.last_valid_height === null || finalized.height <= attempt.last_valid_height + depth) return { result: 'may-land' };
  const status = await rpc(() => connection.getSignatureStatuses([attempt.signature], { searchTransactionHistory: true }));
  if (status.value[0] !== null || status.context.slot < finalized.slot) return { result: 'may-land' };
  const first = await rpc(() => connection.getFirstAvailableBlock());
  const evidence = { height: finalized.height, lastValid: attempt.last_valid_height, slot: status.context.slot, firstBlock: first };
  return first <= attempt.signed_slot
    ? { result: 'dead', evidence }
    : { result: 'unclear', evidence: { ...evidence, reason: 'the node’s history starts after the signing' } };
}

const selectNonceUse = statement<{ signature: string }>(
  'find_nonce_use',
  `select signature from chain_attempts where nonce_account = $1 and nonce = $2 and signature <> $3 and state in ('finalized', 'failed') limit 1`,
);

/** Maximum number of transactions of a nonce account that are searched for the transaction that used a nonce. */
const MAX_SEARCHED = 100;

/**
 * Checks whether an attempt with a durable nonce can never land. The proof is another finalized transaction that used the nonce,
 * found in the database or on the chain.
 */
export async function checkNonceExpiry(app: App, attempt: PendingAttempt & { nonce_account: string }): Promise<ExpiryCheck> {
  const account = new PublicKey(attempt.nonce_account);
  const { context, value } = await rpc(() => app.chain.connection.getNonceAndContext(account, 'finalized'));
  if (value?.nonce === attempt.nonce) return { result: 'may-land' };
  const status = await rpc(() => app.chain.connection.getSignatureStatuses([attempt.signature], { searchTransactionHistory: true }));
  if (status.value[0] !== null || status.context.slot < context.slot) return { result: 'may-land' };
  const own = (await app.db.query(selectNonceUse, [attempt.nonce_account, attempt.nonce, attempt.signature]))[0];
  const usedBy = own?.signature ?? (await findNonceUse(app, account, attempt));
  const evidence = { slot: context.slot, nonce: value?.nonce ?? 'the nonce account does not exist' };
  if (usedBy === null) return { result: 'unclear', evidence: { ...evidence, reason: 'no finalized transaction is known that used the nonce' } };
  return { result: 'dead', evidence: { ...evidence, usedBy } };
}

/**
 * Returns the signature of the finalized transaction that used the nonce of the attempt; null when none is found. The attempt's own transaction does
 * not count.
 */
async function findNonceUse(app: App, account: PublicKey, attempt: PendingAttempt): Promise<string | null> {
  const { connection } = app.chain;
  const listed = await rpc(() => connection.getSignaturesForAddress(account, { limit: MAX_SEARCHED }, 'finalized'));
  const candidates = listed.filter(({ slot, signature }) => slot >= attempt.signed_slot && signature !== attempt.signature);
  for (const { signature } of candidates.reverse()) {
    const found = await rpc(() => connection.getTransaction(signature, { commitment: 'finalized', maxSupportedTransactionVersion: 1 }));
    if (found?.transaction.message.recentBlockhash === attempt.nonce) return signature;
  }
  return null;
}
