import { deleteSavedStates, eraseRecord, recordExists } from '#areas/arcade';
import { chatModeration, forgetMessage } from '#areas/chat';
import { isRemovedClip, removeClip } from '#areas/clips';
import { requirePlayer } from '#areas/points';
import { unlinkAll } from '#areas/social';
import { chooseName } from '#areas/wallets';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import { isoInstant, queryBuilder, run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { type ErasureKind, privacyTables } from './entities.ts';
import type { ErasureRequest, ErasureView } from './schemas.ts';

const build = queryBuilder(privacyTables);
const COLUMNS = ['id as erasureId', 'kind', 'subject as id', 'reason', 'by', isoInstant('at').as('at')] as const;

type Cause = { readonly by: string; readonly reason: string };

/** Erases the content of each kind. Returns false when there is no such content. Erasing again does no harm. */
const ERASE: { readonly [Kind in ErasureKind]: (tx: Tx, id: string, cause: Cause) => Promise<boolean> } = {
  async record(tx, id, cause) {
    if (!(await recordExists(tx, id))) return false;
    await eraseRecord(tx, id, cause);
    return true;
  },
  async state(tx, id) {
    const [wallet = '', gameId = ''] = id.split('/');
    return (await deleteSavedStates(tx, wallet, gameId)) > 0;
  },
  async clip(tx, id) {
    return (await removeClip(tx, id, 'erased on a lawful request')) || (await isRemovedClip(tx, id));
  },
  async chat(tx, id) {
    const exists = await forgetMessage(tx, id);
    if (exists) tx.emit(chatModeration, { action: 'delete', messageId: id, wallet: null, until: null });
    return exists;
  },
  async name(tx, wallet) {
    await requirePlayer(tx, wallet);
    await chooseName(tx, wallet, null);
    await unlinkAll(tx, wallet);
    return true;
  },
};

/**
 * Erases content on a lawful request, and logs who did it and why.
 * @throws 404 when there is no such content
 */
export async function erase(tx: Tx, { kind, id, reason }: ErasureRequest, by: string): Promise<ErasureView> {
  if (!(await ERASE[kind](tx, id, { by, reason }))) throw fail(404, `id must name an existing ${kind}`);
  const insert = build.insertInto('erasures').values({ id: newId(), kind, subject: id, reason, by });
  const [row] = await run(tx, insert.returning(COLUMNS));
  if (!row) throw new Error('the erasure was not stored');
  return row;
}

/** Reads a page of the erasures, newest first, and the number of all of them. */
export async function listErasures(tx: Pick<Tx, 'query'>, limit: number, offset: number): Promise<{ erasures: ErasureView[]; total: number }> {
  const [erasures, [count]] = await Promise.all([
    run(tx, build.selectFrom('erasures').select(COLUMNS).orderBy('at', 'desc').orderBy('id', 'desc').limit(limit).offset(offset)),
    run(
      tx,
      build.selectFrom('erasures').select(({ fn }) => fn.countAll<string>().as('n')),
    ),
  ]);
  return { erasures, total: Number(count?.n ?? 0) };
}
