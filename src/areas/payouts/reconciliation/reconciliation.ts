import { planPayouts } from '#jobs/payouts.ts';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { pause, resume } from '#platform/solana/submission/transactions.ts';
import { alert } from '../alerts.ts';
import { PAYOUTS } from '../batches/transaction-type.ts';
import { type Tended, tendLanes } from '../lanes/reconcile.ts';
import { type Identity, lockWatch, selectIdentity, selectWatch, updateWatch, type Watch } from './rows.ts';

const PERMISSION_DENIED = '42501';

/** Which database this is; null where the server does not tell us. */
async function identify(app: App): Promise<Identity | null> {
  try {
    return (await app.db.query(selectIdentity))[0] ?? null;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === PERMISSION_DENIED)) throw error;
    if (!anonymous.has(app)) app.log.warn('the database does not tell its identity: a failover shows itself only by the nonces of lanes');
    anonymous.add(app);
    return null;
  }
}

/** Processes that have said so. */
const anonymous = new WeakSet<App>();

const isSame = (watch: Watch, identity: Identity | null): boolean =>
  identity === null || watch.system === null || (watch.system === identity.system && watch.timeline === identity.timeline);

const CHANGED = 'the database was restored or failed over: payouts wait until the chain’s history is matched';

/**
 * Compares the record with the chain, and the database with what it was at the last look. Whatever does not fit stops
 * payouts; when everything is explained they go on by themselves.
 */
export async function watch(app: App): Promise<void> {
  const identity = await identify(app);
  const before = (await app.db.query(selectWatch))[0];
  if (!before) throw new Error('payout_watch is empty');
  const same = isSame(before, identity);
  // First of all nothing more is signed: the chain may take its time to answer.
  if (!same && before.doubt === null) await app.tx((tx) => doubt(tx, CHANGED));
  const tended = await tendLanes(app, 'all');
  await app.tx((tx) => conclude(app, tx, identity, tended));
}

async function conclude(app: App, tx: Tx, identity: Identity | null, { clear, problems }: Tended): Promise<void> {
  const now = (await tx.query(lockWatch))[0];
  if (!now) return;
  const same = isSame(now, identity);
  const reason = problems.length > 0 ? problems.slice(0, 3).join('; ') : clear ? null : same ? now.doubt : CHANGED;
  if (reason !== null) alert(app, 'payouts', reason);
  if (now.doubt !== null && reason === null) app.log.warn({ doubt: now.doubt }, 'the chain is matched: payouts go on');
  // The identity is taken over only once everything is matched: killed before, the next look starts anew.
  const known = reason === null && identity !== null ? identity : { system: now.system, timeline: now.timeline };
  await tx.query(updateWatch, [known.system, known.timeline, reason]);
  await apply(tx, { ...now, doubt: reason });
}

/** Stops payouts until the chain explains what was found. */
async function doubt(tx: Tx, reason: string): Promise<void> {
  const now = (await tx.query(lockWatch))[0];
  if (!now) return;
  await tx.query(updateWatch, [now.system, now.timeline, reason]);
  await apply(tx, { ...now, doubt: reason });
}

/** Pauses the scope of payouts for as long as there is a reason, and lets it go on when there is none. */
export async function apply(tx: Tx, { doubt, held }: Pick<Watch, 'doubt' | 'held'>): Promise<void> {
  const reasons = [doubt, held].filter((reason) => reason !== null);
  if (reasons.length > 0) return await pause(tx, PAYOUTS, reasons.join('; '));
  if (await resume(tx, PAYOUTS)) tx.enqueue(planPayouts, {});
}

/** What stale lanes say is put before people at once. */
export async function report(app: App, { problems }: Tended): Promise<void> {
  if (problems.length === 0) return;
  const reason = problems.slice(0, 3).join('; ');
  alert(app, 'payouts', reason);
  await app.tx((tx) => doubt(tx, reason));
}
