import { type DatabaseIdentity, findForgottenLanes, readIdentity } from '#areas/payouts';
import { HttpError } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { EVERYTHING, pause, resume } from '#platform/solana/submission/index.ts';
import { heightAfterEarlier } from '../chain/heights.ts';
import type { SigningKeys } from './entities.ts';
import { differingKeys, keysOf, mergeKeys, stopSentence } from './keys.ts';
import { type ChainRecord, isSameServer, lockRecord, selectRecord, storeRecord } from './rows.ts';
import { findUnexplainedRoots } from './unexplained.ts';

/** Pause scope of the transactions that put roots on the chain. */
export const ROOTS_SCOPE = 'roots';
const RESTORED = 'the database was restored or failed over; roots are paused until the database explains every open epoch on the chain';
/** The doubt when a snapshot of the disk was restored, which keeps the identity of the server, and the fee payer was rotated after the snapshot. */
const OLDER =
  'the chain has payout lanes of the fee payer that the database does not know, so an older state of the database was restored; roots are paused until the database explains every open epoch on the chain';
/** Maximum problems that the reason of the pause names. */
const MAX_NAMED = 3;

const checks = perApp(() => ({ noted: null as Promise<void> | null, compared: false }));

/**
 * Compares the database server and the keys of this process with the record. Pauses roots when the database was restored or failed over, and stops all
 * signing when the keys changed together with it. Reads the chain only when the fee payer has changed: lanes of the new one that the database does not
 * know prove that the database was restored.
 * @throws 503 when the chain must be read and the RPC node does not answer
 */
export async function noteRestore(app: App): Promise<void> {
  const identity = await readIdentity(app);
  const present = keysOf(app);
  const record = (await app.db.query(selectRecord))[0];
  if (record && record.system !== null && isUnchanged(record, identity, present)) return;
  const isFeePayerNew = record?.keys != null && differingKeys(record.keys, present).includes('feePayer');
  const isOlder = isFeePayerNew && (await findForgottenLanes(app)).length > 0;
  await app.tx(async (tx) => {
    const locked = (await tx.query(lockRecord))[0];
    if (!locked) throw new Error('the table chain_record is empty');
    await store(tx, locked, noted(app, locked, identity, present, isOlder));
  });
}

/** Calls `noteRestore` once in the life of this process, before it signs its first transaction. */
export async function noteRestoreOnce(app: App): Promise<void> {
  const state = app.state(checks);
  state.noted ??= noteRestore(app);
  await state.noted.catch((error: unknown) => {
    state.noted = null;
    throw error;
  });
}

const isUnchanged = (record: ChainRecord, identity: DatabaseIdentity | null, present: SigningKeys): boolean =>
  isSameServer(record, identity) && record.stop === null && record.keys !== null && isMerged(record.keys, present);
const isMerged = (recorded: SigningKeys, present: SigningKeys) =>
  JSON.stringify(mergeKeys(recorded, present)) === JSON.stringify(mergeKeys(null, recorded));

/**
 * Returns the record after the database server and the keys of this process were compared with it.
 * @param isOlder whether the chain proves that the database is older than the use of the present fee payer
 */
function noted(app: App, record: ChainRecord, identity: DatabaseIdentity | null, present: SigningKeys, isOlder: boolean): ChainRecord {
  const restored = !isSameServer(record, identity);
  const server = identity ?? record;
  const next: ChainRecord = { ...record, system: server.system, timeline: server.timeline };
  if (restored) Object.assign(next, { doubt: RESTORED, afterHeight: null });
  if (isOlder) Object.assign(next, { doubt: OLDER, afterHeight: null });
  // The recorded keys belong to the time before the rotation. With them, payments that the newer keys made would be made again.
  else if (record.doubt === OLDER && record.stop !== null) return next;
  const differing = record.keys === null ? [] : differingKeys(record.keys, present);
  if (record.keys !== null && differing.length > 0 && (next.doubt !== null || record.stop !== null)) {
    const stop = stopSentence(record.keys, present, differing, next.doubt === OLDER);
    app.log.error({ keys: differing }, stop);
    return { ...next, stop, otherKeys: mergeKeys(record.keys, present) };
  }
  if (differing.length > 0) app.log.warn({ keys: differing }, 'keys of the service were rotated; the database records the new keys');
  return { ...next, keys: mergeKeys(record.keys, present), stop: null, otherKeys: null };
}

/** Stores a record, and pauses or resumes roots and all signing as the record says. */
async function store(tx: Tx, before: ChainRecord, next: ChainRecord): Promise<void> {
  await tx.query(...storeRecord(next));
  if (next.stop !== null) await pause(tx, EVERYTHING, next.stop);
  else if (before.stop !== null) await resume(tx, EVERYTHING);
  if (next.doubt !== null) await pause(tx, ROOTS_SCOPE, next.doubt);
  else if (before.doubt !== null) await resume(tx, ROOTS_SCOPE);
}

/**
 * Compares the record with the database server, the keys and, when there is a doubt or after the start of the process, with the epochs on the chain.
 * Pauses roots until the chain is explained. Changes nothing when the RPC node does not answer.
 */
export async function reconcileRoots(app: App): Promise<void> {
  try {
    await noteRestore(app);
    await compareWithChain(app);
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    app.log.warn({ err: error }, 'the epochs on the chain cannot be compared with the database; the next run tries again');
  }
}

async function compareWithChain(app: App): Promise<void> {
  const record = (await app.db.query(selectRecord))[0];
  const state = app.state(checks);
  if (!record || record.stop !== null || app.config.chain.programId === null || app.config.chain.rewardMint === null) return;
  if (record.doubt === null) {
    if (state.compared) return;
    const problems = await findUnexplainedRoots(app, false);
    state.compared = true;
    if (problems.length > 0) await storeDoubt(app, record, { doubt: summary(problems), afterHeight: null });
    return;
  }
  if (record.afterHeight === null) return await storeDoubt(app, record, { doubt: record.doubt, afterHeight: await heightAfterEarlier(app) });
  const { height } = await app.chain.node.finalizedHeight();
  if (height <= record.afterHeight) return;
  const problems = await findUnexplainedRoots(app, true);
  if (problems.length > 0) app.log.error({ problems: problems.slice(0, MAX_NAMED) }, 'roots are paused until an operator removes the cause');
  else app.log.warn('the database explains every open epoch on the chain; roots are signed again');
  await storeDoubt(app, record, { doubt: problems.length > 0 ? summary(problems) : null, afterHeight: record.afterHeight });
}

function summary(problems: readonly string[]): string {
  const others = problems.length - MAX_NAMED;
  return problems.slice(0, MAX_NAMED).join('; ') + (others > 0 ? `; and ${others} more` : '');
}

/** Stores the result of a comparison, unless the record changed since it was read. */
async function storeDoubt(app: App, read: ChainRecord, found: Pick<ChainRecord, 'doubt' | 'afterHeight'>): Promise<void> {
  await app.tx(async (tx) => {
    const locked = (await tx.query(lockRecord))[0];
    if (!locked || JSON.stringify(locked) !== JSON.stringify(read)) return;
    await store(tx, locked, { ...locked, ...found, afterHeight: found.doubt === null ? null : found.afterHeight });
  });
}
