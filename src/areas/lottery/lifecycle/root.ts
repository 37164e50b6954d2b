import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { submit } from '#platform/solana/submission/index.ts';
import { auditText } from '../audits.ts';
import { entryChunks } from '../entries.ts';
import { build } from '../rows.ts';
import { drawCommitment } from './commitment.ts';
import { evaluateInThread } from './in-worker-thread.ts';
import { pendingAuditText } from './pending-audit.ts';
import { lockInState, type OpenedRound, postponeRound, storeTree } from './rows.ts';
import { voidUncommitted } from './void.ts';

/** Delay before a retry when the stored entries are corrupt, ms. An operator must restore the entries. */
const CORRUPT_RETRY_MS = 30_000;

/** Builds the tree over a frozen round's entries and submits the commitment to its root. @returns false when the round cannot advance now */
export async function buildRoot(app: App, round: OpenedRound): Promise<boolean> {
  const { id, parameters } = round;
  if (round.entries === 0) return await voidEmptyRound(app, round);
  const evaluation = await evaluateInThread(round.entries, { parameters, committed: null }, entryChunks(app.db, id));
  if (evaluation.result !== 'valid' || evaluation.count !== round.entries) {
    const fault = evaluation.result === 'invalid' ? evaluation : null;
    app.log.error({ round: id, fault }, 'the entries of a round are corrupt; no commitment is made until an operator restores them');
    await app.tx((tx) => postponeRound(tx, id, CORRUPT_RETRY_MS));
    return false;
  }
  const { root, tree, audit } = evaluation;
  return await app.tx(async (tx) => {
    const rootless = build.updateTable('rounds').where('id', '=', id).where('state', '=', 'closing').where('root', 'is', null);
    const stored = await run(tx, rootless.set({ root: Buffer.from(root, 'hex'), audit: auditText(audit) }).returning('id'));
    if (stored.length === 0) return true;
    await storeTree(tx, id, tree);
    await submit(tx, drawCommitment, [id]);
    return true;
  });
}

/**
 * Voids a closed round that has no entries. Only a successor (a round that replaces a void round) can be closed without entries: it copies the
 * entries of the void round, and these entries may have been lost.
 */
async function voidEmptyRound(app: App, round: OpenedRound): Promise<boolean> {
  return await app.tx(async (tx) => {
    if (await lockInState(tx, round.id, 'closing')) await voidUncommitted(tx, round, 'no-entries', pendingAuditText(round, null, 'no-entries'));
    return true;
  });
}
