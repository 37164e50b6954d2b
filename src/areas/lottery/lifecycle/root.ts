import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { entryChunks } from '../entries.ts';
import { storeEntriesFile } from '../entries-file.ts';
import { build } from '../rows.ts';
import { submitCommitment } from './commitment.ts';
import { evaluateInThread } from './in-worker-thread.ts';
import { type ClosedRound, postponeRound, storeTree } from './rows.ts';

/** Delay before a retry when the stored entries are corrupt, ms. An operator must restore the entries. */
const CORRUPT_RETRY_MS = 30_000;

/**
 * Builds the tree over a frozen round's entries, stores the list of the entries as a file, and submits the commitment to its root.
 * @returns false when the round cannot advance now
 */
export async function buildRoot(app: App, round: ClosedRound): Promise<boolean> {
  const { id, parameters, parametersHash, announcement, closed } = round;
  const request = { parameters, parametersHash, announcement, closed, committed: null };
  const evaluation = await evaluateInThread(round.entries, request, entryChunks(app.db, id));
  if (evaluation.result === 'invalid') {
    app.log.error({ round: id, fault: evaluation }, 'the entries of a round are corrupt; no commitment is made until an operator restores them');
    await app.tx((tx) => postponeRound(tx, id, CORRUPT_RETRY_MS));
    return false;
  }
  const { root, tree, audit } = evaluation;
  await storeEntriesFile(app, id, root);
  return await app.tx(async (tx) => {
    const rootless = build.updateTable('rounds').where('id', '=', id).where('state', '=', 'closing').where('root', 'is', null);
    const stored = await run(tx, rootless.set({ root: Buffer.from(root, 'hex'), audit: JSON.stringify(audit) }).returning('id'));
    if (stored.length === 0) return true;
    await storeTree(tx, id, tree);
    await submitCommitment(tx, round);
    return true;
  });
}
