import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { parseAddress } from '../primitives.ts';
import type { RpcNode } from '../rpc-node.ts';
import { build, type PendingAttempt } from './rows.ts';
import type { TransactionType } from './transaction-type.ts';

/** The observations of an expiry check. They prove the expiry, or show why it is unproven. They are stored with the attempt for operators. */
type ExpiryEvidence = Readonly<Record<string, string | number>>;

/**
 * The result of an expiry check. `may-land`: the attempt may still land. `dead`: the attempt can never land. `unclear`: the attempt should have
 * expired, but the proof is incomplete.
 */
export type ExpiryCheck = { result: 'may-land' } | { result: 'unclear'; evidence: ExpiryEvidence } | { result: 'dead'; evidence: ExpiryEvidence };

/** Maximum number of signatures per status request. RPC nodes set this limit. */
const MAX_SIGNATURES = 256;

/**
 * Checks whether attempts with a blockhash can never land. A missing status alone is no proof. The proof has three conditions:
 *   The chain is finalized `depthBlocks` beyond the last valid block of the attempt.
 *   The RPC node that has no status of the attempt has reached this block height, and its block history includes the time of the signing.
 *   The second RPC node, if configured, agrees.
 * Needs two requests per RPC node, and one more for every 256 attempts.
 * @returns one check per attempt, in the same order
 */
export async function checkBlockhashExpiries(app: App, attempts: readonly PendingAttempt[]): Promise<ExpiryCheck[]> {
  const { node, second } = app.chain;
  const { depthBlocks } = app.config.chain.submission;
  const checks = await checkWithNode(node, attempts, depthBlocks);
  const expired = attempts.filter((_, i) => checks[i]?.result === 'dead');
  if (second === null || expired.length === 0) return checks;
  const others = (await checkWithNode(second, expired, depthBlocks)).values();
  return checks.map((check) => {
    const other = check.result === 'dead' ? others.next().value?.result : undefined;
    if (check.result !== 'dead' || other === 'dead') return check;
    // The two RPC nodes disagree. If the second node only lags behind, it agrees in a later check.
    return { result: 'unclear', evidence: { ...check.evidence, second: other ?? 'may-land' } };
  });
}

async function checkWithNode(node: RpcNode, attempts: readonly PendingAttempt[], depth: number): Promise<ExpiryCheck[]> {
  if (attempts.length === 0) return [];
  const finalized = await node.finalizedHeight();
  const statuses: { missing: boolean; slot: number }[] = [];
  for (let i = 0; i < attempts.length; i += MAX_SIGNATURES) {
    const signatures = attempts.slice(i, i + MAX_SIGNATURES).map(({ signature }) => signature);
    const read = await node.statuses(signatures, { searchHistory: true });
    for (const [n] of signatures.entries()) statuses.push({ missing: read.statuses[n] === null, slot: read.slot });
  }
  const first = await node.firstBlock();
  return attempts.map(({ last_valid_height: last, signed_slot }, i) => {
    const status = statuses[i];
    if (last === null || finalized.height <= last + depth) return { result: 'may-land' };
    if (!status?.missing || status.slot < finalized.slot) return { result: 'may-land' };
    const evidence = { height: finalized.height, lastValid: last, slot: status.slot, firstBlock: first };
    return first <= signed_slot
      ? { result: 'dead', evidence }
      : { result: 'unclear', evidence: { ...evidence, reason: 'the node’s history starts after the signing' } };
  });
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

/**
 * Checks whether an attempt with a durable nonce can never land. The proof is another finalized transaction that used the nonce: an attempt of this
 * service, or a transaction that the owner of the nonce found.
 */
export async function checkNonceExpiry(
  app: App,
  type: TransactionType | undefined,
  attempt: PendingAttempt & { nonce_account: string; nonce: string },
): Promise<ExpiryCheck> {
  const { node, second } = app.chain;
  const { slot, value } = await node.nonce(parseAddress(attempt.nonce_account));
  if (value === attempt.nonce) return { result: 'may-land' };
  const read = await node.statuses([attempt.signature], { searchHistory: true });
  if (read.statuses[0] !== null || read.slot < slot) return { result: 'may-land' };
  const [own] = await run(app.db, selectNonceUse(attempt));
  const found = own ? null : await type?.nonceUser?.(app, { account: attempt.nonce_account, nonce: attempt.nonce });
  const usedBy = own?.signature ?? (found === attempt.signature ? null : (found ?? null));
  const evidence = { slot, nonce: value ?? 'the nonce account does not exist' };
  if (usedBy === null) return { result: 'unclear', evidence: { ...evidence, reason: 'no finalized transaction is known that used the nonce' } };
  const other = await second?.statuses([attempt.signature], { searchHistory: true });
  if (other !== undefined && (other.statuses[0] !== null || other.slot < slot)) {
    return { result: 'unclear', evidence: { ...evidence, usedBy, second: other.statuses[0] === null ? 'lags behind' : 'knows the transaction' } };
  }
  return { result: 'dead', evidence: { ...evidence, usedBy } };
}
