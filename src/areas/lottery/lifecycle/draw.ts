import { sql } from 'kysely';
import { type Currency, createPayments } from '#areas/payouts';
import type { Audit } from '#lib/draw/audit.ts';
import { type App, perApp } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { beaconOf } from '#platform/solana/beacon/index.ts';
import { auditText } from '../audits.ts';
import { entryChunks } from '../entries.ts';
import { roundFinalized, winnerAnnounced } from '../events.ts';
import { build } from '../rows.ts';
import { mintOf } from '../treasury.ts';
import { evaluateInThread } from './in-worker-thread.ts';
import { type CommitmentWithBeacon, pendingAuditText } from './pending-audit.ts';
import { lockInState, type OpenedRound, postponeRound, storeTree } from './rows.ts';
import { readLandedCommitment } from './sequence.ts';
import { voidCommitted } from './void.ts';

/** Delay before a retry while the randomness beacon cannot be read, ms. */
const BEACON_RETRY_MS = 2_000;
/** Delay before a retry when the stored entries are corrupt, ms. An operator must restore the entries. */
const CORRUPT_RETRY_MS = 30_000;
/**
 * Maximum delay after the time at which the randomness beacon should publish its value, ms. A lottery round that still cannot be drawn after this
 * delay becomes void.
 */
const VOID_AFTER_MS = 24 * 3_600_000;
/**
 * Before this process voids a round, its attempts to read the beacon must have failed for at least this time, ms. A process that has just started may
 * have no network yet.
 */
const MIN_OBSERVED_OUTAGE_MS = 60_000;

/** A round whose commitment is recorded. */
type CommittedRound = OpenedRound & { readonly beaconRound: number; readonly beaconDueAt: string };
export const isCommitted = (round: OpenedRound): round is CommittedRound => round.beaconRound !== null && round.beaconDueAt !== null;

/**
 * Time of this process's first failed attempt to read the randomness beacon for a lottery round, ms since 1970, by the lottery round's id. Deleted
 * when an attempt succeeds.
 */
const outages = perApp(() => new Map<string, number>());

/**
 * Draws a lottery round if the randomness beacon has published the value that the commitment names.
 * @returns false when the round cannot advance now
 */
export async function draw(app: App, round: CommittedRound): Promise<boolean> {
  const beacon = beaconOf(app);
  const now = app.clock.now().getTime();
  const answer = await beacon.fetchRound(round.beaconRound);
  const canWait = now - Date.parse(round.beaconDueAt) < VOID_AFTER_MS;
  if (answer.state === 'not-yet') return await postpone(app, round, answer.dueAt.getTime() - now);
  const commitment = await readLandedCommitment(app.db, round.id);
  if (!commitment) throw new Error(`round ${round.id} is committed, but its commitment is not recorded`);
  const outageStarts = app.state(outages);
  if (answer.state === 'unavailable') {
    const since = outageStarts.get(round.id) ?? now;
    outageStarts.set(round.id, since);
    app.log.warn({ round: round.id, beaconRound: round.beaconRound, faults: answer.faults }, 'the beacon round cannot be read; the draw is retried');
    if (canWait || now - since < MIN_OBSERVED_OUTAGE_MS) return await postpone(app, round, BEACON_RETRY_MS);
    return await voidRound(app, round, 'no-beacon', { commitment, chain: await beacon.chain() });
  }
  outageStarts.delete(round.id);
  return await drawWithSignature(app, round, { commitment, chain: await beacon.chain() }, answer.signature, canWait);
}

async function postpone(app: App, { id }: CommittedRound, ms: number): Promise<false> {
  await app.tx((tx) => postponeRound(tx, id, Math.max(0, ms)));
  return false;
}

/**
 * Voids a committed round that cannot be drawn.
 * @param tree levels of the tree over the entries in the database, to replace the stored tree; null deletes the stored tree; undefined keeps the
 * stored tree
 */
async function voidRound(
  app: App,
  round: CommittedRound,
  reason: 'no-beacon' | 'entries-differ',
  landed: CommitmentWithBeacon,
  tree?: readonly Uint8Array[] | null,
): Promise<boolean> {
  return await app.tx(async (tx) => {
    if (!(await lockInState(tx, round.id, 'committed'))) return true;
    if (tree !== undefined) await storeTree(tx, round.id, tree);
    await voidCommitted(tx, app, round, reason, pendingAuditText(round, landed, reason));
    return true;
  });
}

async function drawWithSignature(
  app: App,
  round: CommittedRound,
  landed: CommitmentWithBeacon,
  signature: string,
  canWait: boolean,
): Promise<boolean> {
  const { id, parameters, root } = round;
  if (root === null) throw new Error(`round ${id} is committed, but has no root`);
  const committed = { ...landed, root, signature };
  const evaluation = await evaluateInThread(round.entries, { parameters, committed }, entryChunks(app.db, id));
  if (evaluation.result === 'mismatch') {
    app.log.error(
      { round: id, isVoided: !canWait },
      'the entries of a round differ from the committed entries; the round becomes void unless an operator restores them within a day',
    );
    return canWait ? await postpone(app, round, CORRUPT_RETRY_MS) : await voidRound(app, round, 'entries-differ', landed, evaluation.tree);
  }
  if (evaluation.result === 'invalid') {
    app.log.error({ round: id, ...evaluation }, 'a computed draw failed its verification; the draw is not published and will be retried');
    return await postpone(app, round, CORRUPT_RETRY_MS);
  }
  await app.tx((tx) => publishDraw(app, tx, round, evaluation.audit));
  return true;
}

/** Stores a draw, creates the payments of its prizes, and emits its events. Idempotent. */
async function publishDraw(app: App, tx: Tx, round: CommittedRound, audit: Audit): Promise<void> {
  const { id, kind } = round;
  const finalized = { state: 'finalized', audit: auditText(audit), ended_at: sql<string>`app_now()` } as const;
  const finalization = build.updateTable('rounds').set(finalized).where('id', '=', id).where('state', '=', 'committed');
  if ((await run(tx, finalization.returning('id'))).length === 0) return;
  const winners = (audit.winners ?? []).map((winner) => ({
    ...winner,
    amount: BigInt(winner.prize.amount),
    mint: currencyOf(app, winner.prize.mint),
  }));
  // Only winners with a prize are paid: a round of free tickets has a winner but no prize.
  const paid = winners.filter(({ amount }) => amount > 0n);
  const rows = paid.map(({ place, index, wallet, matches, amount, mint }) => ({
    ...{ round: id, place, index, wallet, matches, mint },
    amount: String(amount),
  }));
  if (rows.length > 0) await run(tx, build.insertInto('round_winners').values(rows));
  const requests = paid.map(({ place, wallet, amount, mint }) => ({
    wallet,
    currency: mint,
    amount,
    cause: { kind: 'prize', id: `${id}:${place}` },
  }));
  await createPayments(app, tx, requests);
  const winningTicket = kind === 'legacy' ? (audit.draw?.drawn[0] ?? null) : null;
  tx.emit(roundFinalized, { roundId: id, kind, numbers: audit.draw?.numbers ?? [], winningTicket, winners: winners.length });
  tx.emitAll(
    winnerAnnounced,
    winners.map(({ place, wallet, mint, prize }) => ({ roundId: id, kind, place, wallet, prize: { amount: prize.amount, mint } })),
  );
}

/** Returns the currency of a mint. @throws when the service does not pay in this mint */
function currencyOf(app: App, mint: string): Currency {
  const currency = (['usdc', 'reward'] as const).find((one) => mintOf(app, one).toBase58() === mint);
  if (!currency) throw new Error(`a prize is in mint ${mint}, but the service does not pay in this mint`);
  return currency;
}
