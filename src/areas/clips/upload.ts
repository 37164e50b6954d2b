import { appendActivities, lockPlayers } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Draft } from '#platform/storage/draft.ts';
import { abandonClips, type Clip, clipExists, completeClip, type Earlier, findEarlier, insertClip, readUsage, type Upload } from './rows.ts';

/** What one wallet may upload in a UTC day. */
export const MOST_CLIPS = 50;
export const MOST_BYTES = 1024 * 1024 * 1024;

const tooMuch = (leftSec: number) =>
  fail(429, `a wallet may upload ${MOST_CLIPS} clips and ${MOST_BYTES} bytes in a UTC day`, { 'Retry-After': String(leftSec) });

/**
 * Refuses an upload that could not be kept anyway, before it is read. What was uploaded before under the same key is let through.
 * @throws 429 with `Retry-After`, the end of the day
 */
export async function checkUsage(app: App, wallet: string, idempotencyKey: string | null): Promise<void> {
  const [usage] = await app.db.query(readUsage, [wallet, idempotencyKey]);
  if (usage && !usage.known && (usage.clips >= MOST_CLIPS || usage.bytes >= MOST_BYTES)) throw tooMuch(usage.leftSec);
}

/**
 * Keeps an upload as a clip. Its row is committed before its bytes lie under the row's id, and becomes a clip after: killed anywhere between,
 * it is found by the sweep.
 * @throws 403 a banned wallet; 409 the same content, a key that was used otherwise, or the same content at the same time; 429 the day's
 * limits; 503 the storage does not work
 */
export async function keepUpload(app: App, upload: Upload, draft: Draft): Promise<Clip> {
  const reserved = await app.tx((tx) => reserve(tx, upload));
  if (typeof reserved !== 'string') return reserved;
  try {
    await app.storage.put(reserved, draft, upload.type);
    return await app.tx((tx) => complete(tx, upload, reserved));
  } catch (error) {
    await giveUp(app, reserved).catch((err: unknown) => app.log.warn({ err, clip: reserved }, 'an upload is left to the sweep'));
    throw error;
  }
}

/** Takes the upload's part of the day's limits. @returns the id to keep it under, or the clip that it became before */
async function reserve(tx: Tx, upload: Upload): Promise<string | Clip> {
  const { wallet, gameId, title, type, bytes, sha256, idempotencyKey } = upload;
  const [, earlier, [usage]] = await Promise.all([
    lockUploader(tx, wallet),
    tx.query(findEarlier, [wallet, sha256, idempotencyKey]),
    tx.query(readUsage, [wallet, idempotencyKey]),
  ]);
  const known = settle(earlier, upload);
  if (known) return known;
  // The same again: whoever uploads it now is the one who waits for it.
  const replaced = earlier.map(({ id }) => id);
  if (!usage) throw new Error('the usage of a wallet could not be read');
  const ofReplaced = earlier.reduce((sum, clip) => sum + clip.bytes, 0);
  if (usage.clips - replaced.length >= MOST_CLIPS || usage.bytes - ofReplaced + bytes > MOST_BYTES) throw tooMuch(usage.leftSec);
  const id = newId();
  await Promise.all([
    replaced.length > 0 && tx.query(abandonClips, [replaced]),
    tx.query(insertClip, [id, wallet, gameId, title, type, bytes, sha256, idempotencyKey]),
  ]);
  return id;
}

/** What earlier uploads make of this one. @returns the clip that it is already; null where it is new, or none of them has come to its end */
function settle(earlier: readonly Earlier[], { gameId, title }: Upload): Clip | null {
  const asked = earlier.find(({ sameKey }) => sameKey);
  const found = asked ?? earlier[0];
  const isRemoved = found?.state === 'removing' || found?.state === 'removed';
  // What was removed has lost its title.
  const isSame = asked?.sameContent && asked.gameId === gameId && (isRemoved || asked.title === title);
  if (asked && !isSame) throw fail(409, 'Idempotency-Key was used before with another body');
  if (!found || found.state === 'uploading') return null;
  if (isRemoved) throw fail(409, 'file was uploaded by this wallet before, and removed');
  if (asked) return asked;
  throw fail(409, `file was uploaded by this wallet before, as clip ${found.id}`, { Location: `/clips/${found.id}` });
}

async function complete(tx: Tx, { wallet, gameId }: Upload, id: string): Promise<Clip> {
  await lockUploader(tx, wallet);
  const [clip] = await tx.query(completeClip, [id]);
  if (!clip) throw fail(409, 'file is being uploaded by another request, too', { 'Retry-After': '5' });
  await appendActivities(tx, [{ kind: 'clip', sourceId: id, wallet, gameId, amount: 0 }]);
  return clip;
}

/** What a wallet uploads is counted one after the other, and not while it is being banned. */
async function lockUploader(tx: Tx, wallet: string): Promise<void> {
  if ((await lockPlayers(tx, [wallet])).get(wallet)?.banned) throw fail(403, 'this wallet is banned');
}

/** Gives an upload up, unless it is a clip after all: a commit may be done that was not heard of. */
async function giveUp(app: App, id: string): Promise<void> {
  const [row] = await app.tx(async (tx) => {
    await tx.query(abandonClips, [[id]]);
    return await tx.query(clipExists, [id]);
  });
  // So late that the sweep has been there: what lies there now nobody else removes.
  if (!row) await app.storage.remove(id);
}
