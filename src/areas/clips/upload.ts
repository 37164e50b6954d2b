import { appendActivities, lockPlayers } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { tooManyRequests } from '#platform/auth/rate-limit.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { checkRoom, withinQuota } from '#platform/quotas/usage.ts';
import type { UploadDraft } from '#platform/storage/upload-draft.ts';
import {
  abandonClips,
  build,
  type Clip,
  completeClip,
  type EarlierUpload,
  findEarlierUploads,
  insertClip,
  type ReceivedUpload,
  readUsage,
} from './rows.ts';

/** Maximum clips and maximum bytes that a wallet can upload per UTC day. */
export const MAX_DAILY_CLIPS = 50;
export const MAX_DAILY_BYTES = 1024 * 1024 * 1024;

const dailyLimitExceeded = (leftSec: number) =>
  tooManyRequests(`a wallet may upload at most ${MAX_DAILY_CLIPS} clips and ${MAX_DAILY_BYTES} bytes per UTC day`, {
    ...{ name: 'clips-per-day', quota: MAX_DAILY_CLIPS, windowMs: 86_400_000, waitMs: leftSec * 1_000 },
  });

/**
 * Refuses an upload before its body is read if the wallet has reached its daily limit or its storage quota, or if the storage is full. Does not refuse a repeated upload, whose idempotency key the
 * wallet has used before.
 * @throws 429 with the seconds until the end of the day as `Retry-After`; also the 409 and 503 of `withinQuota`
 */
export async function checkUsage(app: App, wallet: string, idempotencyKey: string | null): Promise<void> {
  const [usage] = await app.db.query(readUsage, [wallet, idempotencyKey]);
  if (usage?.known) return;
  if (usage && (usage.clips >= MAX_DAILY_CLIPS || usage.bytes >= MAX_DAILY_BYTES)) throw dailyLimitExceeded(usage.leftSec);
  await checkRoom(app, app.db, 'clips', wallet);
}

/**
 * Stores an upload as a clip in three steps: commits a row, writes the file under the id of the row, and marks the row as a clip. If the process is
 * killed between the steps, the sweep deletes the row and the file.
 * @throws 403 when the wallet is banned; 409 when the wallet uploaded the content before, used the key for another upload, or is uploading the same
 * content in another request, or has used up its storage quota; 429 above the daily limit; 503 when the storage fails or is full
 */
export async function storeUpload(app: App, upload: ReceivedUpload, draft: UploadDraft): Promise<Clip> {
  const reserved = await app.tx((tx) => withinQuota(app, tx, 'clips', upload.wallet, () => reserve(tx, upload)));
  if (typeof reserved !== 'string') return reserved;
  try {
    await app.storage.put(reserved, draft, upload.type);
    return await app.tx((tx) => complete(tx, upload, reserved));
  } catch (error) {
    await abandonUpload(app, reserved).catch((err: unknown) =>
      app.log.warn({ err, clip: reserved }, 'a failed upload could not be cleaned up; the sweep deletes it later'),
    );
    throw error;
  }
}

/**
 * Inserts the row of an upload if the daily limit allows the upload.
 * @returns the id of the new row, or the existing clip when the upload is repeated
 */
async function reserve(tx: Tx, upload: ReceivedUpload): Promise<string | Clip> {
  const { wallet, bytes, idempotencyKey } = upload;
  const [, earlier, [usage]] = await Promise.all([
    lockUploader(tx, wallet),
    run(tx, findEarlierUploads(upload)),
    tx.query(readUsage, [wallet, idempotencyKey]),
  ]);
  const known = resolveDuplicate(earlier, upload);
  if (known) return known;
  // Replaces an unfinished upload of the same content, so that only the newest request can complete.
  const replaced = earlier.map(({ id }) => id);
  if (!usage) throw new Error('the usage of a wallet could not be read');
  const replacedBytes = earlier.reduce((sum, clip) => sum + clip.bytes, 0);
  if (usage.clips - replaced.length >= MAX_DAILY_CLIPS || usage.bytes - replacedBytes + bytes > MAX_DAILY_BYTES)
    throw dailyLimitExceeded(usage.leftSec);
  const id = newId();
  await Promise.all([replaced.length > 0 && run(tx, abandonClips(replaced)), run(tx, insertClip(id, upload))]);
  return id;
}

/**
 * Compares an upload with the earlier uploads that have the same content or idempotency key.
 * @returns the existing clip when this upload repeats it; null when this upload is new, or when the earlier ones are unfinished
 * @throws 409 when the wallet uploaded the content before, or used the key for another upload
 */
function resolveDuplicate(earlier: readonly EarlierUpload[], { gameId, title }: ReceivedUpload): Clip | null {
  const withKey = earlier.find(({ sameKey }) => sameKey);
  const found = withKey ?? earlier[0];
  const isRemoved = found?.state === 'removing' || found?.state === 'removed';
  // Does not compare the title of a removed clip, because the removal deleted the title.
  const isSame = withKey?.sameContent && withKey.gameId === gameId && (isRemoved || withKey.title === title);
  if (withKey && !isSame) throw fail(409, 'Idempotency-Key was used before with another body');
  if (!found || found.state === 'uploading') return null;
  if (isRemoved) throw fail(409, 'file must be new: this wallet uploaded it before, and it was removed');
  if (withKey) return withKey;
  throw fail(409, `file must be new: this wallet uploaded it before as clip ${found.id}`, { Location: `/clips/${found.id}` });
}

async function complete(tx: Tx, { wallet, gameId }: ReceivedUpload, id: string): Promise<Clip> {
  await lockUploader(tx, wallet);
  const [clip] = await run(tx, completeClip(id));
  if (!clip) throw fail(409, 'file must be uploaded by one request at a time; another request is uploading it', { 'Retry-After': '5' });
  await appendActivities(tx, [{ kind: 'clip', sourceId: id, wallet, gameId, amount: 0 }]);
  return clip;
}

/**
 * Locks the wallet, so that its concurrent uploads are serialized and the count of its uploads is exact.
 * @throws 403 when the wallet is banned
 */
async function lockUploader(tx: Tx, wallet: string): Promise<void> {
  if ((await lockPlayers(tx, [wallet])).get(wallet)?.banned) throw fail(403, 'this wallet is banned');
}

/**
 * Abandons an upload after an error, unless the upload is a clip already. The upload is a clip if the commit that marked it as a clip succeeded
 * although the response of the commit was lost.
 */
async function abandonUpload(app: App, id: string): Promise<void> {
  const [row] = await app.tx(async (tx) => {
    await run(tx, abandonClips([id]));
    return await run(tx, build.selectFrom('clips').select('id').where('id', '=', id));
  });
  // Removes the file here, because the sweep has deleted the row already and does not find the file again.
  if (!row) await app.storage.remove(id);
}
