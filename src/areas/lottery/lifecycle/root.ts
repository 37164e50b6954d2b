import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { submit } from '#platform/solana/submission/transactions.ts';
import { auditText } from '../audits.ts';
import { entryChunks } from '../entries.ts';
import { drawCommitment } from './commitment.ts';
import { judgeApart } from './in-worker-thread.ts';
import { undrawnAudit } from './pending-audit.ts';
import { lockIn, lookAgainIn, type OpenedRound, storeTree } from './rows.ts';
import { voidUncommitted } from './void.ts';

/** How long until entries that break the rules are looked at again, ms: a person has to restore them. */
const BROKEN_MS = 30_000;

const setRoot = statement<{ id: string }>(
  'set_round_root',
  `update rounds set root = decode($2, 'hex'), audit = $3 where id = $1 and state = 'closing' and root is null returning id::text`,
);

/** Builds the tree over a frozen round's entries, and asks for the commitment to its root. @returns whether the round has gone on */
export async function buildRoot(app: App, round: OpenedRound): Promise<boolean> {
  const { id, parameters } = round;
  if (round.entries === 0) return await endEmpty(app, round);
  const judgement = await judgeApart(round.entries, { parameters, committed: null }, entryChunks(app.db, id));
  if (judgement.is !== 'sound' || judgement.count !== round.entries) {
    const fault = judgement.is === 'wrong' ? judgement : null;
    app.log.error({ round: id, fault }, 'the entries of a round are not as they were accepted: nothing is committed to');
    await app.tx((tx) => lookAgainIn(tx, id, BROKEN_MS));
    return false;
  }
  const { root, tree, audit } = judgement;
  return await app.tx(async (tx) => {
    if ((await tx.query(setRoot, [id, root, auditText(audit)])).length === 0) return true;
    await storeTree(tx, id, tree);
    await submit(tx, drawCommitment, [id]);
    return true;
  });
}

/** The successor of a round that has lost all of its entries. */
async function endEmpty(app: App, round: OpenedRound): Promise<boolean> {
  return await app.tx(async (tx) => {
    if (await lockIn(tx, round.id, 'closing')) await voidUncommitted(tx, round, 'no-entries', undrawnAudit(round, null, 'no-entries'));
    return true;
  });
}
