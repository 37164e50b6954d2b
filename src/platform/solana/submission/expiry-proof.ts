import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { type Address, parseAddress } from '../primitives.ts';
import type { RpcNode } from '../rpc-node.ts';
import { build, type PendingAttempt } from './rows.ts';

/** The observations of an expiry check. They prove the expiry, or show why it is unproven. They are stored with the attempt for operators. */
type ExpiryEvidence = Readonly<Record<string, string | number>>;

/**
 * The result of an expiry check. `may-land`: the attempt may still land. `dead`: the attempt can never land. `unclear`: the attempt should have
 * expired, but the proof is incomplete.
 */
export type ExpiryCheck = { result: 'may-land' } | { result: 'unclear'; evidence: ExpiryEvidence } | { result: 'dead'; evidence: ExpiryEvidence };

/**
 * Checks whether an attempt with a blockhash can never land. A missing status alone is no proof. The proof has three conditions:
 *   The chain is finalized `depthBlocks` beyond the last valid block of the attempt.
 *   The RPC node that has no status of the attempt has reached this block height, and its block history includes the time of the signing.
 *   The second RPC node, if configured, agrees.
 */
export async function checkBlockhashExpiry(app: App, attempt: PendingAttempt): Promise<ExpiryCheck> {
  const { node, second } = app.chain;
  const check = await checkWithNode(node, attempt, app.config.chain.submission.depthBlocks);
  if (check.result !== 'dead' || second === null) return check;
  const other = await checkWithNode(second, attempt, app.config.chain.submission.depthBlocks);
  if (other.result === 'dead') return check;
  // The two RPC nodes disagree. If the second node only lags behind, it agrees in a later check.
  return { result: 'unclear', evidence: { ...check.evidence, second: other.result } };
}

async function checkWithNode(node: RpcNode, attempt: PendingAttempt, depth: number): Promise<ExpiryCheck> {
  const finalized = await node.finalizedHeight();
  if (attempt.last_valid_height === null || finalized.height <= attempt.last_valid_height + depth) return { result: 'may-land' };
  const read = await node.statuses([attempt.signature], { searchHistory: true });
  if (read.statuses[0] !== null || read.slot < finalized.slot) return { result: 'may-land' };
  const first = await node.firstBlock();
  const evidence = { height: finalized.height, lastValid: attempt.last_valid_height, slot: read.slot, firstBlock: first };
  return first <= attempt.signed_slot
    ? { result: 'dead', evidence }
    : { result: 'unclear', evidence: { ...evidence, reason: 'the node’s history starts after the signing' } };
}

/** Selects the attempt of this service that used the nonce of a given attempt. */
const selectNonceUse = ({ nonce_account, nonce, signature }: Pick<PendingAttempt, 'nonce_account' | 'nonce' | 'signature'>) =>
  build
    .selectFrom('chain_attempts')
    .select('signature')
    .where('nonce_account', '=', nonce_account)
    .where('nonce', '=', nonce)
    .where('signature', '<>', signature)
    .where('state', 'in', ['finalized', 'failed'])
    .limit(1);

/** Maximum number of transactions of a nonce account that are searched for the transaction that used a nonce. */
const MAX_SEARCHED = 100;

/**
 * Checks whether an attempt with a durable nonce can never land. The proof is another finalized transaction that used the nonce,
 * found in the database or on the chain.
 */
export async function checkNonceExpiry(app: App, attempt: PendingAttempt & { nonce_account: string }): Promise<ExpiryCheck> {
  const { node } = app.chain;
  const account = parseAddress(attempt.nonce_account);
  const { slot, value } = await node.nonce(account);
  if (value === attempt.nonce) return { result: 'may-land' };
  const read = await node.statuses([attempt.signature], { searchHistory: true });
  if (read.statuses[0] !== null || read.slot < slot) return { result: 'may-land' };
  const [own] = await run(app.db, selectNonceUse(attempt));
  const usedBy = own?.signature ?? (await findNonceUse(node, account, attempt));
  const evidence = { slot, nonce: value ?? 'the nonce account does not exist' };
  if (usedBy === null) return { result: 'unclear', evidence: { ...evidence, reason: 'no finalized transaction is known that used the nonce' } };
  return { result: 'dead', evidence: { ...evidence, usedBy } };
}

/**
 * Returns the signature of the finalized transaction that used the nonce of the attempt; null when none is found. The attempt's own transaction does
 * not count.
 */
async function findNonceUse(node: RpcNode, account: Address, attempt: PendingAttempt): Promise<string | null> {
  const listed = await node.history(account, { limit: MAX_SEARCHED }, 'finalized');
  const candidates = listed.filter(({ slot, signature }) => slot >= attempt.signed_slot && signature !== attempt.signature);
  for (const { signature } of candidates.reverse()) {
    const found = await node.transaction(signature, 'finalized');
    if (found?.blockhash === attempt.nonce) return signature;
  }
  return null;
}
