import type { Readable } from 'node:stream';
import { fail } from '#lib/errors.ts';
import { dayStart } from '#lib/periods.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { contentId } from '#platform/storage/content-id.ts';
import { PUT_MS } from '#platform/storage/storage.ts';
import { build } from '../query-builder.ts';
import { type SourcesPage, sourcesOfDay } from './point-sources.ts';

/** Maximum size of a points file, bytes. */
const MAX_BYTES = 1024 * 1024 * 1024;
const CONTENT_TYPE = 'application/x-ndjson';

/** The fields of the first line that come from the row of the epoch. */
export interface EpochRules {
  formulaVersion: number;
  rulesVersion: number;
  pool: string;
  cap: string | null;
  dust: string;
}

/** A stored points file. */
interface StoredFile {
  readonly sha256: Buffer;
  readonly bytes: number;
}

/** Lets the transaction that computes an epoch wait for the media storage. */
const idleTimeout = statement('points_file_idle_timeout', `set local idle_in_transaction_session_timeout = '${2 * PUT_MS}ms'`);

/** Returns the id of the stored points file with a SHA-256 (hex). */
const pointsFileId = (hash: string): string => contentId('coinop/points-file/1', hash);

/**
 * Stores the points of each wallet by source as a file in the media storage. The points of a closed day never change, so a repetition after a crash
 * stores the same file. Preconditions: the day is closed, and the caller holds the lock of the epoch, so that only one process stores the file.
 * @throws 503 when the storage is not available
 */
export async function storePointsFile(
  { storage, tx: transaction }: Pick<App, 'storage' | 'tx'>,
  epoch: number,
  rules: EpochRules,
): Promise<StoredFile> {
  const draft = await storage.draft();
  try {
    await transaction((tx) => draft.fill(bytesOf(tx, epoch, rules), MAX_BYTES, () => undefined));
    const { sha256, bytes } = draft;
    await storage.put(pointsFileId(sha256.toString('hex')), draft, CONTENT_TYPE);
    return { sha256, bytes };
  } finally {
    await draft.close();
  }
}

/** Waits until the points file is stored, and writes its hash to the row of the epoch. */
export async function savePointsFile(tx: Tx, epoch: number, storing: Promise<StoredFile>): Promise<void> {
  await tx.query(idleTimeout);
  const { sha256, bytes } = await storing;
  await run(tx, build.updateTable('epochs').set({ points_hash: sha256, points_bytes: bytes }).where('epoch', '=', epoch));
}

async function* bytesOf(tx: Tx, epoch: number, rules: EpochRules): AsyncGenerator<Buffer> {
  let isFirst = true;
  for await (const page of sourcesOfDay(tx, epoch)) {
    yield Buffer.from(isFirst ? headerOf(epoch, rules, page) + page.lines : page.lines);
    isFirst = false;
  }
  if (isFirst) yield Buffer.from(headerOf(epoch, rules, { wallets: 0, points: '0' }));
}

function headerOf(epoch: number, rules: EpochRules, { wallets, points }: Pick<SourcesPage, 'wallets' | 'points'>): string {
  const { formulaVersion, rulesVersion, pool, cap, dust } = rules;
  const header = { type: 'coinop/points/1', epoch, day: dayStart(epoch).toISOString().slice(0, 10), formulaVersion, rulesVersion, pool, cap, dust };
  return `${JSON.stringify({ ...header, wallets, points: Number(points) })}\n`;
}

/** The points file of an epoch, which never changes. */
interface PointsFile {
  /** SHA-256, hex. */
  readonly hash: string;
  readonly bytes: number;
  /** Opens a stream of the file. The caller must destroy the stream when it does not read the stream to the end. @throws 503 when the storage fails */
  open(): Promise<Readable>;
}

const selectFile = (epoch: number) =>
  build.selectFrom('epochs').select(['source', 'state', 'points_hash as hash', 'points_bytes as bytes']).where('epoch', '=', epoch);

/**
 * Returns the points file of an epoch.
 * @throws 404 when the epoch does not exist, was imported, or has no file yet
 */
export async function readPointsFile({ db, storage }: Pick<App, 'db' | 'storage'>, epoch: number): Promise<PointsFile> {
  const [row] = await run(db, selectFile(epoch));
  if (!row) throw fail(404, `epoch ${epoch} does not exist`);
  if (row.source === 'import') throw fail(404, `epoch ${epoch} was imported, so it has no points`);
  const { hash, bytes } = row;
  if (hash === null || bytes === null) {
    if (row.state === 'computing') throw fail(404, `epoch ${epoch} is still being computed`);
    throw fail(404, `epoch ${epoch} has no points file, because an earlier version of the service computed it`);
  }
  const hex = hash.toString('hex');
  return { hash: hex, bytes, open: () => storage.open(pointsFileId(hex), { start: 0, end: bytes - 1 }) };
}
